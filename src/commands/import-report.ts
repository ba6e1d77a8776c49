import { stringify } from 'csv-stringify/sync';
import { CommandError } from '../cli/context.ts';
import type { Output } from '../cli/output.ts';

/** What became of a line, without what was made of it. */
export type LineReport = {
  readonly line: number;
  readonly status: 'created' | 'would_create' | 'exists' | 'failed';
  /** Which field is wrong; empty for the whole line. */
  readonly field?: string;
  readonly message?: string;
};

/**
 * Imports the lines of a file one after the other, and reports each at once, as a secret that was made and not shown
 * would be lost.
 *
 * @param open makes the function that imports a line
 * @throws {CommandError} where a line failed
 */
export async function importLines<Line, Made extends LineReport>(
  output: Output,
  lines: readonly Line[],
  columns: readonly (string & keyof Made)[],
  isJson: boolean,
  open: () => Promise<(line: Line) => Promise<Made>>,
): Promise<void> {
  const print = openReport(output, columns, isJson);
  let failed = 0;
  try {
    const take = await open();
    for (const line of lines) {
      const report = await take(line);
      if (report.status === 'failed') failed++;
      print.row(report);
    }
  } finally {
    print.end();
  }
  if (failed > 0) throw new CommandError(`${failed} of ${lines.length} lines failed.`);
}

/** Prints reports as CSV, or as one list in JSON. */
function openReport<Made>({ put }: Output, columns: readonly (string & keyof Made)[], isJson: boolean) {
  let rows = 0;
  // A spreadsheet must not take a chain's own number for a formula.
  const csv = (values: readonly unknown[]) => stringify([[...values]], { escape_formulas: true });
  if (!isJson) put(csv(columns));
  return {
    row(report: Made) {
      if (isJson) put(`${rows++ === 0 ? '[' : ','}\n  ${JSON.stringify(report)}`);
      else put(csv(columns.map((column) => report[column] ?? '')));
    },
    end() {
      if (isJson) put(rows === 0 ? '[]\n' : '\n]\n');
    },
  };
}
