import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';

/** Something that must be ended, by the one of these methods that it has. */
interface Ending {
  close?(): unknown;
  drop?(): unknown;
  remove?(): unknown;
  disposeAsync?(): unknown;
}

/** Creates something before each test of the file or `describe`, and ends it afterwards. Returns what stands for it. */
export function forEachTest<T extends Ending>(create: () => T | Promise<T>, timeoutMs?: number): T {
  return lent(create, (before, after) => {
    beforeEach(before, timeoutMs);
    afterEach(after);
  });
}

/** Creates something before the first test of the file or `describe`, and ends it after the last. */
export function forAllTests<T extends Ending>(create: () => T | Promise<T>, timeoutMs?: number): T {
  return lent(create, (before, after) => {
    beforeAll(before, timeoutMs);
    afterAll(after);
  });
}

function lent<T extends Ending>(
  create: () => T | Promise<T>,
  register: (before: () => Promise<void>, after: () => Promise<void>) => void,
): T {
  let current: T | undefined;
  register(
    async () => {
      current = await create();
    },
    async () => {
      await (current?.close?.() ?? current?.drop?.() ?? current?.remove?.() ?? current?.disposeAsync?.());
      current = undefined;
    },
  );
  const present = (name?: string | symbol): T => {
    if (current === undefined) throw new Error(`no test is running${name === undefined ? '' : `: ${String(name)}`}`);
    return current;
  };
  return new Proxy({} as T, {
    get(_, name) {
      const value: unknown = Reflect.get(present(name), name);
      return typeof value === 'function' ? (value.bind(current) as unknown) : value;
    },
    set: (_, name, value) => Reflect.set(present(name), name, value),
    has: (_, name) => Reflect.has(present(name), name),
    // For `{ ...what }`.
    ownKeys: () => Reflect.ownKeys(present()),
    getOwnPropertyDescriptor(_, name) {
      const descriptor = Reflect.getOwnPropertyDescriptor(present(name), name);
      return descriptor === undefined ? undefined : { ...descriptor, configurable: true };
    },
  });
}
