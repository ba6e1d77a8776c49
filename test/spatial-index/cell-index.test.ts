import { latLngToCell } from 'h3-js';
import { describe, expect, it } from 'vitest';
import { COARSEST, cellIndex, FINEST } from '../../src/geo/cells.ts';
import {
  CELL_PATH,
  CELL_STRIDE,
  type CellBox,
  COUNT,
  LINK_STRIDE,
  RESOLUTION,
  TIER_BITS,
} from '../../src/spatial-index/cell.ts';
import { CELL_SPLIT_MEMBERS } from '../../src/spatial-index/cell-builder.ts';
import { CELL_MERGE_MEMBERS, CellIndex } from '../../src/spatial-index/cell-index.ts';
import { MAX_MEMBERS, memberOf, tagOf } from '../../src/spatial-index/member-pool.ts';
import { displaced } from '../geo/places.ts';
import { seeded } from '../harness/world.ts';

const TOWN = { lat: 52.52, lng: 13.4 };

/** An index with members spread over a square; the even ones serve tiers 0 and 1, the odd ones tier 0. */
function townOf(members: number, spreadMeters: number): CellIndex {
  const index = new CellIndex();
  const random = seeded(1);
  for (let member = 0; member < members; member++) {
    const place = displaced(TOWN, (random() - 0.5) * spreadMeters, (random() - 0.5) * spreadMeters);
    index.locate(member, place.lat, place.lng, member);
    index.put(member, member % 2 === 0 ? 3 : 1);
  }
  return index;
}

type SeenCell = { count: number; resolution: number; path: number; box: CellBox };

const cellsOf = (index: CellIndex, tier = 0): SeenCell[] =>
  (index.trees.byTier[tier]?.all() ?? []).map((box) => {
    const links = index.cells.links.subarray(box.cell * LINK_STRIDE);
    return {
      count: links[COUNT] as number,
      resolution: links[RESOLUTION] as number,
      path: index.cells.figures[box.cell * CELL_STRIDE + CELL_PATH] as number,
      box,
    };
  });
const membersIn = (index: CellIndex, tier = 0) => cellsOf(index, tier).reduce((sum, { count }) => sum + count, 0);

describe('the cells of the index', () => {
  it('hold a few members in one coarse H3 cell', () => {
    const index = townOf(CELL_SPLIT_MEMBERS, 1_000);
    expect(cellsOf(index).map((cell) => cellIndex(cell.path, cell.resolution))).toEqual([
      latLngToCell(TOWN.lat, TOWN.lng, COARSEST),
    ]);
  });

  it('divide where members crowd, until each holds few', () => {
    const index = townOf(20_000, 4_000);
    const cells = cellsOf(index);
    expect(membersIn(index)).toBe(20_000);
    expect(Math.max(...cells.map((cell) => cell.count))).toBeLessThanOrEqual(CELL_SPLIT_MEMBERS);
    expect(cells.length).toBeLessThan((20_000 / CELL_SPLIT_MEMBERS) * 7);
  });

  it('divide no further than the finest, however many stand at one place', () => {
    const index = townOf(1_000, 0);
    expect(cellsOf(index).map((cell) => [cell.resolution, cell.count])).toEqual([[FINEST, 1_000]]);
  });

  it('merge as members leave, and vanish with the last', () => {
    const index = townOf(5_000, 4_000);
    for (let member = CELL_MERGE_MEMBERS / 2; member < 5_000; member++) index.remove(member);
    expect(membersIn(index)).toBe(CELL_MERGE_MEMBERS / 2);
    expect(cellsOf(index).length).toBe(1);
    for (let member = 0; member < CELL_MERGE_MEMBERS / 2; member++) index.remove(member);
    expect([cellsOf(index, 0), cellsOf(index, 1)]).toEqual([[], []]);
    for (let member = 0; member < 5_000; member++) index.put(member, 1);
    expect(membersIn(index)).toBe(5_000);
  });

  it('keep their place in the trees while a member moves inside its cell', () => {
    const index = townOf(1, 0);
    const before = index.trees.byTier[0]?.toJSON().children.length;
    const cell = cellsOf(index)[0];
    for (let step = 1; step <= 100; step++) {
      const place = displaced(TOWN, step * 10, step * 10);
      index.locate(0, place.lat, place.lng, step);
    }
    expect(cellsOf(index)[0]?.box).toBe(cell?.box);
    expect(index.trees.byTier[0]?.toJSON().children.length).toBe(before);
    index.locate(0, 0, 0, 101);
    expect(cellsOf(index)[0]?.box).not.toBe(cell?.box);
  });
});

describe('a member', () => {
  it('has a tag of 32 bits with all its tiers, up to the largest number', () => {
    const tag = tagOf(MAX_MEMBERS - 1, 2 ** TIER_BITS - 1);
    expect(tag).toBe(2 ** 32 - 1);
    expect(memberOf(tag)).toBe(MAX_MEMBERS - 1);
  });

  it('is refused beyond that number', () => {
    const index = new CellIndex();
    const sentence = `An index holds at most ${MAX_MEMBERS} members; ${MAX_MEMBERS + 1} were asked for.`;
    expect(() => index.locate(MAX_MEMBERS, 0, 0, 0)).toThrow(sentence);
  });
});
