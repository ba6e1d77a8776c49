import { readFileSync, statSync } from 'node:fs';
import { CsvError, parse } from 'csv-parse/sync';
import { CommandError } from './context.ts';
import { text, typedPath } from './parts.ts';

/** Largest file of an import in bytes. Ten thousand stores have a third of it. */
export const MAX_IMPORT_BYTES = 4 * 1024 * 1024;
/** Most lines of one import, its header aside. */
export const MAX_IMPORT_LINES = 10_000;

/** What is wrong with a line; `field` is empty where it is the whole line. */
export type LineProblem = { readonly field: string; readonly message: string };

/** A record of the file by the number of its (last) line, the header's being 1. */
export type ImportLine<Row> = { readonly line: number } & ({ readonly row: Row } | { readonly problem: LineProblem });

/** What a file holds. */
export type ImportForm<Row> = {
  readonly required: readonly string[];
  readonly optional: readonly string[];
  /**
   * Reads a record by the values of its columns, '' where there is none.
   *
   * @throws {BadField}
   */
  read(valueIn: (column: string) => string): Row;
};

export class BadField extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

/**
 * Reads a CSV file (RFC 4180 in UTF-8, with or without a byte order mark). A line that is CSV and holds
 * what is wrong is a problem of its own and stops no other. Where quotes do not match, nothing says which line begins
 * where, so the file as a whole cannot be used.
 *
 * @throws {CommandError} where the file as a whole cannot be used
 */
export function readCsvFile<Row>(path: string, form: ImportForm<Row>): ImportLine<Row>[] {
  const [header, ...rows] = parseCsv(readUtf8(typedPath(path)));
  const columns = readHeader(header?.record ?? [], form);
  if (rows.length > MAX_IMPORT_LINES) {
    throw new CommandError(`The file has more than ${MAX_IMPORT_LINES} lines: divide it.`);
  }
  return rows.map(({ record, line }) => ({ line, ...readRecord(columns, record, form) }));
}

type CsvRecord = { readonly record: string[]; readonly line: number };

function parseCsv(text: string): CsvRecord[] {
  const records: CsvRecord[] = [];
  try {
    parse(text, {
      bom: true,
      relax_column_count: true,
      skip_empty_lines: true,
      on_record: (record: string[], { lines }) => void records.push({ record, line: lines }),
    });
    return records;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const first = (records.at(-1)?.line ?? 0) + 1;
    const last = Math.max(first, Number(error.lines));
    const where = first === last ? `Line ${first} is` : `Lines ${first} to ${last} are`;
    throw new CommandError(
      `${where} not CSV: a quote is missing, or stands within a value. Nothing was imported: correct the file.`,
    );
  }
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

function readHeader(record: readonly string[], { required, optional }: ImportForm<unknown>): string[] {
  const columns = record.map((name) => name.trim().toLowerCase());
  const all = [...required, ...optional];
  const isGood =
    required.every((name) => columns.includes(name)) &&
    columns.every((name, index) => all.includes(name) && columns.indexOf(name) === index);
  if (isGood) return columns;
  throw new CommandError(
    `The first line names the columns, each once: ${required.join(', ')}, and ${optional.join(', ')} where there are.`,
  );
}

function readRecord<Row>(
  columns: readonly string[],
  record: readonly string[],
  { read }: ImportForm<Row>,
): { readonly row: Row } | { readonly problem: LineProblem } {
  if (record.length !== columns.length) {
    return { problem: { field: '', message: `has ${record.length} values and not ${columns.length}` } };
  }
  try {
    return { row: read((column) => record[columns.indexOf(column)]?.trim() ?? '') };
  } catch (error) {
    if (error instanceof BadField) return { problem: { field: error.field, message: error.message } };
    throw error;
  }
}

/** One line that shows something. */
export function line(field: string, value: string): string {
  try {
    return text(field, value);
  } catch (error) {
    throw new BadField(field, (error as Error).message.slice(field.length + 1));
  }
}
