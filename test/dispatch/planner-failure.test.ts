import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type PlannedOrder, REGION } from '../../src/domain/plan.ts';
import { PLANNER_LOOK_MS } from '../../src/limits.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { Planner } from '../../src/planner/planner.ts';
import { startPlannerLoop } from '../../src/planning/planner-loop.ts';
import { MODEL_TIMES } from '../../src/planning/road-times.ts';
import { createLogger } from '../../src/telemetry.ts';
import { TIERS } from '../matcher/brute-force.ts';
import { freeDriver } from '../matcher/carrying.ts';

const NOW = Date.parse('2030-01-31T17:00:00Z');
const HOUR = 3_600_000;
const STORE = { lat: 40.73, lng: -73.99 };
const PLANNED = new Map([...TIERS].map(([id, tier]) => [id, { ...tier, dispatchMode: 'planned' as const }]));

beforeEach(() => void vi.useFakeTimers({ now: NOW, toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] }));
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test.each(['estimate', 'due', 'putOrder'] as const)(
  'a bug in %s costs the plan alone, which is made anew',
  async (name) => {
    const matcher = new Matcher(PLANNED, true);
    matcher.putDriver(freeDriver('d', STORE, NOW + 2 * HOUR));
    const written: PlannedOrder[] = [];
    const told: string[] = [];
    const unhandled: unknown[] = [];
    const hear = (error: unknown) => void unhandled.push(error);
    process.on('unhandledRejection', hear);
    vi.spyOn(Planner.prototype, name).mockImplementationOnce(() => {
      throw new Error('a bug');
    });
    const loop = startPlannerLoop({
      store: {
        takeLease: async () => ({ region: REGION, epoch: 1 }),
        leaveLease: async () => undefined,
        writePlans: async (_lease, planned) => {
          written.push(...planned);
          return true;
        },
      },
      matcher,
      roadTimes: MODEL_TIMES,
      askIdle: () => undefined,
      redispatch: { assignPlanned: (orderId) => void told.push(orderId) },
      clock: { now: () => Date.now() },
      logger: createLogger('silent'),
    });
    matcher.wait({
      orderId: 'later',
      retailerId: 'store',
      tierId: 'standard',
      point: STORE,
      dropoff: STORE,
      sinceMs: NOW,
      readyAtMs: NOW + HOUR,
      deliverByMs: NOW + 3 * HOUR,
    });
    await vi.advanceTimersByTimeAsync(5 * PLANNER_LOOK_MS);
    expect(written.map(({ orderId }) => orderId)).toEqual(['later']);
    await vi.advanceTimersByTimeAsync(HOUR);
    expect(told[0]).toBe('later');
    await loop.close();
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', hear);
    expect(unhandled).toEqual([]);
  },
);
