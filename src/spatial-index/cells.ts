import { type CellPath, COARSE_CELLS, COARSEST, cellCentre, childDigit, coarseCell } from '../geo/cells.ts';
import { writeVector } from '../geo/point.ts';
import { MAX_TIERS } from '../limits.ts';
import {
  CELL_EARLIEST,
  CELL_NEWEST,
  CELL_OLDEST,
  CELL_PATH,
  CELL_RADIUS,
  CELL_STRIDE,
  CellBox,
  CHILDREN,
  COUNT,
  IS_BRANCH,
  initialRadius,
  LINK_STRIDE,
  NO_CELL,
  PARENT,
  RESOLUTION,
  SIZE,
} from './cell.ts';
import { enlarged } from './enlarged.ts';

const NO_BLOCK = -1;

/** The cells of an index along H3's hierarchy. A leaf has members, a branch has up to seven children. */
export class Cells {
  /** See `cell.ts`. All are replaced when they grow: read them anew for every search. */
  figures = new Float64Array(64 * CELL_STRIDE);
  links = new Int32Array(64 * LINK_STRIDE);
  /** For each cell and tier of the table the number of members that serve it; no search reads them. */
  tierCounts = new Int32Array(64 * MAX_TIERS);
  readonly boxes: CellBox[] = [];
  private readonly free: number[] = [];
  private readonly coarse = new Int32Array(COARSE_CELLS).fill(NO_CELL);

  count(cell: number): number {
    return this.links[cell * LINK_STRIDE + COUNT] as number;
  }

  resolution(cell: number): number {
    return this.links[cell * LINK_STRIDE + RESOLUTION] as number;
  }

  parent(cell: number): number {
    return this.links[cell * LINK_STRIDE + PARENT] as number;
  }

  isBranch(cell: number): boolean {
    return this.links[cell * LINK_STRIDE + IS_BRANCH] === 1;
  }

  box(cell: number): CellBox {
    return this.boxes[cell] as CellBox;
  }

  /** Whether the coarse cell of a path is there, divided or not. */
  hasCoarse(path: CellPath): boolean {
    return this.coarse[coarseCell(path)] !== NO_CELL;
  }

  /** The leaf that a path leads to; `NO_CELL` if there is none. */
  leafAt(path: CellPath): number {
    const { links } = this;
    let cell = this.coarse[coarseCell(path)] as number;
    for (let resolution = COARSEST + 1; cell !== NO_CELL; resolution++) {
      if (links[cell * LINK_STRIDE + IS_BRANCH] === 0) return cell;
      cell = links[cell * LINK_STRIDE + CHILDREN + childDigit(path, resolution)] as number;
    }
    return NO_CELL;
  }

  /** The leaf that a path leads to. Makes it if there is none. */
  leafOf(path: CellPath): number {
    let cell = this.coarse[coarseCell(path)] as number;
    if (cell === NO_CELL) {
      cell = this.newCell(path, COARSEST, NO_CELL);
      this.coarse[coarseCell(path)] = cell;
    }
    for (let resolution = COARSEST + 1; this.isBranch(cell); resolution++) {
      const place = cell * LINK_STRIDE + CHILDREN + childDigit(path, resolution);
      let child = this.links[place] as number;
      if (child === NO_CELL) {
        child = this.newCell(path, resolution, cell);
        this.links[place] = child;
      }
      cell = child;
    }
    return cell;
  }

  makeBranch(cell: number): void {
    this.links[cell * LINK_STRIDE + IS_BRANCH] = 1;
  }

  /** Turns a branch into a leaf without members. The caller must `forget` its children. */
  makeLeaf(cell: number): void {
    const link = cell * LINK_STRIDE;
    this.links[link + IS_BRANCH] = 0;
    this.links.fill(NO_CELL, link + CHILDREN, link + CHILDREN + 7);
    this.figures[cell * CELL_STRIDE + CELL_OLDEST] = Number.POSITIVE_INFINITY;
    this.figures[cell * CELL_STRIDE + CELL_NEWEST] = Number.NEGATIVE_INFINITY;
    this.figures[cell * CELL_STRIDE + CELL_EARLIEST] = Number.POSITIVE_INFINITY;
  }

  /** Removes a cell without members: no path leads to it any more. */
  drop(cell: number): void {
    const path = this.figures[cell * CELL_STRIDE + CELL_PATH] as number;
    const parent = this.parent(cell);
    if (parent === NO_CELL) this.coarse[coarseCell(path)] = NO_CELL;
    else this.links[parent * LINK_STRIDE + CHILDREN + childDigit(path, this.resolution(cell))] = NO_CELL;
    this.forget(cell);
  }

  /** Frees the number of a cell without members to which no path leads. */
  forget(cell: number): void {
    this.free.push(cell);
  }

  /** The members of a branch's leaves in all; infinite if a child is a branch too. */
  membersBelow(branch: number): number {
    let sum = 0;
    for (const child of this.childrenOf(branch)) {
      sum += this.isBranch(child) ? Number.POSITIVE_INFINITY : this.count(child);
    }
    return sum;
  }

  childrenOf(branch: number): number[] {
    const link = branch * LINK_STRIDE + CHILDREN;
    return Array.from(this.links.subarray(link, link + 7)).filter((child) => child !== NO_CELL);
  }

  private newCell(path: CellPath, resolution: number, parent: number): number {
    const cell = this.free.pop() ?? this.boxes.length;
    if (cell * CELL_STRIDE === this.figures.length) {
      this.figures = enlarged(this.figures, cell * CELL_STRIDE * 2);
      this.links = enlarged(this.links, cell * LINK_STRIDE * 2);
      this.tierCounts = enlarged(this.tierCounts, cell * MAX_TIERS * 2);
    }
    const { figures, links } = this;
    const centre = cellCentre(path, resolution);
    const radius = initialRadius(resolution);
    const at = cell * CELL_STRIDE;
    writeVector(centre.lat, centre.lng, figures, at);
    figures[at + CELL_RADIUS] = radius;
    figures[at + CELL_OLDEST] = Number.POSITIVE_INFINITY;
    figures[at + CELL_NEWEST] = Number.NEGATIVE_INFINITY;
    figures[at + CELL_PATH] = path;
    figures[at + CELL_EARLIEST] = Number.POSITIVE_INFINITY;
    const link = cell * LINK_STRIDE;
    links.fill(0, link, link + LINK_STRIDE);
    links.fill(NO_CELL, link + CHILDREN, link + CHILDREN + 7);
    links[link + SIZE] = NO_BLOCK;
    links[link + RESOLUTION] = resolution;
    links[link + PARENT] = parent;
    const box = new CellBox(cell, centre);
    box.cover(radius);
    this.boxes[cell] = box;
    return cell;
  }
}
