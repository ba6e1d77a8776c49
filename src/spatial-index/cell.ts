import { type Box, boxAround } from '../geo/box.ts';
import { CELL_EDGE_METERS } from '../geo/cells.ts';
import { chordOfMeters, type Point } from '../geo/point.ts';
import { MAX_TIERS } from '../limits.ts';

/**
 * A cell is a number. One array holds what a search reads of every cell that it passes, a cache line each:
 * the unit vector of the centre, the radius as a chord (no member is farther from the centre), the oldest and
 * the newest stamp (every member's stamp lies between; a member that left may have set either), the path of
 * the cell, and its members' earliest begin (which a member that left may have set, too).
 */
export const CELL_STRIDE = 8;
export const CELL_RADIUS = 3;
export const CELL_OLDEST = 4;
export const CELL_NEWEST = 5;
export const CELL_PATH = 6;
export const CELL_EARLIEST = 7;

/**
 * Another array holds whole numbers, a cache line each: the number of members, where their block begins, and
 * the block's size; the resolution; the parent; whether the cell is divided; the seven children; and the
 * tiers that a member serves, as bits.
 */
export const LINK_STRIDE = 16;
export const COUNT = 0;
export const BLOCK = 1;
export const SIZE = 2;
export const RESOLUTION = 3;
export const PARENT = 4;
export const IS_BRANCH = 5;
export const CHILDREN = 6;
export const SERVED = 13;

/** The number of a tier that every member serves, above those of the table's tiers. */
export const EVERY = MAX_TIERS;
export const EVERY_BIT = 1 << EVERY;
/** Bits of a set of tiers, `EVERY` included. */
export const TIER_BITS = MAX_TIERS + 1;

/** The tier with the smallest number of a set that is not empty. */
export function lowestTier(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}

export const NO_CELL = -1;

/**
 * The radius of a new cell in average edges. About one place of a cell in a hundred is farther from the
 * centre (1.13 edges at most, of all places tried on the globe); a cell that gets such a member grows. Larger
 * circles overlap more, so a search reads more cells; with smaller ones a driver near a corner changes cells
 * with every step.
 */
const RADIUS_EDGES = 1.03;

/** The radius of a new cell of `resolution`, as a chord. */
export function initialRadius(resolution: number): number {
  return INITIAL_RADIUS[resolution] as number;
}
const INITIAL_RADIUS = CELL_EDGE_METERS.map((edge) => chordOfMeters(RADIUS_EDGES * edge));

/** Growth of a radius beyond what a member needs, so that it does not grow with every step of that member. */
const RADIUS_MARGIN = 1.02;

/** The new radius of a cell that gets a member outside its circle; both as chords. */
export function withMargin(farthest: number): number {
  return farthest * RADIUS_MARGIN;
}

/** How far around a cell its neighbours are remembered, in radii from its centre; see `neighbours.ts`. */
export const COVER_RADII = 2;

/** A cell as an item of the trees. The box holds the circle of `COVER_RADII`, and so the cell's own. */
export class CellBox implements Box {
  minX = 0;
  minY = 0;
  maxX = 0;
  maxY = 0;
  readonly cell: number;
  /** The cell's centre. */
  readonly lat: number;
  readonly lng: number;

  constructor(cell: number, { lat, lng }: Point) {
    this.cell = cell;
    this.lat = lat;
    this.lng = lng;
  }

  /** Sets the box for a cell of this radius. No tree may hold it meanwhile. */
  cover(radius: number): void {
    const box = boxAround(this.lat, this.lng, radius * COVER_RADII);
    this.minX = box.minX;
    this.minY = box.minY;
    this.maxX = box.maxX;
    this.maxY = box.maxY;
  }
}
