import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE_NAME = /^(\d{4})_[a-z0-9_-]+(\.concurrent)?\.sql$/;
/** The line by which a file names the oldest build that may start on it. A build's number is its newest file's. */
const OLDEST = /^-- oldest:(.*)$/m;
const INDEX = /^create (?:unique )?index concurrently ([a-z0-9_]+) on /;
const CHANGE = /^(?:with|insert|update|delete) /;

export type Migration = {
  readonly id: number;
  readonly name: string;
  readonly text: string;
  readonly sha256: string;
  /** Number of the oldest build that may start on it; null where the file does not say, see migration 0054. */
  readonly oldest: number | null;
  /** How a file `0001_name.concurrent.sql` is run beside the service; null for a file that is one transaction. */
  readonly beside: Beside | null;
};

/** An index that is built by one statement, or rows that a statement changes step by step until it finds none. */
export type Beside = { readonly statement: string; readonly index: string | null };

/** A database and a folder of migrations do not fit together. The message is for the operator. */
export class MigrationRefused extends Error {
  override readonly name = 'MigrationRefused';
}

/**
 * Reads the files of a folder, in order.
 *
 * @throws MigrationRefused for a wrong name, two files of one number, and a concurrent file of another form
 */
export function readMigrations(dir: string): Migration[] {
  const names = readdirSync(dir).filter((name) => name.endsWith('.sql'));
  const migrations = names.sort().map((name): Migration => {
    const [, digits, concurrent] = FILE_NAME.exec(name) ?? [];
    const id = Number(digits);
    if (!(id > 0)) throw new MigrationRefused(`${name} is not named like a migration (0001_name.sql).`);
    // A checkout with other line endings is the same migration.
    const text = readFileSync(join(dir, name), 'utf8').replaceAll('\r\n', '\n');
    const beside = concurrent === undefined ? null : readBeside(name, text);
    const sha256 = createHash('sha256').update(text).digest('hex');
    return { id, name, text, sha256, oldest: oldestOf(id, name, text), beside };
  });
  migrations.forEach((migration, index) => {
    const before = migrations[index - 1];
    if (before?.id === migration.id)
      throw new MigrationRefused(`${before.name} and ${migration.name} have one number.`);
  });
  return migrations;
}

function oldestOf(id: number, name: string, text: string): number | null {
  const said = OLDEST.exec(text)?.[1]?.trim();
  if (said === undefined) return null;
  if (/^\d{4}$/.test(said) && Number(said) <= id) return Number(said);
  throw new MigrationRefused(`${name} must name its oldest build by four digits, up to its own number.`);
}

function readBeside(name: string, text: string): Beside {
  const lines = text.split('\n').filter((line) => !line.startsWith('--'));
  const statement = lines.join('\n').trim().replace(/;$/, '');
  const start = statement.slice(0, 200).replaceAll('\n', ' ').toLowerCase();
  const index = INDEX.exec(start)?.[1] ?? null;
  if (statement.includes(';') || (index === null && !CHANGE.test(start))) {
    throw new MigrationRefused(
      `${name} is not one statement: create index concurrently NAME on …, or a change of some rows that is repeated.`,
    );
  }
  return { statement, index };
}
