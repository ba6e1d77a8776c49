import { type Box, boxAround } from '../geo/box.ts';
import { CELL_EDGE_METERS, type CellPath } from '../geo/cells.ts';
import { chordOfMeters } from '../geo/point.ts';

/**
 * Members of a cell stand packed in one array, so that reading a cell through is one run over memory: unit vector, time
 * stamp, and a tag of the member's number (in all bits above) and the tiers it serves (the low `TIER_BITS`).
 */
export const MEMBER_STRIDE = 5;
export const MEMBER_STAMP = 3;
export const MEMBER_TAG = 4;
export const TIER_BITS = 4;

/**
 * What a search asks of every cell it passes stands in one array for all cells, a cache line each: the unit vector of
 * the centre, the radius as a chord (no member is farther from the centre), and the oldest and newest stamp (no
 * member's is outside; members that left may have been the outermost).
 */
export const CELL_STRIDE = 8;
export const CELL_RADIUS = 3;
export const CELL_OLDEST = 4;
export const CELL_NEWEST = 5;

/**
 * The radius of a new cell in average edges. Of the places in a cell about one in a hundred is farther from its centre
 * (the farthest seen over the globe: 1.13); a cell that gets such a member grows. Larger circles would overlap more and
 * be searched more; with smaller ones drivers near a corner would change cells with every step.
 */
const RADIUS_EDGES = 1.03;

const NO_MEMBERS = new Float64Array(0);
const FIRST_CAPACITY = 4;

/** The radius as a chord that a new cell of `resolution` has. */
export function initialRadius(resolution: number): number {
  return INITIAL_RADIUS[resolution] as number;
}
const INITIAL_RADIUS = CELL_EDGE_METERS.map((edge) => chordOfMeters(RADIUS_EDGES * edge));

/**
 * One H3 cell of the index and an item of the trees. A leaf has members; a branch has children, one for each digit,
 * and is in no tree.
 */
export class Cell implements Box {
  minX = 0;
  minY = 0;
  maxX = 0;
  maxY = 0;
  count = 0;
  members: Float64Array = NO_MEMBERS;
  children: (Cell | undefined)[] | undefined = undefined;
  /** How many members serve each tier. */
  readonly tierCounts: number[];
  /** Where the cell's figures stand in the index's array of cells. */
  readonly number: number;
  readonly path: CellPath;
  readonly resolution: number;
  readonly parent: Cell | undefined;

  constructor(number: number, path: CellPath, resolution: number, parent: Cell | undefined, tierCount: number) {
    this.number = number;
    this.path = path;
    this.resolution = resolution;
    this.parent = parent;
    this.tierCounts = new Array<number>(tierCount).fill(0);
  }

  /** Makes the box hold a circle around the centre. The cell must be in no tree meanwhile. */
  coverCircle(lat: number, lng: number, chord: number): void {
    const box = boxAround(lat, lng, chord);
    this.minX = box.minX;
    this.minY = box.minY;
    this.maxX = box.maxX;
    this.maxY = box.maxY;
  }

  /** Makes room for one more member and returns where it goes. */
  nextOffset(): number {
    const offset = this.count * MEMBER_STRIDE;
    if (offset === this.members.length) {
      const larger = new Float64Array(Math.max(FIRST_CAPACITY, this.count * 2) * MEMBER_STRIDE);
      larger.set(this.members);
      this.members = larger;
    }
    this.count++;
    return offset;
  }

  /** Takes all members out and returns them packed as they were. */
  takeMembers(): Float64Array {
    const taken = this.members.subarray(0, this.count * MEMBER_STRIDE);
    this.members = NO_MEMBERS;
    this.count = 0;
    this.tierCounts.fill(0);
    return taken;
  }
}
