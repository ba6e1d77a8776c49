/**
 * Measures the planner: `npm run bench:dispatch -- [--instances FOLDER] [--every N] [--known ready]`.
 *
 * - `--instances FOLDER` plans days in the format of MDRPLIB (github.com/grubhub/mdrplib, `public_instances`; no part
 *   of this project), each N-th of them, beside today's rule; `--write FOLDER` writes what the evaluator of
 *   that repository reads. `--known` says what the planner knows of ready times: `ready` (each at placement),
 *   `mean` (nothing but their mean), `at_placement` (all is ready when it is placed). `--doors` says what it knows of
 *   doors: `exact`, or the centre of the ZIP code until each is found (`late`) or for good (`never`).
 * - Without it: generated days of the same shape, the speed (`--only speed`), and a day of same-day retail
 *   (`--only retail`).
 *
 * The core is the service's own, driven by a simulated clock; a run is the same every time.
 */
import { exitWith, readOptions } from '../scripts/options.mjs';
import type { Doors, Known } from './dispatch/day.ts';
import { generatedInstance } from './dispatch/generated.ts';
import { instanceNames, readInstance } from './dispatch/instance.ts';
import { runInstances } from './dispatch/instances.ts';
import { runRetail, runRetailDoors } from './dispatch/retail.ts';
import { runSpeed } from './dispatch/speed.ts';

const USAGE = `npm run bench:dispatch -- [--instances FOLDER] [--every N] [--known ready|mean|at_placement]
       [--doors exact|late|never] [--write FOLDER] [--alone] [--only generated|doors|speed|retail]`;

const values = readOptions(
  {
    instances: { type: 'string' },
    every: { type: 'string', default: '1' },
    known: { type: 'string', default: 'ready' },
    doors: { type: 'string', default: 'exact' },
    write: { type: 'string' },
    alone: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
  },
  USAGE,
);
const { instances: folder, write: writeTo, only } = values;
const every = Number(values.every);
const known = ['ready', 'mean', 'at_placement'].find((each) => each === values.known) as Known | undefined;
const doors = ['exact', 'late', 'never'].find((each) => each === values.doors) as Doors | undefined;
if (
  !known ||
  !doors ||
  !Number.isInteger(every) ||
  every < 1 ||
  !['', 'generated', 'doors', 'speed', 'retail'].includes(only)
) {
  exitWith(USAGE);
}

const options = { known, doors, isBeside: !values.alone, writeTo };
if (folder) {
  const names = instanceNames(folder).filter((_, i) => i % every === 0);
  runInstances(
    (function* () {
      for (const name of names) yield readInstance(folder, name);
    })(),
    options,
  );
} else {
  if (only === '' || only === 'generated') runInstances([1, 2, 3].map(generatedInstance), options);
  if (only === '' || only === 'doors') runRetailDoors();
  if (only === '' || only === 'speed') runSpeed();
  if (only === '' || only === 'retail') runRetail();
}
