import { Day, type Fate } from './day.ts';
import { instanceNames, readInstance } from './instance.ts';
import { loadTestTiers } from '../support/tiers.ts';

const [folder, sample = '1'] = process.argv.slice(2);
if (!folder) throw new Error('folder');
const names = instanceNames(folder).filter((_, i) => i % Number(sample) === 0);
const tier = loadTestTiers().get('standard')!;
const all: Fate[] = [];
const perDay: number[] = [];
for (const name of names) {
  const fates = new Day(readInstance(folder, name), tier).run();
  all.push(...fates);
  const d = fates.flatMap((f) => f.doorAfter ?? []);
  perDay.push(d.reduce((a, b) => a + b, 0) / d.length);
}
const doors = all.flatMap((f) => f.doorAfter ?? []).sort((a, b) => a - b);
const waits = all.flatMap((f) => f.assignedAfter ?? []).sort((a, b) => a - b);
const mean = (x: number[]) => x.reduce((a, b) => a + b, 0) / x.length;
const at = (x: number[], p: number) => x[Math.floor((x.length - 1) * p)]!;
console.log(`${names.length} days, ${all.length} orders, undelivered ${all.length - doors.length}`);
console.log(`door: mean ${mean(doors).toFixed(2)} mean of days ${mean(perDay).toFixed(2)} p50 ${at(doors, 0.5)} p90 ${at(doors, 0.9)} p99 ${at(doors, 0.99)} max ${at(doors, 1)}`);
console.log(`wait: mean ${mean(waits).toFixed(2)} p90 ${at(waits, 0.9).toFixed(1)} p99 ${at(waits, 0.99).toFixed(1)} max ${at(waits, 1).toFixed(1)}`);
