// Measures what an order costs beside an earlier build: the processor time of the service, its worker, Postgres and
// Redis, of small loads in turns. `node scripts/price.mjs` fails where it grew by half.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { earlierBuild } from './earlier-build.mjs';
import { prepare, ROOT } from './prepare.mjs';

/** The earlier build. A later one takes its place once its price is known to be right. */
const BASE = '00d4263';
/** Loads of each build; the cheapest counts, since a busy machine only adds. */
const ROUNDS = 2;
/** Growth from which the run fails. Two builds that are the same differ by a fifth on a busy machine. */
const MOST_GROWTH = 1.5;
const PARTS = ['API', 'API and worker', 'worker', 'Postgres', 'Redis'];
const LOAD_MS = 180_000;

await prepare();
const base = earlierBuild(BASE);
if (base === undefined) {
  console.log(`What an order costs is not compared: this clone does not have the commit ${BASE}.`);
} else {
  const prices = { now: [], before: [] };
  for (let round = 0; round < ROUNDS; round++) {
    prices.before.push(priceOf(['--build', base]));
    prices.now.push(priceOf([]));
  }
  const [now, before] = [Math.min(...prices.now), Math.min(...prices.before)];
  // Not a number where a load gave no figures.
  const ratio = now / before;
  const words = `An order costs ${now.toFixed(2)} processor ms, ${ratio.toFixed(2)} times what it cost at ${BASE}`;
  console.log(`${words} (${before.toFixed(2)}), in ${ROUNDS} small loads of each, one after the other.`);
  if (ratio > MOST_GROWTH) {
    console.log(`FAILED: an order may cost ${MOST_GROWTH} times as much at the most.`);
    process.exitCode = 1;
  }
}

/** Processor milliseconds of an order that is charged and texted, at half of the best rate. */
function priceOf(options) {
  const args = [join(ROOT, 'scripts/load.mjs'), '--small', '--json', ...options];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: LOAD_MS });
  if (!stdout) {
    console.log(`A load gave no figures: ${stderr.slice(-1_000)}`);
    return Number.NaN;
  }
  const { millis } = JSON.parse(stdout).costs.find(({ load }) => load.startsWith('half'));
  return PARTS.reduce((sum, part) => sum + (millis[part] ?? 0), 0);
}
