import { DRIVER_SILENT_MS } from '../../limits.ts';
import type { DriverText } from '../../words/driver-en.ts';
import type { Speak } from '../../words/words.ts';
import type { Action, ActionKind, Day, DriverOrder, Refusal, Shown, WaitPlace } from './state.ts';

/** The words of the page beside those of a stop, as pure functions. */

export type Say = Speak<DriverText>;

/** The figures in the texts of the page's markup. */
export const MARKUP_VALUES = { minutes: DRIVER_SILENT_MS / 60_000 };

const METERS_PER_MILE = 1_609.344;
const FEET_PER_METER = 3.280_84;

export function money(cents: number): string {
  return `$${(cents / 100).toFixed(2)}`;
}

/** A distance for a driver: feet below a tenth of a mile. */
export function distanceWords(say: Say, meters: number): string {
  const miles = meters / METERS_PER_MILE;
  if (miles < 0.1) return say('feet', { distance: Math.max(50, Math.round((meters * FEET_PER_METER) / 50) * 50) });
  return say('miles', { distance: miles < 10 ? miles.toFixed(1) : Math.round(miles) });
}

/** A time of day, with the day where that is not today; null for what is no time. */
export function clock(say: Say, iso: string | null | undefined): string | null {
  const time = new Date(iso ?? '');
  if (Number.isNaN(time.getTime())) return null;
  const isToday = time.toDateString() === new Date().toDateString();
  const day = isToday ? {} : ({ weekday: 'short' } as const);
  const format = new Intl.DateTimeFormat(say('locale'), { ...day, hour: 'numeric', minute: '2-digit' });
  // No line ends between "3:24" and "PM".
  return format.format(time).replace(/(\d) /, '$1\u00a0');
}

/** That the phone's clock is wrong by minutes; null where it is not. */
export function clockWords(say: Say, aheadMs: number): string | null {
  const minutes = Math.round(Math.abs(aheadMs) / 60_000);
  return minutes === 0 ? null : say(aheadMs > 0 ? 'clockSlow' : 'clockFast', { count: minutes });
}

/** A short name of an order for people: the end of its id. */
export function shortName(orderId: string): string {
  return `#${orderId.slice(-6)}`;
}

/** The confirmation that an order ended on this phone. */
export function finishedWords(say: Say, { kind, orderId }: Pick<Action, 'kind' | 'orderId'>): string {
  return `${did(say, kind)} · ${shortName(orderId)}`;
}

function did(say: Say, kind: ActionKind): string {
  return say(`did_${kind}`);
}

export type Idle = {
  readonly ended: Shown['ended'];
  /** Whether that action takes longer than usual to send. */
  readonly late: boolean;
  readonly onDuty: boolean;
  /** Whether the page may see the phone's position. */
  readonly located: boolean;
  /** Whether the page cannot ring before it is touched. */
  readonly isMute: boolean;
  readonly waitAt: WaitPlace | null;
};

export type IdleWords = {
  readonly headline: string;
  readonly detail: string;
  /** Where to wait, if the words say so. */
  readonly waitAt: WaitPlace | null;
};

/** The words while there is no order. */
export function idleWords(say: Say, { ended, late, onDuty, located, isMute, waitAt }: Idle): IdleWords {
  const words = (headline: string, detail: DriverText) => ({ headline, detail: say(detail), waitAt: null });
  if (ended) return words(did(say, ended.kind), late ? 'idleUnsent' : 'idleSending');
  if (!onDuty) return words(say('idleOff'), 'idleOffDetail');
  if (!located) return words(say('idleUnreachable'), 'idleUnreachableDetail');
  if (!waitAt) return words(say('idleWaiting'), isMute ? 'idleWaitingMute' : 'idleWaitingDetail');
  const near = say('idleWaitNear', { place: waitPlaceWords(say, waitAt) });
  return { ...words(near, isMute ? 'idleWaitingMute' : 'idleWaitNearDetail'), waitAt };
}

/** What the place is called where a driver is asked to wait. */
export function waitPlaceWords(say: Say, { name }: WaitPlace): string {
  return name ?? say('waitStore');
}

