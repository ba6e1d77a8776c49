// Prepares every command with nothing but Node: installs what is missing or stale and builds what has
// changed. Its messages go to standard error, one line each.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, isBuilt } from './compile.mjs';
import { install, isInstalled } from './install.mjs';
import { withLock } from './lock.mjs';
import { isMended, mend } from './mends.mjs';
import { whyNotHere } from './platform.mjs';

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** Longest wait for another command that installs and builds, which takes minutes on a slow network. */
const WAIT_MS = 15 * 60_000;

const say = (line) => process.stderr.write(`${line}\n`);

/**
 * Makes node_modules and dist/ usable, or exits with status 1 and one sentence.
 *
 * @param onlyMissing whether what is there counts as good, changed or not
 * @param rebuild whether to build in any case
 */
export async function prepare({ onlyMissing = false, rebuild = false } = {}) {
  try {
    const installed = () =>
      onlyMissing ? existsSync(join(ROOT, 'node_modules/.package-lock.json')) : isInstalled(ROOT);
    const built = () => !rebuild && (onlyMissing ? existsSync(join(ROOT, 'dist/.build-hash')) : isBuilt(ROOT));
    if (installed() && isMended(ROOT) && built()) return;
    const why = whyNotHere(ROOT);
    if (why !== undefined) throw new Error(why);
    const onWait = () => say('Waiting for another command that is preparing this folder');
    await withLock(join(ROOT, 'dist'), WAIT_MS, onWait, async (holdFor) => {
      // The other command may have done it already.
      if (!installed()) await install(ROOT, say, holdFor);
      if (!isMended(ROOT)) mend(ROOT);
      await loadTransport();
      if (!built()) await build(ROOT, say, holdFor);
    });
  } catch (error) {
    say(error.code === 'EACCES' ? `This user may not write here: ${error.message}` : error.message);
    process.exit(1);
  }
}

/** Loads the HTTP transport once, as the platform may refuse its binary. */
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
