import fc from 'fast-check';
import { describe, it } from 'vitest';
import { chordSquared, type Point, writeVector } from '../../src/geo/point.ts';
import { MAX_TIERS } from '../../src/limits.ts';
import { EVERY } from '../../src/spatial-index/cell.ts';
import { CellIndex } from '../../src/spatial-index/cell-index.ts';
import { CellSearch, NO_MEMBER } from '../../src/spatial-index/cell-search.ts';
import { anywhere, displaced } from '../geo/places.ts';
import { runs } from '../harness/counts.ts';
import { expectSame } from '../harness/same.ts';
import { seeded } from '../harness/world.ts';

/** Members of an index, and beside it a plain list of them. */
class Crowd {
  readonly index = new CellIndex();
  readonly search = new CellSearch(this.index);
  private readonly members: { place: Point; tiers: number; stamp: number; isIn: boolean }[] = [];
  /** The unit vector of each member's place. */
  private readonly vectors: Float64Array;
  private readonly random: () => number;
  /** A crowded street beside a town beside a county, so that small cells have large neighbours. */
  private readonly spreads = [300, 6_000, 90_000];
  private readonly centre: Point;

  constructor(seed: number, centre: Point, size: number) {
    this.random = seeded(seed);
    this.centre = centre;
    this.vectors = new Float64Array(3 * size);
    for (let member = 0; member < size; member++) {
      this.members.push({ place: centre, tiers: 0, stamp: 0, isIn: false });
      this.put(member);
    }
  }

  place(): Point {
    const spread = this.spreads[Math.floor(this.random() * 3)] as number;
    return displaced(this.centre, (this.random() - 0.5) * spread, (this.random() - 0.5) * spread);
  }

  step(now: number): void {
    const number = Math.floor(this.random() * this.members.length);
    const what = this.random();
    if (what < 0.1) this.remove(number);
    else if (what < 0.3) this.put(number);
    else this.move(number, what < 0.9 ? 100 : 3_000, now);
  }

  private move(number: number, meters: number, now: number): void {
    const member = this.members[number] as (typeof this.members)[0];
    const far = () => (this.random() - 0.5) * meters;
    member.place = displaced(member.place, far(), far());
    member.stamp = now;
    this.locate(number);
  }

  private put(number: number): void {
    const member = this.members[number] as (typeof this.members)[0];
    if (!member.isIn) {
      member.place = this.place();
      this.locate(number);
    }
    member.tiers = Math.floor(this.random() * 2 ** MAX_TIERS);
    member.isIn = true;
    this.index.put(number, member.tiers);
  }

  private locate(number: number): void {
    const { place, stamp } = this.members[number] as (typeof this.members)[0];
    this.index.locate(number, place.lat, place.lng, stamp);
    writeVector(place.lat, place.lng, this.vectors, 3 * number);
  }

  private remove(number: number): void {
    this.index.remove(number);
    (this.members[number] as (typeof this.members)[0]).isIn = false;
  }

  /** The nearest member by the index, and by looking at every member. */
  nearestTwice(tier: number, place: Point, withinChord: number, oldestStamp: number): [number, number] {
    const { lat, lng } = place;
    const precedes = (member: number, other: number) => member < other;
    const found = this.search.nearest({ tier, lat, lng, withinChord, oldestStamp, accepts: undefined, precedes });
    const vector = new Float64Array(3);
    writeVector(lat, lng, vector, 0);
    let nearest = NO_MEMBER;
    let least = withinChord * withinChord;
    for (const [number, member] of this.members.entries()) {
      const serves = tier === EVERY || (member.tiers & (1 << tier)) !== 0;
      if (!member.isIn || !serves || member.stamp < oldestStamp) continue;
      const squared = chordSquared(this.vectors, 3 * number, vector, 0);
      if (squared > least || (squared === least && nearest !== NO_MEMBER)) continue;
      nearest = number;
      least = squared;
    }
    return [found, nearest];
  }
}

describe('the nearest member', () => {
  it('is found from everywhere, while members come, go and move among small and large cells', () => {
    fc.assert(
      fc.property(fc.integer(), anywhere, fc.integer({ min: 1, max: 4_000 }), (seed, centre, size) => {
        const crowd = new Crowd(seed, centre, size);
        const random = seeded(seed + 1);
        for (let now = 1; now <= 1_500; now++) {
          crowd.step(now);
          const tier = Math.floor(random() * (EVERY + 1));
          const within = random() < 0.8 ? 2 : 1e-4;
          const oldest = random() < 0.8 ? 0 : now - 300;
          const [found, nearest] = crowd.nearestTwice(tier, crowd.place(), within, oldest);
          expectSame(found, nearest);
        }
      }),
      { numRuns: runs(4, 12) },
    );
  });
});