/** What the driver did and earned today; null where that is not known. */
export function dayWords(say: Say, day: Day | null): string | null {
  if (!day) return null;
  const today = say('today', { count: day.deliveries, earned: money(day.earnings_cents) });
  return day.held_cents > 0 ? `${today}. ${say('todayHeld', { held: money(day.held_cents) })}` : today;
}

/** The driver's duty: one who carries something and takes no new order is not quite off duty. */
export function dutyWords(say: Say, onDuty: boolean, until: string | null, carries: boolean): string {
  const time = onDuty ? clock(say, until) : null;
  if (time) return say('onDutyUntil', { time });
  if (onDuty) return say('onDuty');
  return say(carries ? 'lastOrderDuty' : 'offDuty');
}

/** @param parts.positionAgeMs the age of the last position that was sent, since the phone took it */
export function dutyDetail(
  say: Say,
  parts: {
    readonly waits: boolean;
    readonly watched: boolean;
    readonly positionAgeMs: number | null;
    readonly offline: boolean;
  },
): string {
  if (parts.waits) return say('dutyUnsent');
  if (!parts.watched) return say('positionUnshared');
  if (parts.offline) return say('positionUnsent');
  if (parts.positionAgeMs === null) return say('positionFinding');
  const seconds = Math.floor(parts.positionAgeMs / 1_000);
  if (seconds < 40) return say('positionFresh');
  const minutes = Math.max(1, Math.round(seconds / 60));
  return minutes < 60 ? say('positionMinutes', { count: minutes }) : say('positionOld');
}

/** The unsent actions and what they wait for; null where there are none. */
export function waitingWords(say: Say, actions: readonly Pick<Action, 'kind'>[], connected: boolean): string | null {
  if (actions.length === 0) return null;
  const names: { readonly kind: ActionKind; count: number }[] = [];
  for (const { kind } of actions) {
    const last = names.at(-1);
    if (last?.kind === kind) last.count += 1;
    else names.push({ kind, count: 1 });
  }
  const words = names.map(({ kind, count }) => (count === 1 ? did(say, kind) : `${did(say, kind)} (${count})`));
  return say(connected ? 'waitingService' : 'waitingNetwork', { actions: words.join(', ') });
}

/**
 * Why an action was refused, in the reader's language where the service's code is known here.
 *
 * @param lostTo the store of an order that is not the driver's any more, whose parcel they may have
 */
export function refusalWords(
  say: Say,
  { kind, orderId, refusal }: Pick<Action, 'kind' | 'orderId' | 'refusal'>,
  lostTo: string | null = null,
): string {
  const action = `${did(say, kind)} · ${shortName(orderId)}`;
  const why = refusal ? whyRefused(say, refusal) : '';
  const isOver = refusal?.code === 'not_found' || refusal?.code === 'illegal_transition';
  const back = kind === 'pick-up' && isOver && lostTo !== null ? ` ${say('bringBack', { store: lostTo })}` : '';
  return say('refusal', { action, why: why + back }).trim();
}

/** What waits on this phone for its driver to sign in; null where nothing does. */
export function leftBehindWords(say: Say, actions: readonly Pick<Action, 'kind' | 'orderId'>[]): string | null {
  if (actions.length === 0) return null;
  return say('leftBehind', { actions: actions.map((action) => finishedWords(say, action)).join(', ') });
}

function whyRefused(say: Say, { code, message, retryAfterSeconds }: Refusal): string {
  switch (code) {
    case 'not_found':
    case 'illegal_transition':
    case 'unusable_photo':
      return say(`refused_${code}`);
    case 'too_many_releases':
      if (retryAfterSeconds === null) return message;
      return say('refused_too_many_releases', { count: Math.ceil(retryAfterSeconds / 60) });
    default:
      return message;
  }
}

/** What the driver has lost: each order by its store and its short name. */
export function lostWords(say: Say, orders: readonly DriverOrder[]): string {
  return orders.map(({ id, store_name }) => say('lost', { store: store_name, order: shortName(id) })).join(' ');
}

/** What a route has gained. */
export function gainedWords(say: Say, orders: readonly DriverOrder[]): string {
  const stores = [...new Set(orders.map(({ store_name }) => store_name))].join(', ');
  return say('gained', { count: orders.length, stores });
}
