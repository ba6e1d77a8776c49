/** Narrowest column of words that is still of use. */
const LEAST_WIDTH = 12;
const GAP = '  ';
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** The part of an id that tells rows apart: its millisecond and what follows first. A command takes it for the id. */
const SHORT_ID_LENGTH = 18;
const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d):\d\d(?:\.\d+)?(?:Z|\+00:00)$/;

/**
 * Lines of aligned columns, the first one their names. Where they are wider than the terminal, ids and times are
 * shown in short, then words are cut, then the last columns are left out and named.
 *
 * @param width columns of the terminal; without it nothing is shortened
 */
export function tableLines(cells: readonly string[][], width = Number.POSITIVE_INFINITY): string[] {
  if (widthOf(cells) <= width) return align(cells);
  let fitted = cells.map((line) => line.map(brief));
  for (let most = Math.max(...widthsOf(fitted)); widthOf(fitted) > width && most >= LEAST_WIDTH; most--) {
    fitted = fitted.map((line) => line.map((cell) => cut(cell, most)));
  }
  while (widthOf(fitted) > width && (fitted[0]?.length ?? 0) > 1) fitted = fitted.map((line) => line.slice(0, -1));
  const left = cells[0]?.slice(fitted[0]?.length) ?? [];
  const hint = left.length > 0 ? [`Too narrow for: ${left.join(', ')}; see --columns and --json.`] : [];
  return [...align(fitted), ...hint];
}

const brief = (cell: string): string =>
  ID.test(cell) ? cell.slice(0, SHORT_ID_LENGTH) : cell.replace(TIME, (_, minute: string) => `${minute}Z`);

/** A short id stays whole, as a part of it means nothing. */
function cut(cell: string, most: number): string {
  const characters = [...cell];
  if (characters.length <= most || /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}$/.test(cell)) return cell;
  return `${characters.slice(0, most - 1).join('')}…`;
}

const widthsOf = (cells: readonly string[][]): number[] =>
  (cells[0] ?? []).map((_, index) => Math.max(...cells.map((line) => line[index]?.length ?? 0)));

const widthOf = (cells: readonly string[][]): number =>
  widthsOf(cells).reduce((sum, each) => sum + each + GAP.length, -GAP.length);

function align(cells: readonly string[][]): string[] {
  const widths = widthsOf(cells);
  return cells.map((line) =>
    line
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}
