import type { CellPath } from '../geo/cells.ts';

const DIGIT_BITS = 10;
const DIGITS = 2 ** DIGIT_BITS;
/** A path has 40 bits: 19 for the coarse cell and 21 below; see `geo/cells.ts`. */
const PASSES = 4;

/**
 * Sorts paths in ascending order, and their members along with them; members of equal paths keep their order.
 *
 * This is a radix sort from the least digit (H. H. Seward, 1954). A million paths take a tenth of a second; a
 * comparison sort would call back twenty million times.
 */
export function sortByPath(paths: Float64Array, members: Int32Array): void {
  let fromPaths = paths;
  let fromMembers = members;
  let toPaths: Float64Array = new Float64Array(paths.length);
  let toMembers: Int32Array = new Int32Array(paths.length);
  for (let pass = 0; pass < PASSES; pass++) {
    const unit = DIGITS ** pass;
    const next = startsOfDigits(fromPaths, unit);
    for (let i = 0; i < fromPaths.length; i++) {
      const path = fromPaths[i] as CellPath;
      const digit = digitOf(path, unit);
      const place = next[digit] as number;
      next[digit] = place + 1;
      toPaths[place] = path;
      toMembers[place] = fromMembers[i] as number;
    }
    // After an even number of passes the result is in the arguments.
    [fromPaths, toPaths] = [toPaths, fromPaths];
    [fromMembers, toMembers] = [toMembers, fromMembers];
  }
}

function startsOfDigits(paths: Float64Array, unit: number): Int32Array {
  const starts = new Int32Array(DIGITS + 1);
  for (let i = 0; i < paths.length; i++) {
    const after = digitOf(paths[i] as CellPath, unit) + 1;
    starts[after] = (starts[after] as number) + 1;
  }
  for (let digit = 0; digit < DIGITS; digit++) {
    starts[digit + 1] = (starts[digit + 1] as number) + (starts[digit] as number);
  }
  return starts;
}

/** `unit` is a power of two, so the division is exact; `&` reads the low 32 bits of any whole number. */
function digitOf(path: CellPath, unit: number): number {
  return (path / unit) & (DIGITS - 1);
}
