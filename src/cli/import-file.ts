import { readFileSync, statSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { PLAUSIBLE_EMAIL } from '../domain/text.ts';
import { isPoint, type Point } from '../geo/point.ts';
import { MAX_EMAIL_LENGTH, MAX_IMPORT_BYTES, MAX_IMPORT_LINES, MAX_STORE_EXTERNAL_ID_LENGTH } from '../limits.ts';
import { CommandError } from './context.ts';
import { text } from './parts.ts';

const REQUIRED = ['name', 'address', 'contact_email'] as const;
const COLUMNS = [...REQUIRED, 'lat', 'lng', 'external_id'] as const;
type Column = (typeof COLUMNS)[number];

/** A store of an import file, its values checked. */
export type ImportedStore = {
  readonly name: string;
  readonly address: string;
  readonly contactEmail: string;
  /** Null where the geocoder or the ZIP code is to say it. */
  readonly point: Point | null;
  readonly externalId: string | null;
};

/** What is wrong with a line; `field` is empty where it is the whole line. */
export type LineProblem = { readonly field: string; readonly message: string };

/** A record of the file by the number of its (last) line, the header's being 1. */
export type ImportLine = { readonly line: number } & (
  | { readonly store: ImportedStore }
  | { readonly problem: LineProblem }
);

/**
 * Reads a CSV file of stores (RFC 4180 in UTF-8, with or without a byte order mark). A bad line is a problem of
 * its own and stops no other.
 *
 * @throws {CommandError} where the file as a whole cannot be used
 */
export function readImportFile(path: string): ImportLine[] {
  const problems = new Map<number, LineProblem>();
  const records = parse(readUtf8(path), {
    bom: true,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    on_skip(error) {
      const line = Number((error as { readonly lines?: number } | undefined)?.lines ?? 0);
      problems.set(line, { field: '', message: 'is not CSV: a quote is missing, or stands within a value' });
    },
  }) as unknown as { readonly record: string[]; readonly info: { readonly lines: number } }[];
  const [header, ...rows] = records;
  const columns = readHeader(header?.record ?? []);
  if (rows.length + problems.size > MAX_IMPORT_LINES) {
    throw new CommandError(`The file has more than ${MAX_IMPORT_LINES} lines: divide it.`);
  }
  const read = rows.map(({ record, info }): ImportLine => ({ line: info.lines, ...readRecord(columns, record) }));
  const bad = [...problems].map(([line, problem]): ImportLine => ({ line, problem }));
  return [...read, ...bad].sort((a, b) => a.line - b.line);
}

function readUtf8(path: string): string {
  try {
    if (statSync(path).size > MAX_IMPORT_BYTES) {
      throw new CommandError(`The file has more than ${MAX_IMPORT_BYTES / 1024 / 1024} MB: divide it.`);
    }
    // The mark stays, for the parser to find.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
  } catch (error) {
    if (error instanceof CommandError) throw error;
    if (error instanceof TypeError) throw new CommandError('The file is not in UTF-8: save it as “CSV UTF-8”.');
    throw new CommandError(`The file cannot be read: ${(error as { code?: string }).code ?? 'unknown'}.`);
  }
}

function readHeader(record: readonly string[]): Column[] {
  const columns = record.map((name) => name.trim().toLowerCase());
  const isGood =
    REQUIRED.every((name) => columns.includes(name)) &&
    columns.every((name, index) => COLUMNS.includes(name as Column) && columns.indexOf(name) === index);
  if (isGood) return columns as Column[];
  throw new CommandError(
    `The first line names the columns, each once: ${REQUIRED.join(', ')}, and lat, lng, external_id where there are.`,
  );
}

function readRecord(
  columns: readonly Column[],
  record: readonly string[],
): { readonly store: ImportedStore } | { readonly problem: LineProblem } {
  if (record.length !== columns.length) {
    return { problem: { field: '', message: `has ${record.length} values and not ${columns.length}` } };
  }
  const valueIn = (column: Column): string => record[columns.indexOf(column)]?.trim() ?? '';
  try {
    return {
      store: {
        name: line('name', valueIn('name')),
        address: line('address', valueIn('address')),
        contactEmail: readEmail(line('contact_email', valueIn('contact_email'))),
        point: readPoint(valueIn('lat'), valueIn('lng')),
        externalId: readExternalId(valueIn('external_id')),
      },
    };
  } catch (error) {
    if (error instanceof BadField) return { problem: { field: error.field, message: error.message } };
    throw error;
  }
}

class BadField extends Error {
  readonly field: Column;

  constructor(field: Column, message: string) {
    super(message);
    this.field = field;
  }
}

function line(field: Column, value: string): string {
  try {
    return text(field, value);
  } catch (error) {
    throw new BadField(field, (error as Error).message.slice(field.length + 1));
  }
}

function readEmail(value: string): string {
  if (new RegExp(PLAUSIBLE_EMAIL, 'u').test(value) && value.length <= MAX_EMAIL_LENGTH) return value;
  throw new BadField('contact_email', 'is no e-mail address');
}

function readExternalId(value: string): string | null {
  if (value === '') return null;
  const read = line('external_id', value);
  if ([...read].length <= MAX_STORE_EXTERNAL_ID_LENGTH) return read;
  throw new BadField('external_id', `takes up to ${MAX_STORE_EXTERNAL_ID_LENGTH} characters.`);
}

const DEGREES = /^[-+]?\d{1,3}(?:\.\d{1,20})?$/;

function readPoint(lat: string, lng: string): Point | null {
  if (lat === '' && lng === '') return null;
  if (!DEGREES.test(lat) || Math.abs(Number(lat)) > 90) throw new BadField('lat', 'is −90 to 90, together with lng');
  const point = { lat: Number(lat), lng: Number(lng) };
  if (DEGREES.test(lng) && isPoint(point.lat, point.lng)) return point;
  throw new BadField('lng', 'is −180 to 180, together with lat');
}
