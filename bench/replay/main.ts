/**
 * Replays days of orders with the real matcher and says how long the customers waited:
 * `npm run replay -- FOLDER [--every N] [--tier standard]`.
 *
 * FOLDER holds instances in the format of MDRPLIB (github.com/grubhub/mdrplib, `public_instances`: 240 days
 * of meal deliveries; D. Reyes, A. Erera, M. Savelsbergh, S. Sahasrabudhe, R. O'Neil, "The Meal Delivery
 * Routing Problem", 2018). They are no part of this project. What a day does, and what it leaves out (one
 * order a trip, no traffic, nobody gives an order back), is in `day.ts`. A run is the same every time.
 * `--every N` takes each N-th day; `--tier` gives every order that tier.
 *
 * A rule of dispatch is kept only if it does well here: run it before and after a change.
 */
import { parseArgs } from 'node:util';
import { percentile } from '../support/percentile.ts';
import { loadTestTiers } from '../support/tiers.ts';
import { Day, type Fate } from './day.ts';
import { instanceNames, readInstance } from './instance.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { every: { type: 'string', default: '1' }, tier: { type: 'string', default: 'standard' } },
});
const [folder] = positionals;
const every = Number(values.every);
const tier = loadTestTiers().get(values.tier);
if (!folder || !tier || !Number.isInteger(every) || every < 1) {
  console.error('Usage: npm run replay -- FOLDER [--every N] [--tier standard|priority|scheduled]');
  process.exit(2);
}

const names = instanceNames(folder).filter((_, i) => i % every === 0);
const fates = names.flatMap((name) => new Day(readInstance(folder, name), tier).run());
console.log(`${names.length} days of ${folder}, ${fates.length} orders, all ${values.tier}; minutes\n`);
tell('order to door', (fate) => fate.doorAfter);
tell('order to driver', (fate) => fate.assignedAfter);
console.log(`\nnot delivered ${fates.filter(({ doorAfter }) => doorAfter === null).length}`);

function tell(what: string, minutesOf: (fate: Fate) => number | null): void {
  const minutes = fates.flatMap((fate) => minutesOf(fate) ?? []);
  const mean = minutes.reduce((sum, each) => sum + each, 0) / minutes.length;
  const [p50, p90, p99, longest] = [0.5, 0.9, 0.99, 1].map((share) => percentile(minutes, share).toFixed(1));
  console.log(`${what.padEnd(16)} mean ${mean.toFixed(1)}  p50 ${p50}  p90 ${p90}  p99 ${p99}  longest ${longest}`);
}
