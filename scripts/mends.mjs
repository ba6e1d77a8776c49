// Mends what the service cannot bear in a package whose newest release still has it. A package is installed without
// scripts of its own, so that every command looks here (prepare.mjs).
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const PACKAGE = 'node_modules/postgres/package.json';
const FILE = 'node_modules/postgres/src/connection.js';
/** The release that these changes were written for, and tried with (test/postgres/lost-connection.test.ts). */
const VERSION = '3.4.9';

/**
 * A connection of the Postgres client that is lost begins its next life with what was left of the one before:
 *
 * - bytes not yet written, with a timer that counts as running. Nothing is written any more: each attempt to connect
 *   ends by its time-out.
 * - a statement given to it after an error and before the end of its socket. It is answered with no rows, as if it had
 *   been executed.
 * - the number of rows it had read of an answer. They are missing at the head of the next one.
 * - the error that ended it, which the next statement is told.
 *
 * And a write to one that is lost, of a transaction or of a password, throws where nobody catches it, which ends the
 * process.
 */
export const CHANGES = [
  [
    `    if (stream)
      return queryError(q,`,
    `    if (!socket) {
      queryError(q, Errors.connection('CONNECTION_CLOSED', options, socket))
      return true
    }

    if (stream)
      return queryError(q,`,
  ],
  [
    '    const x = socket.write(chunk, fn)\n',
    `    if (!socket) {
      chunk = nextWriteTimer = null
      return false
    }
    const x = socket.write(chunk, fn)
`,
  ],
  [
    `    clearImmediate(nextWriteTimer)
    if (socket) {
`,
    `    clearImmediate(nextWriteTimer)
    chunk = nextWriteTimer = null
    if (socket) {
`,
  ],
  [
    `    clearImmediate(nextWriteTimer)
    socket.removeListener('data', data)
`,
    `    clearImmediate(nextWriteTimer)
    chunk = nextWriteTimer = null
    socket.removeListener('data', data)
`,
  ],
  [
    `    if (initial)
      return reconnect()

    !hadError && (query || sent.length) && error(Errors.connection('CONNECTION_CLOSED', options, socket))
`,
    `    !initial && (query || sent.length) && error(Errors.connection('CONNECTION_CLOSED', options, socket))
    query = results = errorResponse = null
    result = new Result()
    rows = 0
    if (initial)
      return reconnect()

`,
  ],
];

/** Whether the packages below `root` are mended. */
export function isMended(root) {
  const source = readFileSync(join(root, FILE), 'utf8');
  return CHANGES.every(([, after]) => source.includes(after));
}

/** Mends them. Throws where another release is installed, for which somebody has to look first. */
export function mend(root) {
  const { version } = JSON.parse(readFileSync(join(root, PACKAGE), 'utf8'));
  if (version !== VERSION) throw new Error(`scripts/mends.mjs was written for postgres ${VERSION}, not ${version}.`);
  const source = readFileSync(join(root, FILE), 'utf8');
  const mended = CHANGES.reduce(change, source);
  // A new file, since other folders may share this one by a hard link.
  writeFileSync(join(root, `${FILE}.new`), mended);
  renameSync(join(root, `${FILE}.new`), join(root, FILE));
}

function change(text, [before, after]) {
  if (text.includes(after)) return text;
  if (text.split(before).length !== 2) throw new Error(`scripts/mends.mjs does not find what it changes in ${FILE}.`);
  return text.replace(before, () => after);
}
