import { until } from './later.ts';
import type { Process, World } from './world.ts';

/** An assignment, and who had the right to plan by the snapshot of its statement. */
export type Assignment = {
  readonly orderId: string;
  /** The process that made it; null where its notice is missing. */
  readonly by: string | null;
  readonly holder: string;
  readonly epoch: number;
  readonly isValid: boolean;
};
export type LeaseRow = { readonly holder: string; readonly epoch: number };

const LEASE_MS = 30_000;

/** Assignments by a process without the right to plan, in a world whose orders are all planned. */
export function wrongAssigners(assignments: readonly Assignment[]): string[] {
  return assignments.flatMap(({ orderId, by, holder, epoch, isValid }) => {
    if (by === holder && isValid) return [];
    const right = isValid ? `${holder} had the right to` : `the right of ${holder} was over`;
    return [`planner: process ${by} assigned order ${orderId} in epoch ${epoch}, though ${right}`];
  });
}

/**
 * Notes each assignment from now on with the process that made it. The notices of one commit come together, so
 * that the one of a trigger follows the one of the statement.
 */
export async function watchAssigners({ sql }: World): Promise<{ readonly assignments: readonly Assignment[] }> {
  // A stable function reads by the snapshot of the statement, as the statement's own check does.
  await sql`
    create function note_assigner() returns trigger language plpgsql stable as $$
    begin
      perform pg_notify('assigned', new.order_id || ' ' || holder || ' ' || epoch || ' ' || (expires_at > now()))
      from planner_leases;
      return null;
    end $$`;
  await sql`
    create trigger note_assigner after insert on order_events for each row
    when (new.type = 'driver_assigned') execute function note_assigner()`;
  const assignments: Assignment[] = [];
  let last = '';
  await sql.listen('sameday', (payload) => {
    last = payload;
  });
  await sql.listen('assigned', (payload) => {
    const [orderId = '', holder = '', epoch, isValid] = payload.split(' ');
    const [by = null, kind, ids = ''] = last.split(':');
    const isKnown = kind === 'order' && ids.split(',').includes(orderId);
    assignments.push({ orderId, by: isKnown ? by : null, holder, epoch: Number(epoch), isValid: isValid === 'true' });
  });
  return { assignments };
}

/** Who plans, once anybody does with an epoch above this one. */
export function untilPlanned({ sql }: World, aboveEpoch = 0): Promise<LeaseRow> {
  const look = async (): Promise<LeaseRow | undefined> => {
    const [row] = await sql<LeaseRow[]>`
      select holder, epoch from planner_leases where epoch > ${aboveEpoch} and expires_at > now()`;
    return row;
  };
  return until(`somebody plans with an epoch above ${aboveEpoch}`, look, LEASE_MS);
}

/** The process that has said that it plans in this epoch; its log level is `info`. */
export function plannerOf({ apis }: World, epoch: number): Promise<Process> {
  const said = `"epoch":${epoch},"msg":"this process plans"`;
  const look = () => apis.find((api) => api.output().includes(said));
  return until(`a process says that it plans in epoch ${epoch}`, look, LEASE_MS);
}
