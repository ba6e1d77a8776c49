import type { Stop } from '../domain/route.ts';

type PlannedStop = Pick<Stop, 'kind' | 'point' | 'orderIds'>;

/** When a stop was first expected to end, for which orders, and by how much later it ends by now. */
type FirstEstimate = { orders: string; endMs: number; slipMs: number };

/**
 * By how much later than first expected the drivers' next stops end by now. A driver who stands still seems to
 * be free in a few minutes however often it is asked; as they make no way, they are expected to take as much
 * longer again.
 */
export class OverdueStops {
  readonly #byDriver = new Map<string, Map<string, FirstEstimate>>();

  /**
   * Milliseconds by which the end of a driver's next stop has slid; 0 for a stop that is next for the first time.
   *
   * @param stops the driver's stops, the next one first
   * @param endMs when that one ends by the model, from where the driver is now
   */
  slipMs(driverId: string, stops: readonly PlannedStop[], endMs: number): number {
    const [next] = stops;
    if (!next) {
      this.#byDriver.delete(driverId);
      return 0;
    }
    const known = this.#of(driverId, stops);
    const orders = next.orderIds.join();
    const first = known.get(keyOf(next));
    if (!first) {
      known.set(keyOf(next), { orders, endMs, slipMs: 0 });
      return 0;
    }
    // A parcel that came to the stop may be ready later than the others, which is nobody's delay.
    if (first.orders !== orders) first.endMs = Math.max(first.endMs, endMs - first.slipMs);
    first.orders = orders;
    first.slipMs = Math.max(0, endMs - first.endMs);
    return first.slipMs;
  }

  /** Forgets the drivers who drive to no stop any more. */
  keepOnly(isDriving: (driverId: string) => boolean): void {
    for (const driverId of this.#byDriver.keys()) if (!isDriving(driverId)) this.#byDriver.delete(driverId);
  }

  /** What is known of the stops that a driver still makes; what was two stops ahead may be next, and back again. */
  #of(driverId: string, stops: readonly PlannedStop[]): Map<string, FirstEstimate> {
    const known = this.#byDriver.get(driverId) ?? new Map<string, FirstEstimate>();
    const keys = new Set(stops.map(keyOf));
    for (const key of known.keys()) if (!keys.has(key)) known.delete(key);
    this.#byDriver.set(driverId, known);
    return known;
  }
}

const keyOf = ({ kind, point }: PlannedStop) => `${kind} ${point?.lat} ${point?.lng}`;
