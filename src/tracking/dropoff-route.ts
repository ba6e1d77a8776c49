import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { ChangeDropoff } from '../dispatch/change-dropoff.ts';
import { ServiceError } from '../domain/errors.ts';
import type { DropoffNotes } from '../domain/order.ts';
import { pastedLines } from '../domain/text.ts';
import type { TrackedOrder } from '../domain/tracked.ts';
import { parsed } from '../http/input.ts';
import type { JsonObject } from '../http/json.ts';
import { trimmedLines } from '../http/order-extras-input.ts';
import { asAvailable, asWritten } from '../http/outcomes.ts';
import { type Validated, valid, validate } from '../http/validate.ts';
import { validators } from '../http/validators.js';
import { json } from '../transport/reply.ts';
import { anyone, type Route } from '../transport/route.ts';
import { type Linked, linkedOrder } from './link.ts';
import type { TrackingStatus } from './messages.ts';
import { changeDropoffNotes } from './operations.ts';
import type { TrackingView } from './tracking-view.ts';
import { maySayNotes } from './view.ts';

/** Changes of the notes for one dropoff a minute, at each process; the customer fixes a slip or two. */
export const DROPOFF_CHANGES_PER_MINUTE = 6;
/** Largest body of such a change in bytes: MAX_INSTRUCTIONS_LENGTH with every character escaped has 6 KB. */
export const MAX_DROPOFF_BODY_BYTES = 8 * 1024;

/** Time in which the changes of a dropoff's notes are counted: DROPOFF_CHANGES_PER_MINUTE. */
const WINDOW_SECONDS = 60;

/**
 * `PUT /track/{token}/dropoff`: the customer's notes for the door, until the pickup. Sending the same again
 * changes nothing. Only orders whose notes were changed in the last minute take memory.
 *
 * @param parts.read begins after its call, as it shows what was just changed
 * @param parts.viewOf the page's view of an order
 */
export function dropoffRoute(parts: {
  readonly read: (token: string) => Promise<Linked>;
  readonly viewOf: (order: TrackedOrder) => TrackingView;
  readonly changeDropoff: ChangeDropoff;
}): Route<null> {
  const { read, viewOf, changeDropoff } = parts;
  // It only counts, since its refusal is no error.
  const changes = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: WINDOW_SECONDS });

  async function orderOf(token: string): Promise<TrackedOrder> {
    return linkedOrder(await asAvailable(read(token)));
  }

  /** @throws {ServiceError} `rate_limited` */
  async function count(orderId: string): Promise<void> {
    const { consumedPoints, msBeforeNext } = await changes.consume(orderId);
    if (consumedPoints <= DROPOFF_CHANGES_PER_MINUTE) return;
    const retryAfterSeconds = Math.ceil(msBeforeNext / 1_000);
    throw new ServiceError('rate_limited', 'The notes were changed too often. Try again in a minute.', {
      retryAfterSeconds,
    });
  }

  return {
    method: 'put',
    pattern: '/track/:token/dropoff',
    operation: changeDropoffNotes,
    authenticate: anyone,
    body: { contentTypes: ['application/json'], maxBytes: MAX_DROPOFF_BODY_BYTES },
    onDeadline: 'outcome_unknown',
    async handle({ head, body }) {
      const [token = ''] = head.params;
      const order = await orderOf(token);
      const notes = valid(validateNotes(parsed(body)));
      if (!maySayNotes(order)) throw TOO_LATE;
      if (isSame(order, notes)) return reply(viewOf(order));
      await count(order.orderId);
      const changing = changeDropoff(order.orderId, notes);
      if (!(await asWritten(changing, 'Send it again; that is safe.'))) throw TOO_LATE;
      // An error would say that nothing was changed.
      return reply(viewOf(await orderOf(token).catch(() => withNotes(order, notes))));
    },
  };
}

const TOO_LATE = new ServiceError('illegal_transition', 'The notes can’t be changed any more. Nothing was changed.');

const reply = (order: TrackingView) => json(200, { success: true, order } satisfies TrackingStatus);

function isSame(order: TrackedOrder, notes: DropoffNotes): boolean {
  return order.dropoffInstructions === notes.instructions && order.leaveAtDoor === notes.leaveAtDoor;
}

function withNotes(order: TrackedOrder, { instructions, leaveAtDoor }: DropoffNotes): TrackedOrder {
  return { ...order, dropoffInstructions: instructions, leaveAtDoor };
}

/** Null and an empty text are no instructions; both fields are named, since they replace what is there. */
export function validateNotes(body: JsonObject): Validated<DropoffNotes> {
  const { dropoff_instructions: written } = body;
  // A customer can see neither these marks nor what to do about them.
  const text = trimmedLines(typeof written === 'string' ? pastedLines(written) : written);
  const checked = validate(validators.changeDropoff, { ...body, dropoff_instructions: text === null ? '' : text });
  if ('fields' in checked) return checked;
  const { dropoff_instructions, leave_at_door } = checked.ok;
  return { ok: { instructions: dropoff_instructions || null, leaveAtDoor: leave_at_door } };
}
