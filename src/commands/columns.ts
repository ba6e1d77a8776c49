import { CommandError } from '../cli/context.ts';

type Rows = readonly Readonly<Record<string, unknown>>[];

/**
 * The chosen columns of a list, or of a record of lists, in the order in which they were named.
 *
 * @throws {CommandError} for a column that no list has
 */
export function chooseColumns(shown: unknown, columns: string): unknown {
  const chosen = columns.split(',').map((name) => name.trim());
  const lists = (Array.isArray(shown) ? [shown] : Object.values(shown as object)) as Rows[];
  const known = [...new Set(lists.flat().flatMap((row) => Object.keys(row)))];
  if (known.length > 0 && !chosen.every((name) => known.includes(name))) {
    throw new CommandError(`--columns takes some of ${known.join(',')}.`);
  }
  const pick = (rows: Rows) =>
    rows.map((row) => Object.fromEntries(chosen.filter((name) => name in row).map((name) => [name, row[name]])));
  if (Array.isArray(shown)) return pick(shown);
  return Object.fromEntries(Object.entries(shown as Record<string, Rows>).map(([name, rows]) => [name, pick(rows)]));
}
