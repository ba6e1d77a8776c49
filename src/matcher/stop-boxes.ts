import type { CarriedOrder } from '../domain/route.ts';
import { enlarged } from '../spatial-index/enlarged.ts';
import { columnOf, gridCell, rowOf } from './grid.ts';

/** First and last row, first and last column. */
const BOX = 4;
const NOTHING_CARRIED = -1;
/** A larger box says nothing: as many cells as are read in the time in which the stops are looked up. */
const MOST_CELLS = 32;

/** By slot, the box of grid cells around the pickups and doors of what a driver carries. */
export class StopBoxes {
  #boxes = new Int32Array(64 * BOX).fill(NOTHING_CARRIED);

  grow(drivers: number): void {
    const before = this.#boxes.length;
    this.#boxes = enlarged(this.#boxes, drivers * BOX);
    this.#boxes.fill(NOTHING_CARRIED, before);
  }

  set(slot: number, carried: readonly CarriedOrder[]): void {
    const boxes = this.#boxes;
    const at = slot * BOX;
    boxes[at] = NOTHING_CARRIED;
    for (const { pickup, dropoff } of carried) {
      this.#include(at, rowOf(pickup.lat), columnOf(pickup.lng));
      if (dropoff) this.#include(at, rowOf(dropoff.lat), columnOf(dropoff.lng));
    }
  }

  #include(at: number, row: number, column: number): void {
    const boxes = this.#boxes;
    const isFirst = boxes[at] === NOTHING_CARRIED;
    boxes[at] = isFirst ? row : Math.min(boxes[at] as number, row);
    boxes[at + 1] = isFirst ? row : Math.max(boxes[at + 1] as number, row);
    boxes[at + 2] = isFirst ? column : Math.min(boxes[at + 2] as number, column);
    boxes[at + 3] = isFirst ? column : Math.max(boxes[at + 3] as number, column);
  }

  /** Whether a driver carries anything. */
  has(slot: number): boolean {
    return this.#boxes[slot * BOX] !== NOTHING_CARRIED;
  }

  /** Whether a cell of a driver's box is marked; true for a box of too many cells. */
  someCell(slot: number, marks: Uint8Array): boolean {
    const boxes = this.#boxes;
    const at = slot * BOX;
    const [lastRow, west, east] = [boxes[at + 1] as number, boxes[at + 2] as number, boxes[at + 3] as number];
    let row = boxes[at] as number;
    if ((lastRow - row + 1) * (east - west + 1) > MOST_CELLS) return true;
    for (; row <= lastRow; row++) {
      for (let column = west; column <= east; column++) if (marks[gridCell(row, column)] === 1) return true;
    }
    return false;
  }
}
