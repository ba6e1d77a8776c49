import { cpSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openRollScript } from '../harness/roll.ts';
import type { Process, World } from './world.ts';

/** This build. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A build like this one, with one migration more, which lets the build before start. */
export function makeNextBuild(folder: string): string {
  const next = join(folder, 'next');
  mkdirSync(next);
  const isService = (path: string) => !/\/dist\/(base-|faults|bench)/.test(path);
  for (const name of ['dist', 'migrations', 'package.json']) {
    cpSync(join(ROOT, name), join(next, name), { recursive: true, filter: isService });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(next, 'node_modules'));
  writeFileSync(join(next, 'migrations/9001_rolled.sql'), 'alter table orders add column rolled boolean;\n');
  return next;
}

/** deploy/roll.sh for the processes of a world, which have these ports and run the build `first`. */
export async function openRoll(world: World, folder: string, first: string, ports: readonly number[]) {
  const current = join(folder, 'current');
  symlinkSync(first, current);
  const apis = ports.slice(0, world.apis.length);
  const workers = ports.slice(world.apis.length);
  const units = new Map<string, Process>([
    ...apis.map((port, i) => [`sameday-api@${port}`, world.apis[i] as Process] as const),
    ...workers.map((port, i) => [`sameday-worker@${port}`, world.workers[i] as Process] as const),
  ]);
  const script = await openRollScript(async (what, unit) => {
    const process = units.get(unit);
    if (process === undefined) throw new Error(`there is no ${unit}`);
    if (what === 'start') return process.start({}, realpathSync(current));
    const code = await process.stop();
    if (code !== 0) throw new Error(`${unit} ended with ${code}`);
  });
  const service = `DATABASE_URL=${world.postgres.url} REDIS_URL=${world.redis?.url} DATA_DIR=${folder}/data`;
  const settings = {
    CURRENT: current,
    APIS: apis.join(' '),
    WORKERS: workers.join(' '),
    CHECK: `env SANDBOX=1 SIMULATED_DRIVERS=0 ${service}`,
  };
  return {
    /** Rolls every process to this build; a sentence where the script stops. */
    async to(build: string): Promise<string[]> {
      const { code, stdout, stderr } = await script.run(build, settings);
      console.log(stdout);
      return code === 0 ? [] : [`roll: deploy/roll.sh exited with ${code}: ${stderr || stdout}`];
    },
    close: script.close,
  };
}
