// Lets one command at a time prepare a checkout. A lock whose holder has died is taken over.
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Time in milliseconds after which a lock file that is still empty was left by a process that died. */
const WRITTEN_WITHIN_MS = 2_000;

/**
 * Runs `work` while no other process does so on the same folder; waits at most `waitMs` for its turn. `work`
 * gets a function that names each child process it starts: if this process is killed, its child may go on,
 * and the lock is held until that has ended as well.
 *
 * Locks are numbered files, of which the highest one counts. A process that finds its holder dead creates the
 * next number, which the file system allows one process only, and gives it up if a higher one has appeared.
 * The highest file is never removed, only emptied, so that no number is won twice.
 */
export async function withLock(folder, waitMs, onWait, work) {
  mkdirSync(folder, { recursive: true });
  const until = Date.now() + waitMs;
  let told = false;
  for (;;) {
    const number = tryLock(folder);
    if (number !== undefined) {
      try {
        return await work((child) => writeHolders(pathOf(folder, number), [process.pid, child]));
      } finally {
        writeHolders(pathOf(folder, number), []);
      }
    }
    if (Date.now() > until)
      throw new Error(`Another command has been preparing this folder for too long: end it first.`);
    if (!told) onWait();
    told = true;
    await sleep(100);
  }
}

function tryLock(folder) {
  const highest = Math.max(0, ...numbers(folder));
  if (highest > 0 && isHeld(pathOf(folder, highest))) return undefined;
  const mine = highest + 1;
  try {
    writeHolders(pathOf(folder, mine), [process.pid], 'wx');
  } catch (error) {
    if (error.code === 'EEXIST') return undefined;
    throw error;
  }
  const found = numbers(folder);
  if (Math.max(...found) !== mine) {
    rmSync(pathOf(folder, mine), { force: true });
    return undefined;
  }
  for (const older of found) if (older < mine) rmSync(pathOf(folder, older), { force: true });
  return mine;
}

const pathOf = (folder, number) => join(folder, `.prepare-lock.${number}`);

const numbers = (folder) =>
  readdirSync(folder).flatMap((name) => {
    const match = /^\.prepare-lock\.(\d+)$/.exec(name);
    return match ? [Number(match[1])] : [];
  });

function writeHolders(path, pids, flag = 'w') {
  const holders = pids.map((pid) => ({ pid, started: startOf(pid) }));
  writeFileSync(path, `${JSON.stringify(holders)}\n`, { flag });
}

function isHeld(path) {
  try {
    const holders = JSON.parse(readFileSync(path, 'utf8'));
    return holders.some(({ pid, started }) => started !== null && startOf(pid) === started);
  } catch {
    const written = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    return written !== undefined && Date.now() - written < WRITTEN_WITHIN_MS;
  }
}

/** What tells a process from a later one with the same pid on Linux; elsewhere only whether it is alive. */
function startOf(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code !== 'EPERM') return null;
  }
  if (process.platform !== 'linux') return 'alive';
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? null : fields[19];
  } catch {
    return null;
  }
}
