import { identityOf } from '../../src/domain/idempotency.ts';
import type { OrderExtras, PlaceOrder } from '../../src/domain/order.ts';
import type { RetailerKey } from '../../src/store/accounts/retailers.ts';
import { AbortNotice } from '../../src/transport/signal.ts';
import { STORE_ADDRESS } from '../harness/order-world.ts';
import { NO_EXTRAS } from '../harness/orders.ts';
import { offset } from '../harness/world.ts';
import { type Command, type OrderDeed, TARGETS } from './commands.ts';
import type { Day } from './day.ts';
import { nextStep, type Walker } from './drivers.ts';
import type { Picture } from './picture.ts';

/** A fault that nothing has met by then is over. */
const FAULT_MS = 240_000;
/** One of a command's own commit is met at once; by so much it is late. */
const MISHAP_MS = 1_000;
const LATE_MS = 3_000;
const WINDOW_MINUTES = 120;
/** So many notices come twice. */
const DOUBLED = 3;

/** Carries out a command. What it starts ends as time passes. `picture` is read while nothing is under way. */
export function obey(day: Day, command: Command, picture: Picture): void {
  const { process, mishap } = command;
  const target = mishap && TARGETS[command.kind];
  if (target) {
    const untilMs = day.time.nowMs + MISHAP_MS;
    day.statements.addFault({ process, target, kind: mishap, ms: LATE_MS, times: 1, untilMs });
  }
  const work = begin(day, command, picture);
  if (work) day.start(work);
}

/** The work that a command begins; undefined where it is done at once. */
function begin(day: Day, command: Command, picture: Picture): Promise<unknown> | undefined {
  const dispatch = day.processes[command.process]?.dispatch;
  const orderId = 'order' in command ? day.orderIds.at(-1 - command.order) : undefined;
  switch (command.kind) {
    case 'order':
      return placeOrder(day, command);
    case 'cancel':
      return orderId === undefined ? undefined : cancel(day, command.process, orderId);
    case 'notes':
      return orderId === undefined
        ? undefined
        : dispatch?.changeDropoff(orderId, { instructions: 'Ring', leaveAtDoor: false });
    case 'door':
      return findDoor(day, command, picture, orderId);
    case 'hold': {
      const { retailerId } = day.town.stores[command.store] as RetailerKey;
      return day.operator.setRetailerStatus(retailerId, command.isHeld ? 'suspended' : 'active');
    }
    case 'mode':
      day.judge.modeChanged(command.tier, command.mode);
      return day.operator.setTier(command.tier, { dispatchMode: command.mode });
    default:
      return 'driver' in command ? beginOfDriver(day, command, picture) : trouble(day, command);
  }
}

function beginOfDriver(
  day: Day,
  command: Extract<Command, { driver: number }>,
  picture: Picture,
): Promise<unknown> | undefined {
  const walker = day.walkers[command.driver] as Walker;
  switch (command.kind) {
    case 'duty': {
      if (command.onDuty) day.report(walker);
      const until = command.onDuty && command.forMinutes !== null ? day.inMinutes(command.forMinutes) : null;
      const actions = day.processes[command.process]?.dispatch.actions;
      noteBefore(day, walker.id, picture);
      return actions?.setDuty(walker.id, command.onDuty, until);
    }
    case 'habit':
      walker.habit = command.habit;
      return undefined;
    case 'go':
      walker.go(day.town.pointOf(command.spot), command.atOnce);
      return undefined;
    case 'phone':
      walker.process = command.process;
      return undefined;
    case 'step':
      takeStep(day, walker, command.step, picture);
      return undefined;
    default:
      return changeDriver(day, walker, command, picture);
  }
}

type Trouble = Extract<Command, { readonly kind: 'line' | 'bus' | 'fault' | 'lease' | 'quiet' }>;

function trouble(day: Day, command: Trouble): undefined {
  const { process } = command;
  const line = day.processes[process]?.line;
  if (command.kind === 'quiet') day.mend();
  else if (command.kind === 'bus') day.isBusCut = command.isCut;
  else if (command.kind === 'lease') {
    const untilMs = day.time.nowMs + command.ms;
    const processes = command.fault === 'lost' ? day.processes.map(({ number }) => number) : [process];
    for (const each of processes) {
      day.statements.addFault({ process: each, target: 'lease', kind: command.fault, ms: 0, times: 100, untilMs });
    }
  } else if (command.kind === 'fault') {
    const { target, fault: kind, ms, times } = command;
    day.statements.addFault({ process, target, kind, ms, times, untilMs: day.time.nowMs + FAULT_MS });
  } else if (command.trouble === 'late') line?.slowDown(command.ms);
  else if (command.trouble === 'double') line?.double(DOUBLED);
  else if (command.trouble === 'cut') line?.cut();
  else line?.mend();
}

