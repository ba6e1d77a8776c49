import type { FleetDriver } from '../../src/domain/driver.ts';
import type { TierId, Tiers } from '../../src/domain/tier.ts';
import type { Point } from '../../src/geo/point.ts';
import { MAX_TIERS } from '../../src/limits.ts';
import type { AssignOutcome } from '../../src/matcher/matcher.ts';
import { displaced } from '../geo/places.ts';
import { seeded } from '../harness/world.ts';
import type { MatcherFace } from './brute-force.ts';
import { carrying, orderOf, setDuty } from './carrying.ts';

export type WorldShape = {
  readonly seed: number;
  /** Drivers and orders stand around these, within `spreadMeters`. */
  readonly centres: readonly Point[];
  readonly spreadMeters: number;
  readonly drivers: number;
  readonly orders: number;
  /** Drivers serve some of these, and orders ask for one. */
  readonly tiers: Tiers;
  /** Whether the tier table changes on the way; it then has some of `tiers` at a time. */
  readonly tiersChange?: boolean;
};

/** A world in which anything happens to drivers and orders, the same for the matcher and its model. */
export class World {
  nowMs = 1_700_000_000_000;
  private readonly random: () => number;
  private readonly shape: WorldShape;
  private readonly allTierIds: readonly TierId[];
  private readonly places: Point[] = [];

  constructor(shape: WorldShape) {
    this.shape = shape;
    this.allTierIds = [...shape.tiers.keys()];
    this.random = seeded(shape.seed);
  }

  /** A place around one of the centres; one in six is exactly an earlier one. */
  place(): Point {
    if (this.places.length > 0 && this.random() < 1 / 6) return this.pick(this.places);
    const { spreadMeters } = this.shape;
    const offset = () => (this.random() + this.random() - 1) * spreadMeters;
    const place = displaced(this.pick(this.shape.centres), offset(), offset());
    this.places.push(place);
    return place;
  }

  /** The next event, as a function to call with the matcher and with its model. */
  next(): (subject: MatcherFace) => unknown {
    this.nowMs += this.chance(0.02) ? 60_000 : this.below(50);
    if (this.shape.tiersChange && this.chance(0.03)) return this.changeTiers();
    return this.chance(0.6) ? this.nextOfDrivers() : this.nextOfOrders();
  }

  /** Up to `MAX_TIERS` of the tiers, in any order. */
  changeTiers(): (subject: MatcherFace) => unknown {
    const { tiers } = this.shape;
    const rows = [...tiers].filter(() => this.chance(0.7)).sort(() => this.random() - 0.5);
    const table: Tiers = new Map(rows.slice(0, MAX_TIERS));
    return (subject) => subject.setTiers(table);
  }

  private nextOfDrivers(): (subject: MatcherFace) => unknown {
    const id = this.driverId();
    const orderId = this.orderId();
    const { nowMs } = this;
    const what = this.random();
    if (what < 0.14) return this.putDriver(id);
    if (what < 0.15) return this.putDrivers(Array.from({ length: this.below(40) }, () => this.driverId()));
    if (what < 0.18) return (subject) => subject.removeDriver(id);
    if (what < 0.25) {
      const onDuty = this.chance(0.75);
      return (subject) => setDuty(subject, id, onDuty, nowMs);
    }
    if (what < 0.65) return this.moveDriver(id);
    if (what < 0.7) return (subject) => subject.claim(id, orderId);
    if (what < 0.85) return (subject) => subject.release(id, nowMs, orderOf(subject.driver(id)) ?? orderId);
    if (what < 0.87) return (subject) => subject.release(id, nowMs, orderId);
    if (what < 0.9) return (subject) => subject.setAside(id, orderOf(subject.driver(id)) ?? orderId, nowMs);
    return this.claimNearest();
  }

  putDriver(id: string): (subject: MatcherFace) => unknown {
    const driver = this.driver(id);
    return (subject) => subject.putDriver(driver);
  }

  /** Some may be known already, and one may come twice. */
  putDrivers(ids: readonly string[]): (subject: MatcherFace) => unknown {
    const drivers = ids.map((id) => this.driver(id));
    return (subject) => subject.putDrivers(drivers);
  }

  private driver(id: string): FleetDriver {
    return {
      id,
      tierIds: this.tierIds(),
      onDuty: this.chance(0.85),
      position: this.chance(0.9)
        ? { ...this.place(), atMs: this.nowMs - this.below(this.chance(0.1) ? 200_000 : 20_000) }
        : null,
      freeSinceMs: this.nowMs - this.below(3) * 1000,
      carried: this.chance(0.1) ? [carrying(`carried-${id}`)] : [],
    };
  }

