import { readdirSync, readFileSync } from 'node:fs';

/** Linux's unit of processor time, whatever the kernel's tick. */
const TICKS_PER_SECOND = 100;

type Stat = { readonly parent: number; readonly ownTicks: number; readonly endedChildrenTicks: number };

/** Null where there is no such process, or no /proc. */
function readStat(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name is in parentheses and may contain spaces.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const at = (index: number) => fields[index] as number;
    return { parent: at(1), ownTicks: at(11) + at(12), endedChildrenTicks: at(13) + at(14) };
  } catch {
    return null;
  }
}

export function parentOf(pid: number): number {
  return readStat(pid)?.parent ?? 0;
}

/** Core-seconds used by all threads of a process. */
export function coreSeconds(pid: number): number {
  return (readStat(pid)?.ownTicks ?? Number.NaN) / TICKS_PER_SECOND;
}

/** Core-seconds of a process and its children, ended ones included: a Postgres and all its connections. */
export function coreSecondsOfFamily(pid: number): number {
  const self = readStat(pid);
  if (!self) return Number.NaN;
  let ticks = self.ownTicks + self.endedChildrenTicks;
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? readStat(Number(name)) : null;
    if (stat?.parent === pid) ticks += stat.ownTicks + stat.endedChildrenTicks;
  }
  return ticks / TICKS_PER_SECOND;
}
