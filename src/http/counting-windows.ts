/** A period for which something is counted. */
export interface CountingWindow {
  /** On the owner's clock. */
  readonly endsAtMs: number;
}

/**
 * Fixed-length windows by key, each of which begins with the first event counted in it. Ended windows are dropped when
 * another begins, so no timer is needed and no key's count can evict another's.
 */
export class CountingWindows<Key, Window extends CountingWindow> {
  /** In the order in which they began, which is also the order in which they end. */
  readonly #windows = new Map<Key, Window>();

  /** The current window of a key; undefined if it has none. */
  find(key: Key, nowMs: number): Window | undefined {
    const window = this.#windows.get(key);
    return window !== undefined && window.endsAtMs > nowMs ? window : undefined;
  }

  /** Begins a new window for a key, replacing any earlier one. */
  begin(key: Key, window: Window, nowMs: number): Window {
    for (const [ended, { endsAtMs }] of this.#windows) {
      if (endsAtMs > nowMs) break;
      this.#windows.delete(ended);
    }
    // Deleted first so that it is re-inserted at the end.
    this.#windows.delete(key);
    this.#windows.set(key, window);
    return window;
  }

  /** Removes the window of a key. */
  end(key: Key): void {
    this.#windows.delete(key);
  }

  /** All stored windows, some of which may have ended. */
  values(): Iterable<Window> {
    return this.#windows.values();
  }
}
