import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseJson } from './stand-in.ts';

/** Size in bytes at which a ledger file is set aside; it replaces the one set aside before. */
export const MAX_LEDGER_BYTES = 8 * 1024 * 1024;

export type Ledger<Entry> = {
  /** Writes an entry before it returns, so that a kill loses nothing that was answered. */
  append(entry: Entry): void;
  close(): void;
};

/**
 * Opens the record of what a stand-in did: JSON lines in a file that only the service's own user can read, as
 * it holds phones and texts. At MAX_LEDGER_BYTES the file becomes `<file>.1` and replaces the one before.
 * Existing entries go to `reload`, oldest first.
 */
export function openLedger<Entry>(file: string, reload: (entry: Entry) => void): Ledger<Entry> {
  mkdirSync(dirname(file), { recursive: true });
  for (const part of [`${file}.1`, file]) readEntries(part, reload);
  let descriptor = openSync(file, 'a', 0o600);
  let bytes = fstatSync(descriptor).size;
  // A kill may have left half a line, to which nothing must be appended.
  if (bytes > 0) bytes += writeSync(descriptor, '\n');
  return {
    append(entry) {
      if (bytes >= MAX_LEDGER_BYTES) {
        closeSync(descriptor);
        renameSync(file, `${file}.1`);
        descriptor = openSync(file, 'a', 0o600);
        bytes = 0;
      }
      bytes += writeSync(descriptor, `${JSON.stringify(entry)}\n`);
    },
    close: () => closeSync(descriptor),
  };
}

function readEntries<Entry>(file: string, reload: (entry: Entry) => void): void {
  if (!existsSync(file)) return;
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const entry = parseJson(line);
    if (entry !== undefined) reload(entry as Entry);
  }
}
