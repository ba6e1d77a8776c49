// What every command does first, with nothing but Node: install what is missing or stale, build what has changed.
// Everything it says goes to standard error, one line each.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, isBuilt } from './compile.mjs';
import { install, isInstalled } from './install.mjs';
import { withLock } from './lock.mjs';
import { whyNotHere } from './platform.mjs';

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** Longest wait for another command that installs and builds: a slow network takes minutes. */
const WAIT_MS = 15 * 60_000;

const say = (line) => process.stderr.write(`${line}\n`);

/**
 * Afterwards node_modules and dist/ can be used. Ends the process with status 1 and one sentence when they cannot.
 *
 * @param onlyMissing what is there counts as good, changed or not
 * @param rebuild builds in any case
 */
export async function prepare({ onlyMissing = false, rebuild = false } = {}) {
  try {
    const installed = () =>
      onlyMissing ? existsSync(join(ROOT, 'node_modules/.package-lock.json')) : isInstalled(ROOT);
    const built = () => !rebuild && (onlyMissing ? existsSync(join(ROOT, 'dist/.build-hash')) : isBuilt(ROOT));
    if (installed() && built()) return;
    const why = whyNotHere(ROOT);
    if (why !== undefined) throw new Error(why);
    const onWait = () => say('Another command is preparing this folder, waiting for it');
    await withLock(join(ROOT, 'dist'), WAIT_MS, onWait, async (holdFor) => {
      // The other command may have done it.
      if (!installed()) await install(ROOT, say, holdFor);
      await loadTransport();
      if (!built()) await build(ROOT, say, holdFor);
    });
  } catch (error) {
    say(error.code === 'EACCES' ? `This user may not write here: ${error.message}` : error.message);
    process.exit(1);
  }
}

/** Loads the HTTP transport once, because its binary is picked by platform and may be refused by it. */
async function loadTransport() {
  try {
    await import('uWebSockets.js');
  } catch (error) {
    const reason = error.message.trim().split('\n').at(-1);
    throw new Error(
      `The HTTP transport cannot be loaded here (${reason}): install Node 24, 22 or 20 on a newer Linux.`,
    );
  }
}
