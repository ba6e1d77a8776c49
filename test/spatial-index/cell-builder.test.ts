import { describe, expect, it } from 'vitest';
import { chordSquared } from '../../src/geo/point.ts';
import { MAX_TIERS } from '../../src/limits.ts';
import { BLOCK, CELL_RADIUS, CELL_STRIDE, COUNT, EVERY, LINK_STRIDE } from '../../src/spatial-index/cell.ts';
import { CellIndex } from '../../src/spatial-index/cell-index.ts';
import { MEMBER_STRIDE, MEMBER_TAG, memberOf } from '../../src/spatial-index/member-pool.ts';
import { sortByPath } from '../../src/spatial-index/sort-by-path.ts';
import { displaced } from '../geo/places.ts';
import { expectSame } from '../harness/same.ts';
import { seeded } from '../harness/world.ts';

const TOWNS = [
  { lat: 52.52, lng: 13.4 },
  { lat: 48.14, lng: 11.58 },
  { lat: -16.5, lng: 179.99 },
];

/** An index with the places of members, none of which is inserted. */
function located(members: number, spreadMeters: number): CellIndex {
  const index = new CellIndex();
  const random = seeded(7);
  for (let member = 0; member < members; member++) {
    const offset = () => (random() + random() - 1) * spreadMeters;
    const { lat, lng } = displaced(TOWNS[member % 3] as (typeof TOWNS)[number], offset(), offset());
    index.locate(member, lat, lng, member);
  }
  return index;
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
const EVERY_SET = 2 ** MAX_TIERS;
const tiersOf = (member: number) => member % EVERY_SET;
const TREES = numbers(0, EVERY + 1);

/** The members of each cell of a tree, all inside the cell's circle. */
function membersByCell(index: CellIndex, tier: number): number[][] {
  const { links, figures } = index.cells;
  const cells = (index.trees.byTier[tier]?.all() ?? []).map(({ cell }) => {
    const start = links[cell * LINK_STRIDE + BLOCK] as number;
    const radius = figures[cell * CELL_STRIDE + CELL_RADIUS] as number;
    const members = numbers(0, links[cell * LINK_STRIDE + COUNT] as number).map((i) => {
      const at = start + i * MEMBER_STRIDE;
      const squared = chordSquared(index.members.pool.data, at, figures, cell * CELL_STRIDE);
      // `expect` alone would take most of this file's time.
      if (!(squared <= radius * radius)) expect(squared).toBeLessThanOrEqual(radius * radius);
      return memberOf(index.members.pool.data[at + MEMBER_TAG] as number);
    });
    return members.sort((a, b) => a - b);
  });
  return cells.sort(([a = 0], [b = 0]) => a - b);
}

describe('members that are inserted at once', () => {
  for (const spreadMeters of [0, 500, 40_000]) {
    it(`stand in the cells that they divide into one by one, spread over ${spreadMeters} m`, () => {
      const oneByOne = located(5_000, spreadMeters);
      for (const member of numbers(0, 5_000)) oneByOne.put(member, tiersOf(member));
      const atOnce = located(5_000, spreadMeters);
      atOnce.putAll(numbers(0, 5_000), tiersOf);
      for (const tier of TREES) {
        expectSame(membersByCell(atOnce, tier), membersByCell(oneByOne, tier));
      }
    });
  }
});

describe('paths', () => {
  it('are sorted with their members, equal ones in the order before', () => {
    const random = seeded(11);
    const paths = Float64Array.from({ length: 20_000 }, () => Math.floor(random() * (random() < 0.5 ? 50 : 2 ** 40)));
    const sorted = Array.from(paths, (path, member) => ({ path, member })).sort(
      (a, b) => a.path - b.path || a.member - b.member,
    );
    const members = Int32Array.from(numbers(0, 20_000));
    sortByPath(paths, members);
    expect([...paths]).toEqual(sorted.map(({ path }) => path));
    expect([...members]).toEqual(sorted.map(({ member }) => member));
  });
});
