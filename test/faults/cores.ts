import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Runs the service (everything that `open` starts) on all cores but one, and the clients, which are this
 * process, on that one, until it is undone: real clients are on other machines, and a flood of them would
 * take the service's cores. Where that is not possible (another system than Linux, one core), all share all
 * cores, which `areApart` tells.
 */
export async function openApart<Opened>(
  open: () => Promise<Opened>,
): Promise<{ readonly opened: Opened; readonly areApart: boolean; undo(): void }> {
  const cores = allowedCores();
  const clients = cores.slice(-1);
  const areApart = cores.length > 1 && runOn(cores.slice(0, -1));
  const undo = (): void => void (areApart && runOn(cores));
  try {
    // A process inherits the cores of its parent.
    const opened = await open();
    if (areApart) runOn(clients);
    return { opened, areApart, undo };
  } catch (error) {
    undo();
    throw error;
  }
}

/** Moves all threads of this process to these cores by util-linux's taskset; true where that worked. */
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

/** The numbers of the cores that this process may use on Linux; none elsewhere. */
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
