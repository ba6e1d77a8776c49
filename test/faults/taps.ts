import type { OrderStatus } from '../../src/domain/order.ts';
import type { EventRow } from './checker.ts';
import { groupBy } from './group-by.ts';

/** The actions of a driver's phone on an order, and the status each leads to. */
export const LEADS_TO = {
  'pick-up': 'picked_up',
  deliver: 'delivered',
  release: 'pending_dispatch',
  undeliverable: 'undeliverable',
  return: 'returned',
} as const satisfies Record<string, OrderStatus>;
export type TapKind = keyof typeof LEADS_TO;

/** A tap as it was sent, and its answer. */
export type Tap = {
  readonly orderId: string;
  readonly driverId: string;
  readonly kind: TapKind;
  readonly actionId: string;
  readonly sentMs: number;
  readonly heardMs: number;
  readonly status: number;
  /** Of a 200: the new status and the order's sequence. */
  readonly done: { readonly status: string; readonly sequence: number } | null;
  /** Of a refusal: the order's status as the answer states it. */
  readonly told: string | null;
};

/** An action that the service stored, by the phone's id. */
export type KeptAction = { readonly driverId: string; readonly actionId: string };

const EVENT_OF: Record<TapKind, string> = {
  'pick-up': 'picked_up',
  deliver: 'delivered',
  release: 'released',
  undeliverable: 'undeliverable',
  return: 'returned',
};
const LEGAL: ReadonlySet<number> = new Set([200, 404, 409]);
const nameOf = (tap: Tap): string => `${tap.kind} of ${tap.orderId} by ${tap.driverId}`;

/**
 * Contradictions between the phones' answers, the orders' events and the stored actions: an answer that is
 * not legal, an action with two answers, one that was answered and did not happen, one that was refused and
 * did.
 */
export function judgeTaps(taps: readonly Tap[], events: readonly EventRow[], kept: readonly KeptAction[]): string[] {
  const typeOf = new Map(events.map(({ orderId, sequence, type }) => [`${orderId} ${sequence}`, type]));
  const keptIds = new Set(kept.map(({ driverId, actionId }) => `${driverId} ${actionId}`));
  const same = groupBy(taps, (tap) => `${nameOf(tap)} ${tap.actionId}`);
  return [
    ...taps.flatMap((tap) => {
      if (!LEGAL.has(tap.status)) return [`tap: ${nameOf(tap)} was answered with ${tap.status}`];
      if (!tap.done) return [];
      if (tap.done.status !== LEADS_TO[tap.kind]) return [`tap: ${nameOf(tap)} was answered with ${tap.done.status}`];
      const event = typeOf.get(`${tap.orderId} ${tap.done.sequence}`);
      return event === EVENT_OF[tap.kind]
        ? []
        : [`tap: ${nameOf(tap)} is done, and its event is ${event ?? 'missing'}`];
    }),
    ...[...same.values()].flatMap(judgeOne),
    ...[...same.values()].flatMap(([tap, ...more]) => {
      if (!tap) return [];
      const isDone = [tap, ...more].some(({ done }) => done);
      const isKept = keptIds.has(`${tap.driverId} ${tap.actionId}`);
      return isDone === isKept ? [] : [`tap: ${nameOf(tap)} is ${isDone ? 'done and not kept' : 'refused and kept'}`];
    }),
  ];
}

/** The same action sent any number of times: once it is done, every answer says so and says the same. */
function judgeOne(same: readonly Tap[]): string[] {
  const done = same.filter((tap) => tap.done);
  const [first] = done;
  if (!first) return [];
  const heardMs = Math.min(...done.map((tap) => tap.heardMs));
  const answers = new Set(done.map((tap) => JSON.stringify(tap.done)));
  // A refused action was checked before it was done, unless it came later or names a status that only the
  // action led to.
  const wrong = same.filter((tap) => !tap.done && (tap.sentMs > heardMs || tap.told === LEADS_TO[tap.kind]));
  return [
    ...(answers.size > 1 ? [`tap: ${nameOf(first)} has ${answers.size} answers`] : []),
    ...wrong.map((tap) => `tap: ${nameOf(tap)} is done, and was answered with ${tap.status}, ${tap.told}`),
  ];
}
