import { DEFAULT_SIZE } from '../domain/vehicle.ts';
import type { WaitingOrder } from '../domain/waiting-order.ts';
import { chordOfMeters, metersOfChordSquared, type Point } from '../geo/point.ts';
import { POSITION_FRESH_MS } from '../limits.ts';
import { EVERY } from '../spatial-index/cell.ts';
import { CellSearch, NO_MEMBER } from '../spatial-index/cell-search.ts';
import type { DriverSlots } from './driver-slots.ts';
import type { TierTable } from './tier-table.ts';
import { canDoFrom } from './trip.ts';

type Asked = Pick<WaitingOrder, 'tierId' | 'point' | 'size' | 'dropoff' | 'readyAtMs' | 'deliverAfterMs'>;

/** A search for drivers. Distances are in meters, times in milliseconds since 1970. */
export type DriverQuery = Asked & {
  readonly radiusMeters: number;
  readonly nowMs: number;
  /** Drivers who must not get the order. */
  readonly exclude?: ReadonlySet<string> | undefined;
};

export type FoundDriver = { readonly driverId: string; readonly distanceMeters: number };

/** Searches the drivers by distance. */
export class DriverSearch {
  private readonly drivers: DriverSlots;
  private readonly tiers: TierTable;
  private readonly search: CellSearch;

  constructor(drivers: DriverSlots, tiers: TierTable) {
    this.drivers = drivers;
    this.tiers = tiers;
    this.search = new CellSearch(drivers.index);
  }

  /** The nearest available driver. */
  nearest(query: DriverQuery): FoundDriver | undefined {
    const { tierId, point, radiusMeters, nowMs } = query;
    const tier = this.tiers.number(tierId);
    if (tier === undefined) return undefined;
    const { drivers } = this;
    const slot = this.search.nearest({
      tier,
      lat: point.lat,
      lng: point.lng,
      withinChord: chordOfMeters(radiusMeters),
      oldestStamp: nowMs - POSITION_FRESH_MS,
      accepts: this.filterOf(query),
      precedes: drivers.precedes,
    });
    if (slot === NO_MEMBER) return undefined;
    // Meters only grow with the chord, so if the nearest is too far, everybody is.
    const distanceMeters = metersOfChordSquared(this.search.chordSquared);
    if (distanceMeters > radiusMeters) return undefined;
    return { driverId: drivers.ids[slot] as string, distanceMeters };
  }

  /** The up to `count` nearest available drivers, nearest first. */
  nearestFew(query: DriverQuery, count: number): FoundDriver[] {
    const { tierId, radiusMeters, nowMs } = query;
    const tier = this.tiers.number(tierId);
    if (tier === undefined) return [];
    const found = this.few(tier, query, nowMs - POSITION_FRESH_MS, this.filterOf(query), count);
    return found.filter(({ distanceMeters }) => distanceMeters <= radiusMeters);
  }

  /** The up to `count` nearest drivers of the tier, on duty, who carry something, nearest first. */
  nearestBusy(query: DriverQuery, count: number): FoundDriver[] {
    const { drivers } = this;
    const bit = this.tiers.bit(query.tierId);
    const isBusy = (slot: number) =>
      drivers.duty[slot] === 1 && (drivers.tierBits(slot) & bit) !== 0 && drivers.carriedOf(slot).length > 0;
    return this.few(EVERY, query, query.nowMs - POSITION_FRESH_MS, isBusy, count);
  }

  /**
   * The up to `count` drivers nearest to a point, whatever they do, except those of `without` and those off
   * duty whose position is old.
   */
  nearestOfAll(
    point: Point,
    radiusMeters: number,
    count: number,
    nowMs: number,
    without: ReadonlySet<string>,
  ): FoundDriver[] {
    const { drivers } = this;
    const freshSince = nowMs - POSITION_FRESH_MS;
    const atHome: number[] = [];
    const accepts = (slot: number) => {
      const isAtHome = drivers.duty[slot] === 0 && drivers.index.members.stamp(slot) < freshSince;
      if (isAtHome) atHome.push(slot);
      return !isAtHome && !without.has(drivers.ids[slot] as string);
    };
    const found = this.few(EVERY, { point, radiusMeters }, Number.NEGATIVE_INFINITY, accepts, count);
    // A search must not change what it reads, so they leave the index here.
    for (const slot of atHome) drivers.index.remove(slot);
    return found;
  }

  /** The up to `count` nearest drivers of a tier's number who were heard from since then, nearest first. */
  private few(
    tier: number,
    { point, radiusMeters }: Pick<DriverQuery, 'point' | 'radiusMeters'>,
    oldestStamp: number,
    accepts: ((slot: number) => boolean) | undefined,
    count: number,
  ): FoundDriver[] {
    const { lat, lng } = point;
    const withinChord = chordOfMeters(radiusMeters);
    const found = this.search.nearestFew({ tier, lat, lng, withinChord, oldestStamp, accepts }, count);
    return found.map(({ member, chordSquared }) => ({
      driverId: this.drivers.ids[member] as string,
      distanceMeters: metersOfChordSquared(chordSquared),
    }));
  }

  /** What else a free driver must be; undefined where an order asks for nothing, as nearly all do. */
  private filterOf(query: DriverQuery): ((slot: number) => boolean) | undefined {
    const { drivers } = this;
    const { exclude, nowMs } = query;
    const isExcluded = exclude?.size ? (slot: number) => exclude.has(drivers.ids[slot] as string) : undefined;
    if ((query.size ?? DEFAULT_SIZE) === DEFAULT_SIZE && drivers.goingHome === 0) {
      return isExcluded && ((slot) => !isExcluded(slot));
    }
    const load = { ...query, pickup: query.point };
    const { members } = drivers.index;
    return (slot) => {
      if (isExcluded?.(slot)) return false;
      const carrier = { vehicle: drivers.vehicleOf(slot), untilMs: drivers.until[slot] as number };
      return canDoFrom({ ...carrier, lat: members.lat(slot), lng: members.lng(slot) }, load, nowMs);
    };
  }
}
