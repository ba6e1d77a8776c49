import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Has the service (everything started by `open`) run on all cores but one, and the clients, which are this process, on that
 * one, until it is undone: clients do not come from the service's machine, and a flood of them would take it the cores. Where
 * that can't be (another system than Linux, one core) all share all, which `areApart` tells.
 */
export async function openApart<Opened>(
  open: () => Promise<Opened>,
): Promise<{ readonly opened: Opened; readonly areApart: boolean; undo(): void }> {
  const cores = allowedCores();
  const clients = cores.slice(-1);
  const areApart = cores.length > 1 && runOn(cores.slice(0, -1));
  const undo = (): void => void (areApart && runOn(cores));
  try {
    // A process has the cores of the one that started it.
    const opened = await open();
    if (areApart) runOn(clients);
    return { opened, areApart, undo };
  } catch (error) {
    undo();
    throw error;
  }
}

/** Moves this process, all its threads, to these cores (taskset of util-linux); whether that could be done. */
function runOn(cores: readonly number[]): boolean {
  try {
    execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', cores.join(','), String(process.pid)], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}

/** The numbers of the cores that this process may run on, as Linux tells; none elsewhere. */
function allowedCores(): number[] {
  let list: string | undefined;
  try {
    list = /^Cpus_allowed_list:\s*(.+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  } catch {
    return [];
  }
  return (list ?? '').split(',').flatMap((range) => {
    const [first = Number.NaN, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
}
