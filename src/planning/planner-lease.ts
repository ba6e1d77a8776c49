import { type Lease, REGION } from '../domain/plan.ts';
import { below, LOSS_REPORT_MS } from '../limits.ts';
import type { Store } from '../store/store.ts';
import { atMostEvery, errorFields, type Logger } from '../telemetry.ts';

/** How long a process may plan without renewing its right to. */
export const PLANNER_LEASE_MS = 3_000;
/**
 * Time between two renewals, or attempts to get the right: one that is given back has its next holder within a
 * second. Below PLANNER_LEASE_MS.
 */
export const PLANNER_LEASE_RENEW_MS = 500;
/** By how much earlier than the database a process counts its right as over. Below PLANNER_LEASE_MS. */
export const PLANNER_LEASE_MARGIN_MS = 500;

below({ PLANNER_LEASE_RENEW_MS }, { PLANNER_LEASE_MS });
below({ PLANNER_LEASE_MARGIN_MS }, { PLANNER_LEASE_MS });

export type PlannerLease = ReturnType<typeof keepPlannerLease>;

/**
 * Takes the right to plan and keeps it. It counts from when a renewal was sent and by a clock that only goes
 * forward, so that this process gives up before the row is anyone else's, whatever happens to the reply. Who gave
 * up has another epoch when they plan again, so that nothing noted down before is taken for theirs.
 *
 * @param parts.nowMs a clock that only goes forward, in milliseconds
 * @param parts.changed told of a right that is new, or gone
 */
export function keepPlannerLease(parts: {
  readonly store: Pick<Store, 'takeLease' | 'leaveLease'>;
  readonly nowMs: () => number;
  readonly changed: (lease: Lease | null) => void;
  readonly logger: Logger;
}) {
  const { store, nowMs, changed, logger } = parts;
  const report = atMostEvery(LOSS_REPORT_MS, (error: unknown) =>
    logger.warn({ err: errorFields(error) }, 'the right to plan could not be asked for'),
  );
  let held: Lease | null = null;
  /** By the last answer: what is given back, also if it came too late to be used. */
  let answered: Lease | null = null;
  let untilMs = 0;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  let asking = Promise.resolve();

  function set(lease: Lease | null): void {
    if (lease?.epoch === held?.epoch) return;
    held = lease;
    try {
      changed(lease);
    } catch (error) {
      // Renewed, it would stand in every other process's way without ever beginning.
      held = null;
      throw error;
    }
  }

  async function ask(): Promise<void> {
    const sentMs = nowMs();
    const sent = held;
    try {
      const lease = await store.takeLease(REGION, PLANNER_LEASE_MS, sent?.epoch ?? null);
      untilMs = sentMs + PLANNER_LEASE_MS - PLANNER_LEASE_MARGIN_MS;
      answered = lease;
      // A right that was given up meanwhile is not renewed: the next one has an epoch of its own.
      const isGivenUp = held === null && lease !== null && lease.epoch === sent?.epoch;
      if (!isClosed) set(isGivenUp ? null : lease);
    } catch (error) {
      report(error);
      if (nowMs() >= untilMs) set(null);
    }
  }

  function next(): void {
    asking = ask().then(() => {
      if (!isClosed) timer = setTimeout(next, PLANNER_LEASE_RENEW_MS);
    });
  }
  next();

  return {
    /** The right to plan; null while another process has it, or while nobody knows. */
    current(): Lease | null {
      if (held && nowMs() >= untilMs) set(null);
      return held;
    },
    /** A command was refused: another process plans. */
    lost(lease: Lease) {
      if (held?.epoch === lease.epoch) set(null);
    },
    /** Gives the right back. */
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await asking;
      set(null);
      if (answered) await store.leaveLease(answered).catch(report);
    },
  };
}
