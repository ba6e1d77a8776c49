import type { OrderEvents } from '../dispatch/order-events.ts';
import { linkEnding, type TextKind, textBody } from '../domain/customer-text.ts';
import { atMost, below, ON_THE_WAY_USEFUL_SECONDS, TEXT_USEFUL_SECONDS, VENDOR_SOCKETS } from '../limits.ts';
import type { Clock } from '../postgres/clock.ts';
import type { JobData, JobHandler, JobResult } from '../queues/job-handler.ts';
import { triedLater } from '../queues/job-limits.ts';
import type { OwedText, TextResult } from '../store/texts/messages.ts';
import type { TextSender } from './text-sender.ts';

/**
 * Texts that one worker process sends at once. At most VENDOR_SOCKETS, the connections to Twilio. As a full statement
 * waits for nothing, fewer than two of MAX_JOBS_PER_STATEMENT wait besides: half of them are there, so at 20 ms each
 * they are 6,000 a second.
 */
export const SMS_CONCURRENCY = 256;
/**
 * Longest time from a send of unknown outcome to the next one, in seconds. Each such send doubles the time,
 * from the last of TEXT_LOOKUP_SECONDS on. Below ON_THE_WAY_USEFUL_SECONDS, so that a text is tried again while it
 * is of use.
 */
export const MAX_TEXT_PAUSE_SECONDS = 15 * 60;
/** Longest time from counting a send to making it. At most the first look-up, which may have begun. */
export const TEXT_HELD_UP_MS = 10_000;
/** Time before its first send from which a text is looked up, as Twilio's clock may differ. */
const TEXT_LOOKBACK_MS = 60 * 60_000;
/**
 * Times after a first send of unknown outcome at which the text is looked up, in seconds. Twilio may accept a
 * send that late. The last one is above TEXT_HELD_UP_MS and TWILIO_TIMEOUT_MS together: no send is under way
 * any more.
 */
export const TEXT_LOOKUP_SECONDS = [10, 60] as const;

atMost({ SMS_CONCURRENCY }, { VENDOR_SOCKETS });
below({ MAX_TEXT_PAUSE_SECONDS }, { ON_THE_WAY_USEFUL_SECONDS });
atMost({ TEXT_HELD_UP_MS }, { 'TEXT_LOOKUP_SECONDS[0] in ms': TEXT_LOOKUP_SECONDS[0] * 1_000 });

/** Why a text failed, but for the codes of Twilio. */
export type TextFailure =
  | 'order_ended'
  | 'opted_out'
  | 'country_not_allowed'
  | 'phone_limit'
  | 'store_limit'
  | 'too_late'
  | 'outcome_unknown';

/** What every kind of text is sent with. */
export type TextingDeps = {
  readonly texts: Pick<TextSender, 'send' | 'find' | 'from'>;
  readonly trackingUrl: string;
  /** The address at which the provider tells what became of a text; left out where it reaches none. */
  readonly statusUrlOf?: ((orderId: string, kind: TextKind) => string) | undefined;
  /** Whether texts go to the country of a phone. */
  readonly mayText: (phone: string) => boolean;
  readonly events: Pick<OrderEvents, 'detailsChanged'>;
  readonly clock: Clock;
};

/** The rows of a kind of text, for one text each. */
export type TextRows = {
  /** The text of a job; null where its result is recorded, and where the order owes none. */
  open(job: JobData): Promise<OwedText | null>;
  /** Counts a send before it is made, where it is not counted yet; falsy where another worker has counted it. */
  countSend(text: OwedText): Promise<unknown>;
  uncountSend(text: OwedText): Promise<void>;
  /** Records the result; falsy where one was recorded before. */
  record(text: OwedText, result: TextResult, outboxId: number): Promise<unknown>;
  finish(job: JobData): Promise<unknown>;
};

/**
 * Sends each text once. Sending at Twilio is not idempotent, so a send is counted before it is made. After a
 * send of unknown outcome the message is looked up twice, and sent again only if it is not found: as often as
 * that happens while the text is useful, after pauses that grow (`lastLookUp`). Nothing is sent to a phone
 * that opted out, for an order that is cancelled or has expired, to a country that is not allowed, or beyond
 * the bounds of a day.
 */
