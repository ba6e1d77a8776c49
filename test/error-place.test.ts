import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { buildService } from '../scripts/build-service.mjs';
import { STEP_MS } from './harness/patience.ts';

const ROOT = resolve(import.meta.dirname, '..');

/** Fails in a package that the project calls. */
const PROGRAM = `
  import { cellCentre } from '../../src/geo/cells.ts';
  import { errorFields } from '../../src/telemetry.ts';
  try {
    cellCentre(-1, 15);
  } catch (error) {
    console.log(error.stack.split('\\n')[1], JSON.stringify(errorFields(error)));
  }`;

test('an error of the bundled service is placed in the source that it comes from', async () => {
  mkdirSync(join(ROOT, 'dist'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, 'dist/places-'));
  try {
    writeFileSync(join(folder, 'program.ts'), PROGRAM);
    writeFileSync(join(folder, 'main.ts'), "await import('./program.ts');\nexport {};\n");
    await buildService([join(folder, 'main.ts')], join(folder, 'out'));
    const program = join(folder, 'out/main.js');
    const printed = execFileSync(process.execPath, [program], { encoding: 'utf8', timeout: STEP_MS });
    const [firstFrame, fields] = printed.trim().split(' {"') as [string, string];
    expect(firstFrame).not.toContain('cellCentre');
    expect(JSON.parse(`{"${fields}`).at).toMatch(/^cellCentre \(src\/geo\/cells\.ts, \S+\.js:\d+:\d+\)$/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
