import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Longest run of `ps` or `setpriv`. */
export const PROCESS_TOOL_MS = 2_000;

/**
 * The start of a process, as a text for comparison only; undefined where it is not alive. Together with the
 * pid it identifies a process for good, although pids are reused. (Windows tells only whether a pid is
 * alive.)
 */
export function processStart(pid: number): string | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  if (process.platform === 'linux') return startFromProc(pid);
  if (process.platform === 'win32') return isAlive(pid) ? 'alive' : undefined;
  return ps(pid, 'lstart');
}

/** The command line of a process; empty where it is not alive or not readable. */
export function processCommand(pid: number): string {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
  return ps(pid, 'command') ?? '';
}

/**
 * Reads `/proc/<pid>/stat` (proc(5)): the state and 19 fields later the start follow the name in brackets.
 */
function startFromProc(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie has ended, and its parent has not yet collected it.
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot}:${fields[19]}`;
  } catch {
    return undefined;
  }
}

function ps(pid: number, column: string): string | undefined {
  try {
    const options = {
      encoding: 'utf8',
      timeout: PROCESS_TOOL_MS,
      env: { PATH: '/bin:/usr/bin', LC_ALL: 'C' },
    } as const;
    return execFileSync('ps', ['-o', `${column}=`, '-p', String(pid)], options).trim() || undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