  private moveDriver(id: string): (subject: MatcherFace) => unknown {
    const atMs = this.nowMs - (this.chance(0.1) ? this.below(60_000) : 0);
    if (this.chance(0.3)) {
      const place = this.place();
      return (subject) => subject.moveDriver(id, place, atMs);
    }
    const step = Math.min(120, this.shape.spreadMeters / 10);
    const north = (this.random() - 0.5) * step;
    const east = (this.random() - 0.5) * step;
    return (subject) => {
      const position = subject.driver(id)?.position;
      return position && subject.moveDriver(id, displaced(position, north, east), atMs);
    };
  }

  private claimNearest(): (subject: MatcherFace) => unknown {
    const query = {
      orderId: `fresh-${this.below(1e9)}`,
      tierId: this.pick(this.allTierIds),
      point: this.place(),
      radiusMeters: this.pick([0, 100, 2_000, 30_000, 20_100_000]),
      nowMs: this.nowMs,
      exclude: this.chance(0.3) ? new Set(Array.from({ length: 10 }, () => this.driverId())) : undefined,
      ...(this.chance(0.5) ? { retailerId: this.storeId() } : {}),
    };
    const claims = this.chance(0.5);
    if (!claims) return (subject) => subject.nearest(query);
    return (subject) => [subject.claimNearest(query), subject.holderOf(query.orderId)];
  }

  private nextOfOrders(): (subject: MatcherFace) => unknown {
    const orderId = this.orderId();
    const id = this.driverId();
    const { nowMs } = this;
    const what = this.random();
    if (what < 0.28) return this.wait(orderId);
    if (what < 0.3) return this.hold();
    if (what < 0.35) return (subject) => subject.unwait(orderId);
    if (what < 0.6) return (subject) => subject.bestWaitingFor(id, nowMs);
    if (what < 0.7) return (subject) => subject.bestDriverFor(orderId, nowMs, new Set([id]));
    if (what < 0.75) return (subject) => subject.whyWaiting(orderId);
    if (what < 0.8) return (subject) => subject.beginAssign(orderId, id, nowMs);
    if (what < 0.9) {
      return (subject) => {
        const best = subject.bestWaitingFor(id, nowMs);
        return [best, best && subject.beginAssign(best.orderId, id, nowMs)];
      };
    }
    const outcome = this.pick<AssignOutcome>(['assigned', 'driver_lost', 'held', 'order_gone']);
    return (subject) => {
      const holding = orderOf(subject.driver(id));
      return subject.endAssign(holding ?? orderId, outcome, nowMs);
    };
  }

  wait(orderId: string): (subject: MatcherFace) => unknown {
    const waitedMs = this.chance(0.1) ? this.below(300) * 60_000 : this.below(40) * 15_000;
    const sinceMs = this.nowMs - waitedMs + (this.chance(0.1) ? 30_000 : 0);
    const order = {
      orderId,
      retailerId: this.storeId(),
      tierId: this.pick(this.allTierIds),
      point: this.place(),
      sinceMs,
      fairStartMs: this.chance(0.3) ? sinceMs + this.below(20) * 60_000 : undefined,
      excludedDriverIds: this.chance(0.2) ? new Set(Array.from({ length: 5 }, () => this.driverId())) : undefined,
    };
    const isCharged = this.chance(0.2);
    return (subject) => subject.wait({ ...order, isCharged });
  }

  /** A store is held, has so much credit, or is let go; the last one mostly, so that orders go on. */
  private hold(): (subject: MatcherFace) => unknown {
    const retailerId = this.storeId();
    if (this.chance(0.6)) return (subject) => subject.endHold(retailerId);
    const reason = this.pick([null, null, 'store_suspended', 'payment_required'] as const);
    const hold = { retailerId, reason, credit: reason === null ? 1 + this.below(4) : 0 };
    return (subject) => [subject.setHold(hold), subject.holdOf(retailerId)];
  }

  private storeId(): string {
    return `store-${this.below(3)}`;
  }

  driverId(): string {
    return `driver-${this.below(this.shape.drivers)}`;
  }

  orderId(): string {
    return `order-${this.below(this.shape.orders)}`;
  }

  private tierIds(): TierId[] {
    return this.allTierIds.filter(() => this.chance(0.6));
  }

  private chance(probability: number): boolean {
    return this.random() < probability;
  }

  private below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  private pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }
}
