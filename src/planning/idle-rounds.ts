import type { Lease } from '../domain/plan.ts';
import type { Clock } from '../postgres/clock.ts';
import { atMostEvery, errorFields, type Logger } from '../telemetry.ts';
import type { IdleDrivers } from './idle-drivers.ts';
import type { PlannerView } from './planner-view.ts';

/** Time between two rounds of asking idle drivers where to wait. */
const IDLE_ROUND_MS = 30_000;

/**
 * Has idle drivers asked where to wait, each IDLE_ROUND_MS. A round that fails is made up for by the next.
 */
export function createIdleRounds(parts: {
  readonly idleDrivers: IdleDrivers;
  readonly clock: Clock;
  readonly logger: Logger;
}): (view: PlannerView, lease: Lease) => void {
  const { idleDrivers, clock, logger } = parts;

  async function round(view: PlannerView, lease: Lease): Promise<void> {
    const expected = await idleDrivers.expected();
    view.expect(expected, clock.now());
    await idleDrivers.ask(expected.length === 0 ? [] : view.planner.waits(clock.now()), lease);
  }

  return atMostEvery(IDLE_ROUND_MS, (view: PlannerView, lease: Lease) => {
    round(view, lease).catch((error) => logger.warn({ err: errorFields(error) }, 'idle drivers could not be asked'));
  });
}
