import { isPoint } from '../geo/point.ts';
import { MAX_CLOCK_LEAD_MS } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';

export type PositionReport = {
  readonly lat: number;
  readonly lng: number;
  /** When the phone took it; absent means now. One from the future counts as now. */
  readonly capturedAtMs?: number;
};

export type ReportOutcome = 'taken' | 'older' | 'unknown_driver' | 'off_range';

type Position = { readonly driverId: string; readonly lat: number; readonly lng: number; readonly atMs: number };

/**
 * Takes a driver's position: into the matcher at once, behind into Postgres, over to the other processes and to the
 * page that watches him; and if orders wait, he may have come into the reach of one. Synchronous.
 */
export function createReportPosition(deps: {
  readonly matcher: Matcher;
  readonly now: () => number;
  readonly writeBehind: (position: Position) => void;
  readonly share: (position: Position) => void;
  readonly moved: (driverId: string, orderId: string | null, position: Position) => void;
  readonly driverAvailable: (driverId: string) => void;
}): { report(driverId: string, report: PositionReport): ReportOutcome; receive(position: Position): void } {
  function apply(position: Position): boolean {
    if (!deps.matcher.moveDriver(position.driverId, position, position.atMs)) return false;
    const orderId = deps.matcher.orderOf(position.driverId) ?? null;
    deps.moved(position.driverId, orderId, position);
    if (orderId === null && deps.matcher.waitingCount() > 0) deps.driverAvailable(position.driverId);
    return true;
  }

  return {
    report(driverId, { lat, lng, capturedAtMs }) {
      if (!isPoint(lat, lng)) return 'off_range';
      if (deps.matcher.orderOf(driverId) === undefined) return 'unknown_driver';
      const nowMs = deps.now();
      const atMs = capturedAtMs === undefined || capturedAtMs > nowMs + MAX_CLOCK_LEAD_MS ? nowMs : capturedAtMs;
      const position = { driverId, lat, lng, atMs: Math.min(atMs, nowMs) };
      if (!apply(position)) return 'older';
      deps.writeBehind(position);
      deps.share(position);
      return 'taken';
    },
    receive: apply,
  };
}
