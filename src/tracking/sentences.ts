import type { Arrival } from '../domain/arrival.ts';
import type { OrderStatus } from '../domain/order.ts';
import type { SpeakTracking } from '../words/tracking.ts';
import type { Stage, TrackingView } from './tracking-view.ts';

/** What of a view its sentences are made of, so that server and page say the same in each language. */
export type Told = Pick<
  TrackingView,
  'status' | 'store_name' | 'driver' | 'is_planned' | 'was_released' | 'stops_before' | 'reason'
>;

/** Where the order is, in one sentence. For an order that will not arrive it begins with "Not delivered". */
export function headline(told: Told, say: SpeakTracking): string {
  if (told.is_planned) return say('headline_planned');
  if (isAnother(told)) return say('headline_another');
  if (isOutForDelivery(told)) return say('headline_out');
  return say(`headline_${told.status}`, { driver: driverName(told, say) });
}

/** What the headline means, or what to do now, in one to three short sentences. */
export function detail(told: Told, say: SpeakTracking): string {
  const values = { driver: driverName(told, say), store: told.store_name };
  if (told.is_planned) return say('detail_planned', values);
  if (isAnother(told)) return say('detail_another', values);
  if (isOutForDelivery(told)) return say('detail_out', values);
  if (told.status === 'delivered' && !told.driver?.first_name) return say('detail_delivered_by_nobody', values);
  const because = told.reason ? `${say(`reason_${told.reason}`)} ` : '';
  return because + say(`detail_${told.status}`, values);
}

/** How many doors come before this one; empty where that is none or unknown. */
export function stopsText(told: Told, say: SpeakTracking): string {
  return told.status === 'picked_up' && told.stops_before ? say('stops_before', { count: told.stops_before }) : '';
}

function isAnother({ status, was_released }: Told): boolean {
  return status === 'pending_dispatch' && was_released;
}

/** Whether other doors come first, or may. */
function isOutForDelivery({ status, stops_before }: Told): boolean {
  return status === 'picked_up' && stops_before !== 0;
}

/** The driver's first name, or what stands for it. */
function driverName({ driver }: Told, say: SpeakTracking): string {
  return driver?.first_name || say('your_driver');
}

/** The name of a step; the last one of an order that was not delivered says how it ended. */
export function stageLabel({ id }: Pick<Stage, 'id'>, status: OrderStatus, say: SpeakTracking): string {
  if (id !== 'not_delivered') return say(`step_${id}`);
  return status === 'cancelled' || status === 'expired' || status === 'returned'
    ? say(`step_${status}`)
    : say('step_undeliverable');
}

/** What a screen reader says of a step beside its name. */
export function stageState({ state }: Pick<Stage, 'state'>, say: SpeakTracking): string {
  return say(state === 'current' ? 'state_done' : `state_${state}`);
}

/**
 * When the order arrives, in minutes or hours from now; empty where no estimate exists.
 *
 * @param clock the same as times of the clock, where they are known
 */
export function arrivalText(arrival: Arrival | null, say: SpeakTracking, clock: string | null = null): string {
  if (!arrival) return '';
  const { earliest_minutes: earliest, latest_minutes: latest } = arrival;
  if (latest <= ANY_MINUTE) return say('arriving_now');
  if (clock !== null) return say('arriving_at', { times: clock });
  const inHours = latest > IN_HOURS;
  const from = Math.floor(earliest / (inHours ? 60 : 1));
  const to = Math.ceil(latest / (inHours ? 60 : 1));
  if (from === 0) return say(inHours ? 'arriving_within_hours' : 'arriving_within', { to });
  return say(inHours ? 'arriving_in_hours' : 'arriving_in', { from, to });
}
const ANY_MINUTE = 3;
const IN_HOURS = 120;

/** The colour of the headline: under way, a good end, a bad one. */
export function tone(status: OrderStatus): 'moving' | 'good' | 'bad' {
  if (status === 'delivered') return 'good';
  return status === 'pending_dispatch' || status === 'driver_assigned' || status === 'picked_up' ? 'moving' : 'bad';
}
