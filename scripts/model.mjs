// `npm run model` runs the model of dispatch (test/model): random virtual days, until one finds something or the
// time is over. `npm run model -- --seconds 3600 --seed 1`; `--ignore memory_door,silent` leaves out what is known.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { readOptions } from './options.mjs';
import { prepare, ROOT } from './prepare.mjs';

const values = readOptions(
  {
    seconds: { type: 'string', default: '600' },
    seed: { type: 'string', default: '1' },
    commands: { type: 'string' },
    ignore: { type: 'string', default: '' },
    most: { type: 'string', default: '1' },
    shrink: { type: 'string', default: '120' },
  },
  'npm run model -- [--seconds 600] [--seed 1] [--commands N] [--ignore KIND,…] [--most 1] [--shrink SECONDS]',
);

await prepare();
const env = {
  ...process.env,
  NODE_ENV: 'test',
  MODEL_SECONDS: values.seconds,
  MODEL_SEED: values.seed,
  ...(values.commands === undefined ? {} : { MODEL_COMMANDS: values.commands }),
  MODEL_IGNORE: values.ignore,
  MODEL_MOST: values.most,
  MODEL_SHRINK: values.shrink,
};
const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
const args = [vitest, 'run', 'test/model/model.test.ts', '--disable-console-intercept'];
const child = spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit', env });
process.exitCode = await new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)));
