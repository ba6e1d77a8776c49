import type { Action, ActionKind, DriverOrder, Shown } from './driver-state.ts';

/** The words of the page, as pure functions. */

export type OrderWords = {
  readonly step: string;
  readonly headline: string;
  readonly address: string;
  /** The address for maps, without the line that only helps at the door. */
  readonly place: string;
  /** What follows this step; null where nothing does. */
  readonly next: string | null;
  /** What the store and the customer ask for at this step. */
  readonly notes: readonly Note[];
  /** The button of this step; null while a photo is missing. */
  readonly primary: { readonly kind: ActionKind; readonly text: string } | null;
  readonly giveUp: { readonly kind: 'release' | 'undeliverable'; readonly text: string } | null;
};

/** A block of the order's page: its title, and a text of the store's or the customer's, or a list of them. */
export type Note = { readonly title: string; readonly text?: string; readonly list?: readonly string[] };

/** @param hasPhoto whether a photo of the handover was taken */
export function orderWords(order: DriverOrder, hasPhoto: boolean): OrderWords {
  const { address } = order.pickup;
  const store = { headline: order.store_name, address, place: address };
  switch (order.status) {
    case 'picked_up':
      return {
        step: 'Deliver to',
        headline: order.dropoff.name ?? 'The customer',
        address: dropoffAddress(order),
        place: dropoffAddress({ dropoff: { ...order.dropoff, line2: null } }),
        next: null,
        notes: dropoffNotes(order),
        primary: hasPhoto ? { kind: 'deliver', text: 'Delivered' } : null,
        giveUp: { kind: 'undeliverable', text: 'Could not deliver' },
      };
    case 'undeliverable':
      return {
        ...store,
        step: 'Bring back to',
        next: null,
        notes: [],
        primary: { kind: 'return', text: 'Returned to the store' },
        giveUp: null,
      };
    default:
      return {
        ...store,
        step: 'Pick up at',
        next: nextWords(order),
        notes: pickupNotes(order),
        primary: { kind: 'pick-up', text: 'Picked up' },
        giveUp: { kind: 'release', text: 'Give this order back' },
      };
  }
}

function pickupNotes(order: DriverOrder): Note[] {
  return [...blockOf('At the store', order.pickup.instructions), ...itemsOf(order)];
}

function dropoffNotes(order: DriverOrder): Note[] {
  const { instructions, leave_at_door } = order.dropoff;
  return [
    ...blockOf('At the door', leave_at_door ? 'Leave it at the door.' : null),
    ...blockOf('Instructions', instructions),
    ...itemsOf(order),
  ];
}

function blockOf(title: string, text: string | null | undefined): Note[] {
  return text ? [{ title, text }] : [];
}

function itemsOf({ items }: DriverOrder): Note[] {
  return items?.length ? [{ title: 'Items', list: items.map(({ name, quantity }) => `${quantity} × ${name}`) }] : [];
}

/** Where the parcel goes, as far as the driver is told before the pickup. */
function nextWords(order: DriverOrder): string {
  const { name } = order.dropoff;
  const address = dropoffAddress(order);
  return name === null ? `${address}. The name comes when you are at the store.` : `${name}, ${address}`;
}

export function dropoffAddress({ dropoff }: Pick<DriverOrder, 'dropoff'>): string {
  const { line1, line2, city, state, zip } = dropoff;
  return [line1, line2, `${city}, ${state} ${zip}`].filter(Boolean).join(', ');
}

export function orderFacts(order: DriverOrder): string {
  const payout = (order.driver_payout_cents / 100).toFixed(2);
  const tier = order.delivery_tier.replaceAll('_', ' ');
  return `You earn $${payout} · ${tier[0]?.toUpperCase() ?? ''}${tier.slice(1)} · ${shortName(order.id)}`;
}

/** A short name of an order for people: the end of its id. */
function shortName(orderId: string): string {
  return `#${orderId.slice(-6)}`;
}

/** The confirmation that an order ended on this phone. */
export function finishedWords({ kind, orderId }: { readonly kind: ActionKind; readonly orderId: string }): string {
  return `${DID[kind]} · ${shortName(orderId)}`;
}

const DID: Record<ActionKind, string> = {
  deliver: 'Delivered',
  return: 'Returned to the store',
  release: 'Given back',
  'pick-up': 'Picked up',
  undeliverable: 'Could not deliver',
};

export type Idle = {
  readonly ended: Shown['ended'];
  /** Whether that action takes longer than usual to send. */
  readonly late: boolean;
  readonly onDuty: boolean;
  /** Whether the page may see the phone's position. */
  readonly located: boolean;
};

/** The words while there is no order. */
export function idleWords({ ended, late, onDuty, located }: Idle): { headline: string; detail: string } {
  if (ended) {
    const unsent = 'Not sent yet. This phone sends it as soon as there is a network. Keep this page open.';
    return { headline: DID[ended.kind], detail: late ? unsent : 'Sending…' };
  }
  if (onDuty && !located) {
    return {
      headline: 'No order can reach you',
      detail: 'Orders go to the nearest driver, and this page cannot see your location.',
    };
  }
  if (onDuty) {
    return {
      headline: 'Waiting for an order',
      detail: 'Keep this page open and on screen. It rings when an order comes.',
    };
  }
  return {
    headline: 'You are off duty',
    detail: 'You get no orders and your position is not shared. Go on duty when you are ready to drive.',
  };
}

export function dutyDetail(parts: {
  readonly waits: boolean;
  readonly watched: boolean;
  readonly positionAgeMs: number | null;
  readonly offline: boolean;
}): string {
  if (parts.waits) return 'Not sent yet';
  if (!parts.watched) return 'Your position is not shared';
  if (parts.offline) return 'Position not sent';
  if (parts.positionAgeMs === null) return 'Finding your position…';
  return `Position sent ${ago(parts.positionAgeMs)}`;
}

function ago(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 40) return 'just now';
  const minutes = Math.max(1, Math.round(seconds / 60));
  return minutes < 60 ? `${minutes} min ago` : 'more than an hour ago';
}

/** The unsent actions and what they wait for; null where there are none. */
export function waitingWords(actions: readonly Pick<Action, 'kind'>[], connected: boolean): string | null {
  if (actions.length === 0) return null;
  const names = actions.map(({ kind }) => DID[kind]).join(', ');
  return connected ? `Not sent yet, trying again: ${names}` : `Waiting for network: ${names}`;
}

/** @param message the service's sentence */
export function refusalWords(action: Pick<Action, 'kind'>, message: string): string {
  return `“${DID[action.kind]}” was not accepted and is not sent again. ${message}`.trim();
}
