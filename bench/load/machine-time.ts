import { cpus } from 'node:os';

/** Core-seconds of the whole machine since it was started, by whoever used them. */
type MachineSeconds = { readonly busy: number; readonly inAll: number };

export function machineSeconds(): MachineSeconds {
  const times = cpus().map((core) => core.times);
  const millis = (of: (time: (typeof times)[number]) => number) => times.reduce((sum, time) => sum + of(time), 0);
  const busy = millis(({ user, nice, sys, irq }) => user + nice + sys + irq);
  return { busy: busy / 1_000, inAll: (busy + millis(({ idle }) => idle)) / 1_000 };
}

/** How much of the core-seconds since `earlier`, which are `inAll`, the machine was busy. */
export function busyShare(earlier: MachineSeconds): { readonly share: number; readonly inAll: number } {
  const { busy, inAll } = machineSeconds();
  const seconds = inAll - earlier.inAll;
  return { share: (busy - earlier.busy) / seconds, inAll: seconds };
}
