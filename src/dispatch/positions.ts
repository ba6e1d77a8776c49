import type { DriverPosition } from '../domain/driver.ts';
import { distanceMeters, isPoint, type Point } from '../geo/point.ts';
import { DRIVER_SILENT_MS, MAX_CLOCK_LEAD_MS, ROUGH_POSITION_METERS } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Clock } from '../postgres/clock.ts';
import type { OrderEvents } from './order-events.ts';
import type { Redispatch } from './redispatch.ts';
import type { PositionWriter } from './write-behind.ts';

export type PositionReport = {
  readonly lat: number;
  readonly lng: number;
  /** Time of the position by the phone's clock; by default now. A time in the future counts as now. */
  readonly capturedAtMs?: number | undefined;
  /** By how much the phone says that it may be off; by default it counts as exact. */
  readonly accuracyMeters?: number | undefined;
};

/** `older`: a later position is known. `off_range`: not a point on the globe. */
export type ReportOutcome = 'taken' | 'older' | 'unknown_driver' | 'off_range';

export type Positions = ReturnType<typeof createPositions>;

/**
 * Puts drivers' positions into the matcher at once and into Postgres later, and tells subscribers. A driver
 * without an order may have moved into reach of a waiting one. Synchronous.
 */
export function createPositions(deps: {
  readonly matcher: Matcher;
  readonly writer: Pick<PositionWriter, 'put'>;
  readonly redispatch: Pick<Redispatch, 'driverAvailable'>;
  readonly events: Pick<OrderEvents, 'driverMoved' | 'positionReported'>;
  readonly clock: Clock;
}) {
  const { matcher, events } = deps;

  function apply(position: DriverPosition): boolean {
    const { driverId } = position;
    if (!matcher.moveDriver(driverId, position, position.atMs, deps.clock.now())) return false;
    const carried = matcher.carriedBy(driverId);
    if (carried.length === 0) events.driverMoved(position, null);
    for (const { orderId } of carried) events.driverMoved(position, orderId);
    const mayTakeMore = carried.length === 0 || matcher.hasRoomBeside(driverId);
    if (mayTakeMore && matcher.waitingCount() > 0) deps.redispatch.driverAvailable(driverId);
    return true;
  }

  /**
   * Where the driver is by a report. One that is rough tells nothing of a driver who was last known to be within it,
   * a moment ago: without this they would seem to jump by kilometers.
   */
  function placeOf(driverId: string, { lat, lng, accuracyMeters = 0 }: PositionReport, nowMs: number): Point {
    const last = matcher.driver(driverId)?.position;
    if (accuracyMeters <= ROUGH_POSITION_METERS || !last || nowMs - last.atMs > DRIVER_SILENT_MS) return { lat, lng };
    return distanceMeters(last, { lat, lng }) <= accuracyMeters ? { lat: last.lat, lng: last.lng } : { lat, lng };
  }

  return {
    /** Takes a position from a driver's phone. */
    report(driverId: string, report: PositionReport): ReportOutcome {
      const { lat, lng, capturedAtMs } = report;
      if (!isPoint(lat, lng)) return 'off_range';
      const nowMs = deps.clock.now();
      const atMs = capturedAtMs === undefined || capturedAtMs > nowMs + MAX_CLOCK_LEAD_MS ? nowMs : capturedAtMs;
      const position = { driverId, ...placeOf(driverId, report, nowMs), atMs: Math.min(atMs, nowMs) };
      if (!apply(position)) return matcher.driver(driverId) ? 'older' : 'unknown_driver';
      deps.writer.put(position);
      events.positionReported(position);
      return 'taken';
    },
    /** The driver's last position; null for an unknown driver or one who never reported any. */
    last: (driverId: string): Point | null => matcher.driver(driverId)?.position ?? null,
    /** Whether a driver's position is needed: on duty, or with an order. Null for an unknown driver. */
    wants(driverId: string): boolean | null {
      const driver = matcher.driver(driverId);
      return driver ? driver.onDuty || matcher.carriedBy(driverId).length > 0 : null;
    },
    /** Takes a position that another process received. */
    receive: (position: DriverPosition): void => void apply(position),
  };
}
