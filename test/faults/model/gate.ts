/** Holds back what is written of waiting orders while a command is carried out. */
export type Gate = {
  guard<Args extends unknown[], Result>(write: (...args: Args) => Promise<Result>): (...args: Args) => Promise<Result>;
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
      (write) =>
      async (...args) => {
        // Another command may begin before it is this one's turn.
        while (isShut) await isShut;
        const work = write(...args);
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
