/** A stretch of time for which something is counted. */
export interface CountingWindow {
  /** By the clock that its owner uses. */
  readonly endsAtMs: number;
}

/**
 * The windows of many keys, all of one length, each beginning with the first that is counted
 * in it. What ended is forgotten when another begins: no timer is needed, and nobody's count
 * is pushed out by someone else's.
 */
export class CountingWindows<Key, Window extends CountingWindow> {
  /** In the order in which they began, which is that in which they end. */
  readonly #windows = new Map<Key, Window>();

  /** The window of a key that is running now, if there is one. */
  find(key: Key, nowMs: number): Window | undefined {
    const window = this.#windows.get(key);
    return window !== undefined && window.endsAtMs > nowMs ? window : undefined;
  }

  /** Begins a window of a key, in place of the one before. */
  begin(key: Key, window: Window, nowMs: number): Window {
    for (const [ended, { endsAtMs }] of this.#windows) {
      if (endsAtMs > nowMs) break;
      this.#windows.delete(ended);
    }
    // So that it takes its place at the end.
    this.#windows.delete(key);
    this.#windows.set(key, window);
    return window;
  }

  /** Forgets the window of a key. */
  end(key: Key): void {
    this.#windows.delete(key);
  }

  /** Those that are remembered, some of which may have ended. */
  values(): Iterable<Window> {
    return this.#windows.values();
  }
}