export function createTexting(deps: TextingDeps, rows: TextRows): JobHandler {
  const { texts, clock } = deps;

  async function lookUp(text: OwedText, job: JobData): Promise<TextResult | JobResult> {
    const { secondsSinceSend } = text;
    if (secondsSinceSend < FIRST_LOOKUP) return waitFor(FIRST_LOOKUP - secondsSinceSend);
    const sinceMs = text.firstSentAt.getTime() - TEXT_LOOKBACK_MS;
    const found = await texts.find({ to: text.to, ending: linkEnding(text.kind, text.trackingToken), sinceMs });
    if (found.kind === 'found') return { status: 'sent', sid: found.sid };
    if (found.kind === 'retry_later') return triedLater(found);
    const last = lastLookUp(text.earlierSends);
    if (secondsSinceSend < last) return waitFor(last - secondsSinceSend);
    // While Twilio was asked the phone may have opted out, and the order may have ended.
    const askedMs = clock.now();
    const again = await rows.open(job);
    if (again?.earlierSends !== text.earlierSends) return { kind: 'retry', reason: 'changed_meanwhile' };
    return send(again, askedMs);
  }

  /** @param askedMs when the statement was sent that opened the text */
  async function send(text: OwedText, askedMs: number): Promise<TextResult | JobResult> {
    const failureCode = whyNot(text, deps.mayText, clock.now());
    if (failureCode) return { status: 'failed', failureCode };
    const countingMs = text.isCounted ? askedMs : clock.now();
    if (!text.isCounted && !(await rows.countSend(text))) return { kind: 'retry', reason: 'sent_by_another' };
    if (clock.now() - countingMs > TEXT_HELD_UP_MS) {
      // The process was suspended: another worker may be looking this send up already, and must not miss it.
      await rows.uncountSend(text);
      return { kind: 'retry', reason: 'held_up' };
    }
    const statusUrl = deps.statusUrlOf?.(text.orderId, text.kind);
    const usefulSeconds = (usefulUntilMs(text) - clock.now()) / 1_000;
    const body = textBody(text, deps.trackingUrl);
    const outcome = await texts.send({ to: text.to, body, usefulSeconds, statusUrl });
    if (outcome.kind === 'sent') return { status: 'sent', sid: outcome.sid };
    if (outcome.kind === 'refused') {
      // Twilio names the phone, which stays with the customer.
      return { status: 'failed', failureCode: outcome.code, says: outcome.says?.replaceAll(text.to, 'the phone') };
    }
    if (outcome.ambiguous) return waitFor(FIRST_LOOKUP);
    await rows.uncountSend(text);
    return triedLater(outcome);
  }

  return async (job) => {
    const { orderId, outboxId } = job;
    const askedMs = clock.now();
    const text = await rows.open(job);
    if (!text) {
      await rows.finish(job);
      return { kind: 'done' };
    }
    if (text.secondsSinceSend < 0) return waitFor(Math.min(-text.secondsSinceSend, MAX_TEXT_PAUSE_SECONDS));
    const result = text.earlierSends > 0 ? await lookUp(text, job) : await send(text, askedMs);
    if ('kind' in result) return result;
    if (await rows.record(text, result, outboxId)) deps.events.detailsChanged(orderId);
    return { kind: 'done' };
  };
}

/** Why a text is not sent, or not sent again. */
function whyNot(text: OwedText, mayText: (phone: string) => boolean, nowMs: number): TextFailure | null {
  if (text.orderEnded) return 'order_ended';
  if (text.optedOut) return 'opted_out';
  if (!mayText(text.to)) return 'country_not_allowed';
  if (text.overBound) return text.overBound;
  if (nowMs <= usefulUntilMs(text) && !text.isPast) return null;
  return text.earlierSends > 0 ? 'outcome_unknown' : 'too_late';
}

function usefulUntilMs({ kind, happenedAt }: OwedText): number {
  const usefulSeconds = kind === 'on_the_way' ? ON_THE_WAY_USEFUL_SECONDS : TEXT_USEFUL_SECONDS;
  return happenedAt.getTime() + usefulSeconds * 1_000;
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
