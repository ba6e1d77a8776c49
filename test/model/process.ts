import type { Dispatch } from '../../src/app/dispatch.ts';
import { createLocateJob } from '../../src/dispatch/locate-job.ts';
import type { DriverPosition } from '../../src/domain/driver.ts';
import type { Point } from '../../src/geo/point.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import type { Database } from '../../src/runtime/database.ts';
import type { Store } from '../../src/store/store.ts';
import { loadZips, ZIPS_FILE } from '../../src/vendors/zips.ts';
import { startDispatch } from '../harness/dispatch-here.ts';
import type { Plant } from './day.ts';
import type { VirtualTime } from './virtual-time.ts';
import { NoticeLine } from './wires.ts';

/** Shared, as it is 600 kB that nobody changes. */
let zips: ReturnType<typeof loadZips> | undefined;

export type ModelProcess = {
  readonly number: number;
  readonly id: string;
  readonly matcher: Matcher;
  readonly dispatch: Dispatch;
  readonly line: NoticeLine;
  /** Does the job that finds a door. */
  locate(orderId: string, door: Point): Promise<unknown>;
};

export type ProcessParts = {
  readonly number: number;
  readonly time: VirtualTime;
  readonly store: Store;
  /** Whether idle drivers are asked to wait where orders are expected. */
  readonly asksIdle: boolean;
  /** Told of each position that a phone reported here. */
  readonly shared: (position: DriverPosition) => void;
  /** Changes the parts of a process before they are used, to plant a bug. */
  readonly plant?: Pick<Plant, 'matcher' | 'dispatch'> | undefined;
};

export const processIdOf = (number: number): string => `process-${number}`;

/**
 * The dispatch of one API process, with its planner, its change feed, its sweep and the job that finds doors:
 * everything but HTTP and the queues. It begins as a real one does, by reading everything.
 */
export async function startProcess(parts: ProcessParts): Promise<ModelProcess> {
  const { number, time, store } = parts;
  const id = processIdOf(number);
  const line = new NoticeLine(time);
  const matcher = new Matcher(await store.loadTiers(), true);
  parts.plant?.matcher?.(matcher);
  const started = await startDispatch({
    store,
    matcher,
    sql: { listen: line.listen } as unknown as Database['sql'],
    processId: id,
    clock: { now: () => time.nowMs },
    idleDriversWait: parts.asksIdle,
    change: parts.plant?.dispatch,
  });
  const { dispatch } = started;
  const { events } = started.parts;
  events.subscribe({ positionReported: parts.shared });
  zips ??= loadZips(ZIPS_FILE);
  const table = zips;
  return {
    number,
    id,
    matcher,
    dispatch,
    line,
    async locate(orderId, point) {
      const geocoder = { geocode: async () => ({ kind: 'found' as const, point, accuracyMeters: 10 }) };
      const job = createLocateJob({ store, events, places: { geocoder, zips: table }, random: () => 0 });
      await job({ orderId, outboxId: 0 });
    },
  };
}
