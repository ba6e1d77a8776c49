import type { Store } from '../../../src/store/store.ts';

/** Holds back the assignments of waiting orders while a command is carried out. */
export type Gate = {
  guard(assign: Store['assignWaiting']): Store['assignWaiting'];
  /** Resolves once all that was let through is written. */
  shut(): Promise<void>;
  open(): void;
};

export function openGate(): Gate {
  const underWay = new Set<Promise<unknown>>();
  let isShut: Promise<void> | null = null;
  let unlock: () => void = () => undefined;
  return {
    guard:
      (assign) =>
      async (...args) => {
        // Another command may begin before it is this one's turn.
        while (isShut) await isShut;
        const work = assign(...args);
        underWay.add(work);
        work.finally(() => underWay.delete(work)).catch(() => undefined);
        return work;
      },
    async shut() {
      isShut = new Promise((resolve) => {
        unlock = resolve;
      });
      await Promise.allSettled(underWay);
    },
    open() {
      isShut = null;
      unlock();
    },
  };
}
