/** Prints a command's result as JSON or as aligned text. */
export function print(value: unknown, json: boolean): void {
  process.stdout.write(`${json ? JSON.stringify(value, null, 2) : toText(value)}\n`);
}

function toText(value: unknown, indent = ''): string {
  if (Array.isArray(value)) return value.length === 0 ? '(none)' : toTable(value);
  if (value === null || typeof value !== 'object' || value instanceof Date) return indent + scalar(value);
  const entries = Object.entries(value);
  const width = Math.max(...entries.map(([key]) => key.length));
  return entries
    .map(([key, part]) =>
      isNested(part)
        ? `${indent}${key}\n${toText(part, `${indent}  `)}`
        : `${indent}${key.padEnd(width)}  ${scalar(part)}`,
    )
    .join('\n');
}

function toTable(rows: readonly Record<string, unknown>[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cells = [columns, ...rows.map((row) => columns.map((column) => scalar(row[column])))];
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index]?.length ?? 0)));
  return cells
    .map((line) =>
      line
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function isNested(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !(value instanceof Date) && Object.keys(value).length > 0;
}

function scalar(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
