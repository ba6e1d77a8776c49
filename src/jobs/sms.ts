import type { OrderEvents } from '../dispatch/order-events.ts';
import {
  MAX_TEXT_PAUSE_SECONDS,
  TEXT_HELD_UP_MS,
  TEXT_LOOKBACK_MS,
  TEXT_LOOKUP_SECONDS,
  TEXT_USEFUL_SECONDS,
  VENDOR_PAUSE_MS,
} from '../limits.ts';
import type { ConcurrencyLimit } from '../postgres/batched-reads.ts';
import type { Clock } from '../postgres/clock.ts';
import type { JobHandler, JobResult } from '../queues/queues.ts';
import type { OwedText, TextBounds, TextResult } from '../store/messages.ts';
import type { Store } from '../store/store.ts';
import type { TextSender } from '../vendors/text-sender.ts';
import { inBatches } from './in-batches.ts';

declare module '../queues/queues.ts' {
  interface JobHandlers {
    readonly sms: ReturnType<typeof createSmsJob>;
  }
}

/** Why a text failed, but for the codes of Twilio. */
export type TextFailure =
  | 'order_ended'
  | 'country_not_allowed'
  | 'phone_limit'
  | 'store_limit'
  | 'too_late'
  | 'outcome_unknown';

/**
 * Texts the tracking link once. Sending at Twilio is not idempotent, so a send is counted before it is made.
 * After a send of unknown outcome the message is looked up twice, and sent again only if it is not found: as
 * often as that happens while the text is useful, after pauses that grow (`lastLookUp`). Nothing is sent for
 * an order that is cancelled or has expired, to a country that is not allowed, or beyond the bounds of a day.
 */
export function createSmsJob(deps: {
  readonly store: Pick<Store, 'openTexts' | 'countSends' | 'uncountSend' | 'recordTexts' | 'finishJobs'>;
  /** Bounds the statements in flight that lock orders. */
  readonly orderLocks: ConcurrencyLimit;
  readonly texts: Pick<TextSender, 'send' | 'find'>;
  readonly trackingUrl: string;
  /** Whether texts go to the country of a phone. */
  readonly mayText: (phone: string) => boolean;
  readonly bounds: TextBounds;
  readonly events: Pick<OrderEvents, 'detailsChanged'>;
  readonly clock: Clock;
}): JobHandler {
  const { store, texts, clock } = deps;
  const open = inBatches(
    (orderIds: readonly string[]) => store.openTexts(orderIds, deps.bounds),
    (orderId) => orderId,
  );
  const countSend = inBatches(store.countSends, ({ orderId }) => orderId);
  const record = inBatches(store.recordTexts, ({ orderId }) => orderId, deps.orderLocks);
  const finish = inBatches(store.finishJobs, String);

  return async function smsJob({ orderId, outboxId }) {
    const text = await open(orderId);
    if (!text) {
      await finish(outboxId);
      return { kind: 'done' };
    }
    const result = text.earlierSends > 0 ? await lookUp(text) : await send(text);
    if ('kind' in result) return result;
    if (await record({ orderId, result, outboxId })) deps.events.detailsChanged(orderId);
    return { kind: 'done' };
  };

  async function lookUp(text: OwedText): Promise<TextResult | JobResult> {
    const { secondsSinceSend } = text;
    if (secondsSinceSend < FIRST_LOOKUP) return waitFor(FIRST_LOOKUP - secondsSinceSend);
    const sinceMs = text.firstSentAt.getTime() - TEXT_LOOKBACK_MS;
    const found = await texts.find({ to: text.to, ending: linkEnding(text), sinceMs });
    if (found.kind === 'found') return { status: 'sent', sid: found.sid };
    if (found.kind === 'retry_later') return later(found, 'lookup_failed');
    const last = lastLookUp(text.earlierSends);
    return secondsSinceSend < last ? waitFor(last - secondsSinceSend) : send(text);
  }

  async function send(text: OwedText): Promise<TextResult | JobResult> {
    const failureCode = whyNot(text);
    if (failureCode) return { status: 'failed', failureCode };
    const countingMs = clock.now();
    if (!(await countSend(text))) return { kind: 'retry', reason: 'sent_by_another' };
    if (clock.now() - countingMs > TEXT_HELD_UP_MS) {
      // The process was suspended: another worker may be looking this send up already, and must not miss it.
      await store.uncountSend(text);
      return { kind: 'retry', reason: 'held_up' };
    }
    const outcome = await texts.send({ to: text.to, body: textBody(text, deps.trackingUrl) });
    if (outcome.kind === 'sent') return { status: 'sent', sid: outcome.sid };
    if (outcome.kind === 'refused') return { status: 'failed', failureCode: outcome.code };
    if (outcome.ambiguous) return waitFor(FIRST_LOOKUP);
    await store.uncountSend(text);
    return later(outcome, 'not_sent');
  }

  /** Why a text is not sent, or not sent again. */
  function whyNot(text: OwedText): TextFailure | null {
    if (text.orderEnded) return 'order_ended';
    if (!deps.mayText(text.to)) return 'country_not_allowed';
    if (text.overBound) return text.overBound;
    const isUseful = clock.now() - text.orderedAt.getTime() <= TEXT_USEFUL_SECONDS * 1000;
    if (isUseful) return null;
    return text.earlierSends > 0 ? 'outcome_unknown' : 'too_late';
  }
}

const [FIRST_LOOKUP, LAST_LOOKUP] = TEXT_LOOKUP_SECONDS;

/**
 * Time after the last of `sends` sends of unknown outcome, in seconds, at which the text is looked up for the
 * last time before it is sent again. It doubles with each send, so that a vendor who is ill is not flooded.
 */
function lastLookUp(sends: number): number {
  return Math.min(LAST_LOOKUP * 2 ** (sends - 1), MAX_TEXT_PAUSE_SECONDS);
}

const waitFor = (seconds: number): JobResult => ({ kind: 'wait', forMs: Math.ceil(seconds * 1_000) });

const later = ({ rateLimited }: { readonly rateLimited: boolean }, reason: string): JobResult =>
  rateLimited ? { kind: 'rate_limited', forMs: VENDOR_PAUSE_MS } : { kind: 'retry', reason };

/** The store's name is cut so that the text fits two segments. */
function textBody(text: OwedText, trackingUrl: string): string {
  const characters = [...text.storeName];
  const store = characters.length > 40 ? `${characters.slice(0, 39).join('')}…` : text.storeName;
  return `${store}: your delivery is confirmed. Follow it here: ${trackingUrl}${linkEnding(text)}`;
}

/**
 * The end of this order's text and no other's, whatever the store's name and this service's URL are by now.
 */
const linkEnding = ({ trackingToken }: OwedText): string => `/track/${trackingToken}`;
