import { type Box, boxAround } from '../geo/box.ts';
import { CELL_EDGE_METERS } from '../geo/cells.ts';
import { chordOfMeters, type Point } from '../geo/point.ts';

/**
 * A cell is a number. What a search asks of every cell it passes stands in one array for all, a cache line each: the
 * unit vector of the centre, the radius as a chord (no member is farther from the centre), the oldest and newest stamp
 * (no member's is outside; members that left may have been the outermost), and the path of the cell.
 */
export const CELL_STRIDE = 8;
export const CELL_RADIUS = 3;
export const CELL_OLDEST = 4;
export const CELL_NEWEST = 5;
export const CELL_PATH = 6;

/**
 * Its whole numbers stand in another, a cache line each: how many members it holds, where their block begins and of
 * which size it is; its resolution; the cell it is part of; whether it is divided; its seven children; and for each tier
 * how many members serve it.
 */
export const LINK_STRIDE = 16;
export const COUNT = 0;
export const BLOCK = 1;
export const SIZE = 2;
export const RESOLUTION = 3;
export const PARENT = 4;
export const IS_BRANCH = 5;
export const CHILDREN = 6;
export const TIER_COUNTS = 13;
export const MAX_TIERS = LINK_STRIDE - TIER_COUNTS;
/** Stands for a tier that every member serves. */
export const EVERY = MAX_TIERS;

export const NO_CELL = -1;

/**
 * The radius of a new cell in average edges. Of the places in a cell about one in a hundred is farther from its centre
 * (the farthest seen over the globe: 1.13); a cell that gets such a member grows. Larger circles would overlap more and
 * be searched more; with smaller ones drivers near a corner would change cells with every step.
 */
const RADIUS_EDGES = 1.03;

/** The radius as a chord that a new cell of `resolution` has. */
export function initialRadius(resolution: number): number {
  return INITIAL_RADIUS[resolution] as number;
}
const INITIAL_RADIUS = CELL_EDGE_METERS.map((edge) => chordOfMeters(RADIUS_EDGES * edge));

/** What a radius that turns out too small grows by beyond what is needed, so that it does not grow with every step. */
const RADIUS_MARGIN = 1.02;

/** The radius that a cell gets for a member that is farther from its centre than its radius; both as chords. */
export function withMargin(farthest: number): number {
  return farthest * RADIUS_MARGIN;
}

/** How far around a cell its neighbours are remembered, in radii from its centre; see `neighbours.ts`. */
export const COVER_RADII = 2;

/** A cell as an item of the trees. Its box holds all that its neighbours are remembered for, and so its own circle. */
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

  /** Makes the box hold all that neighbours are remembered for. It must be in no tree meanwhile. */
  cover(radius: number): void {
    const box = boxAround(this.lat, this.lng, radius * COVER_RADII);
    this.minX = box.minX;
    this.minY = box.minY;
    this.maxX = box.maxX;
    this.maxY = box.maxY;
  }
}
