import { percentile } from '../support/percentile.ts';
import { loadTestTiers } from '../support/tiers.ts';
import { type Delivery, type Doors, type Known, planInstance } from './day.ts';
import type { Instance } from './instance.ts';
import { Day } from './rule-day.ts';
import { writeSolution } from './solution.ts';

/** Minutes from placing to the door of what was delivered, and from ready to taken over; what was not. */
type Outcome = { readonly door: number[]; readonly pickup: number[]; undelivered: number };

export type InstanceOptions = {
  readonly known: Known;
  readonly doors: Doors;
  readonly isBeside: boolean;
  readonly writeTo: string | undefined;
};

/** Plans instances one by one, beside today's rule, and prints each and all. */
export function runInstances(
  instances: Iterable<Instance>,
  { known, doors, isBeside, writeTo }: InstanceOptions,
): void {
  const planned = outcome();
  const today = outcome();
  const means: number[] = [];
  console.log(`what the planner knows: ${known}, doors ${doors}; minutes`);
  console.log(`${'instance'.padEnd(18)}${HEAD}${isBeside ? ` | today's rule: ${HEAD}` : ''}`);
  for (const instance of instances) {
    const day = planInstance(instance, known, { doors });
    if (writeTo) writeSolution(writeTo, instance, day);
    const one = outcomeOf(day.deliveries, known);
    const other = isBeside ? outcomeOfToday(withKnown(instance, known)) : outcome();
    means.push(mean(one.door));
    console.log(`${instance.name.padEnd(18)}${line(one)}${isBeside ? ` |               ${line(other)}` : ''}`);
    gather(planned, one);
    gather(today, other);
  }
  console.log(`${'all orders'.padEnd(18)}${line(planned)}${isBeside ? ` |               ${line(today)}` : ''}`);
  console.log(`mean of the ${means.length} instances' means: ${mean(means).toFixed(2)}`);
}

const HEAD = '  mean   p90 ready→pickup undelivered';

const outcome = (): Outcome => ({ door: [], pickup: [], undelivered: 0 });

function outcomeOf(deliveries: readonly Delivery[], known: Known): Outcome {
  const found = outcome();
  for (const { order, pickedUpAt, doorAt } of deliveries) {
    if (doorAt === null || pickedUpAt === null) found.undelivered++;
    else {
      found.door.push(doorAt - order.placedAt);
      found.pickup.push(pickedUpAt - (known === 'at_placement' ? order.placedAt : order.readyAt));
    }
  }
  return found;
}

function outcomeOfToday(instance: Instance): Outcome {
  const tier = loadTestTiers().get('standard');
  if (!tier) throw new Error('There is no tier "standard"');
  const found = outcome();
  for (const { doorAfter } of new Day(instance, tier).run()) {
    if (doorAfter === null) found.undelivered++;
    else found.door.push(doorAfter);
  }
  return found;
}

function withKnown(instance: Instance, known: Known): Instance {
  if (known !== 'at_placement') return instance;
  return { ...instance, orders: instance.orders.map((order) => ({ ...order, readyAt: order.placedAt })) };
}

function gather(into: Outcome, one: Outcome): void {
  for (const each of one.door) into.door.push(each);
  for (const each of one.pickup) into.pickup.push(each);
  into.undelivered += one.undelivered;
}

const mean = (values: readonly number[]) => values.reduce((sum, each) => sum + each, 0) / values.length;

function line({ door, pickup, undelivered }: Outcome): string {
  const share = (100 * undelivered) / (undelivered + door.length);
  const ready = pickup.length === 0 ? '–' : mean(pickup).toFixed(2);
  return [
    mean(door).toFixed(2).padStart(6),
    percentile(door, 0.9).toFixed(1).padStart(6),
    ready.padStart(13),
    `${share.toFixed(3)} %`.padStart(12),
  ].join('');
}
