import { escapeUnseen } from '../domain/text.ts';
import { tableLines } from './table.ts';

/** A value that people read as a word, such as `none`, and programs as they always did. */
export class Worded {
  readonly #value: unknown;
  readonly #word: string;

  constructor(value: unknown, word: string) {
    this.#value = value;
    this.#word = word;
  }

  toJSON(): unknown {
    return this.#value;
  }

  toString(): string {
    return this.#word;
  }
}

/** Where a command prints: its process's own streams, or what a caller within a process reads. */
export type Streams = { readonly stdout: Sink; readonly stderr: Sink };
/** `columns`: the width of a terminal; a file and a pipe have none. */
type Sink = { write(text: string): unknown; readonly columns?: number | undefined };

export type Output = ReturnType<typeof openOutput>;

/** Clears the screen and what was scrolled off it, and goes home. */
const CLEAR = '\u001b[2J\u001b[3J\u001b[H';

/** What a command says. */
export function openOutput({ stdout, stderr }: Streams) {
  return {
    /** Prints a command's result as JSON or as aligned text, whose lists fit the terminal. */
    print: (value: unknown, json: boolean, isList = Array.isArray(value)) =>
      void stdout.write(`${render(value, json, isList ? stdout.columns : undefined)}\n`),
    /** Clears a terminal, or leaves a line between two looks. */
    clear: () => void stdout.write(stdout.columns === undefined ? '\n' : CLEAR),
    /** Adds lines to the result. */
    write: (lines: string) => void stdout.write(`${escapeLines(lines)}\n`),
    /** Adds a text to the result, without the end of a line. */
    put: (text: string) => void stdout.write(escapeLines(text)),
    /** Says something on standard error, where it stays out of the way of the result. */
    tell: (lines: string) => void stderr.write(`${escapeLines(lines)}\n`),
  };
}

/**
 * What a command prints. Names, addresses and notes came from outside: a control or a mark of direction in
 * them could forge a line or give the terminal a command, so each is shown by its number.
 *
 * @param width of the terminal, where lists are to fit it
 */
export function render(value: unknown, json: boolean, width?: number): string {
  // Of a string JSON escapes the line feeds itself; those that are left stand between its lines.
  return json ? escapeLines(JSON.stringify(value, null, 2)) : toText(value, '', width);
}

/** Escapes each line of a text whose line feeds are ours. */
export const escapeLines = (text: string): string => text.split('\n').map(escapeUnseen).join('\n');

function toText(value: unknown, indent: string, columns?: number): string {
  if (Array.isArray(value) && value.length === 0) return `${indent}(none)`;
  if (Array.isArray(value)) return isPlain(value[0]) ? lines(value, indent) : toTable(value, columns);
  if (isPlain(value)) return indent + scalar(value);
  const entries = Object.entries(value as object);
  const width = Math.max(...entries.map(([key]) => key.length));
  return entries
    .map(([key, part]) =>
      isNested(part)
        ? `${indent}${scalar(key)}\n${toText(part, `${indent}  `, columns)}`
        : `${indent}${scalar(key).padEnd(width)}  ${scalar(part)}`,
    )
    .join('\n');
}

const lines = (values: readonly unknown[], indent: string): string =>
  values.map((value) => indent + scalar(value)).join('\n');

function toTable(rows: readonly Record<string, unknown>[], width: number | undefined): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cells = [names, ...rows.map((row) => names.map((name) => row[name]))].map((row) => row.map(scalar));
  return tableLines(cells, width).join('\n');
}

/** Whether a value is shown as it is: text, a number, a time, and nothing with parts of its own. */
function isPlain(value: unknown): boolean {
  return typeof value !== 'object' || value === null || value instanceof Date || value instanceof Worded;
}

/** Whether a value has lines of its own; a list of plain values has one. */
function isNested(value: unknown): boolean {
  if (isPlain(value)) return false;
  return Array.isArray(value) ? !value.every(isPlain) : Object.keys(value as object).length > 0;
}

function scalar(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value) && value.every(isPlain)) return value.length === 0 ? '(none)' : value.map(scalar).join(', ');
  return escapeUnseen(isPlain(value) ? String(value) : JSON.stringify(value));
}
