import { CellIndex } from './cell-index.ts';
import { CellSearch, type FoundMember } from './cell-search.ts';

const ALL = 0;

/**
 * Every driver with a place, free or not, by slot: whoever asks why an order went past a driver finds him here. Claims
 * and releases do not touch it, so they cost what they cost without it; a move costs a fraction of a microsecond more.
 *
 * Drivers at home would crowd out those on the road. Nothing happens in the moment they turn stale, so a search that
 * comes across one takes him out, once; his next position puts him in again.
 */
export class Everyone {
  private readonly index = new CellIndex(1);
  private readonly search = new CellSearch(this.index);
  private readonly stale: number[] = [];

  locate(slot: number, lat: number, lng: number, stamp: number): void {
    this.index.locate(slot, lat, lng, stamp);
    this.show(slot);
  }

  /** Puts a located driver in, where he was taken out. */
  show(slot: number): void {
    if (this.index.tiersOf(slot) === 0) this.index.insert(slot, 1 << ALL);
  }

  /** Takes a driver out, where he is in. */
  remove(slot: number): void {
    if (this.index.tiersOf(slot) !== 0) this.index.remove(slot);
  }

  /**
   * The up to `count` accepted drivers nearest to a place, nearest first.
   *
   * @param isStale whether a driver with a position of that time is not to be found until he is shown again
   */
  nearest(
    place: { readonly lat: number; readonly lng: number; readonly withinChord: number },
    count: number,
    accepts: (slot: number) => boolean,
    isStale: (slot: number, stamp: number) => boolean,
  ): FoundMember[] {
    const found = this.search.nearestFew(
      {
        ...place,
        tier: ALL,
        oldestStamp: Number.NEGATIVE_INFINITY,
        accepts: (slot) => {
          if (!isStale(slot, this.index.stamp(slot))) return accepts(slot);
          this.stale.push(slot);
          return false;
        },
      },
      count,
    );
    for (let slot = this.stale.pop(); slot !== undefined; slot = this.stale.pop()) this.remove(slot);
    return found;
  }
}