/** As each store, as only its own may cancel an order. */
async function cancel(day: Day, process: number, orderId: string): Promise<void> {
  day.orderIds.splice(day.orderIds.indexOf(orderId), 1);
  const dispatch = day.processes[process]?.dispatch;
  for (const { retailerId } of day.town.stores) await dispatch?.cancelOrder(orderId, retailerId, 'other');
}

function takeStep(day: Day, walker: Walker, step: 'next' | 'release' | 'undeliverable', { orders }: Picture): void {
  const carried = orders.filter(({ driverId }) => driverId === walker.id);
  const next = nextStep(carried, day.time.nowMs);
  if (!next) return;
  if (step === 'next') day.act(walker, next.kind, next.order.id);
  else if (step === 'release' && next.kind === 'pickUp') day.act(walker, 'release', next.order.id);
  else if (step === 'undeliverable' && next.kind === 'deliver') day.act(walker, 'undeliverable', next.order.id);
}

type Change = Extract<Command, { readonly kind: 'vehicle' | 'capacity' | 'shift' }>;

/** Another process may go by what a driver was before, until it hears of the change. */
function noteBefore(day: Day, driverId: string, picture: Picture): void {
  const before = picture.drivers.find(({ id }) => id === driverId);
  if (before) day.judge.knowledge.changed(driverId, before, day.time.nowMs, [0, 1]);
}

/** The operator changes what is known of a driver. */
function changeDriver(day: Day, { id }: Walker, command: Change, picture: Picture): Promise<unknown> {
  const { operator } = day;
  if (command.kind === 'capacity') return operator.correctDriver(id, { capacity: command.capacity });
  noteBefore(day, id, picture);
  if (command.kind === 'shift') {
    return operator.setDutyEnd(id, command.minutes === null ? null : day.inMinutes(command.minutes));
  }
  return operator.correctDriver(id, { vehicle: command.vehicle });
}

/** The job of the last order, or of one before, finds its door. */
async function findDoor(
  day: Day,
  { process, north, east }: Extract<Command, { readonly kind: 'door' }>,
  { orders }: Picture,
  orderId: string | undefined,
): Promise<void> {
  const order = orders.find(({ id }) => id === orderId);
  if (!order) return;
  await day.processes[process]?.locate(order.id, offset(order.door ?? order.pickup, north, east));
}

async function placeOrder(day: Day, deed: OrderDeed & { readonly process: number }): Promise<void> {
  const store = day.town.stores[deed.store] as RetailerKey;
  const dispatch = day.processes[deed.process]?.dispatch;
  const at = (minutes: number) => day.inMinutes(minutes);
  const { readyInMinutes: ready, windowInMinutes: opens, size } = deed;
  const extras: OrderExtras = {
    ...NO_EXTRAS,
    readyAt: ready === 0 ? null : at(ready),
    deliverAfter: opens === null ? null : at(opens),
    deliverBy: opens === null ? null : at(opens + WINDOW_MINUTES),
    size,
  };
  const request: PlaceOrder = {
    retailerId: store.retailerId,
    customer: {
      name: `Customer ${++day.customers}`,
      email: 'jordan@example.com',
      phone: '+14155550100',
      smsOptIn: false,
    },
    pickupAddress: STORE_ADDRESS,
    dropoffAddress: {
      ...day.town.doors[deed.door % day.town.doors.length],
      line2: null,
    } as PlaceOrder['dropoffAddress'],
    tierId: deed.tier,
    extras: ready === 0 && opens === null && size === 'small' ? null : extras,
  };
  const signal = new AbortNotice();
  const caller = { sinceMs: performance.now(), signal };
  const outcome = await dispatch?.placeRequest(request, store, identityOf(request, null), caller);
  signal.answered();
  if (outcome && 'order' in outcome) day.orderIds.push(outcome.order.id);
}
