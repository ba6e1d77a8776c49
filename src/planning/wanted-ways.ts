import { Groups } from '../domain/groups.ts';
import type { Place } from '../planner/place.ts';
import { cellOf } from './road-table.ts';
import type { TableOfPlaces } from './router.ts';

/** Most ways noted for a round, about 150 bytes each; what finds no place is noted again by the next look. */
export const MAX_WANTED_WAYS = 5_000;

export type Way = { readonly from: Place; readonly to: Place };

/** Ways of which the road is to be asked for, the first noted first, one for each pair of cells. */
export class WantedWays {
  #ways: Way[] = [];
  readonly #known = new Groups<number, number>();

  note(from: Place, to: Place): void {
    if (this.#ways.length >= MAX_WANTED_WAYS) return;
    const [fromCell, toCell] = [cellOf(from), cellOf(to)];
    if (this.#known.of(fromCell).has(toCell)) return;
    this.#known.add(fromCell, toCell);
    this.#ways.push({ from, to });
  }

  /** All that were noted since the last time. */
  take(): Way[] {
    const ways = this.#ways;
    this.#ways = [];
    this.#known.clear();
    return ways;
  }
}

/** A table that answers for some ways. Places of one cell are one place of it. */
export type PackedTable = {
  readonly table: TableOfPlaces;
  /** Each way between the places that stand for it, and where in the table its time is. */
  readonly ways: readonly (Way & { readonly row: number; readonly column: number })[];
};

/** The first ways of a list, as many as fit a table of so many places, 2 or more. */
export function packTable(ways: readonly Way[], mostPlaces: number): PackedTable {
  const places: Place[] = [];
  const indices = new Map<number, number>();
  const rows = new Map<number, number>();
  const columns = new Map<number, number>();
  const packed: (Way & { row: number; column: number })[] = [];
  for (const { from, to } of ways) {
    const [fromCell, toCell] = [cellOf(from), cellOf(to)];
    const added = Number(!indices.has(fromCell)) + Number(!indices.has(toCell));
    if (places.length + added > mostPlaces) break;
    const source = indexOf(indices, fromCell, () => places.push(from) - 1);
    const destination = indexOf(indices, toCell, () => places.push(to) - 1);
    packed.push({
      from: places[source] as Place,
      to: places[destination] as Place,
      row: indexOf(rows, source, () => rows.size),
      column: indexOf(columns, destination, () => columns.size),
    });
  }
  const points = places.map(({ point }) => point);
  return { table: { places: points, sources: [...rows.keys()], destinations: [...columns.keys()] }, ways: packed };
}

function indexOf(known: Map<number, number>, key: number, next: () => number): number {
  let index = known.get(key);
  if (index === undefined) {
    index = next();
    known.set(key, index);
  }
  return index;
}
