import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { processStart } from '../../src/embedded/processes.ts';
import { claimService, readLiveService, removeServiceFile, writeServiceFile } from '../../src/embedded/service-file.ts';
import { bundleProgram, type Child, runNode } from '../harness/child.ts';

const FACTS = {
  mode: 'sandbox',
  urls: { api: 'http://127.0.0.1:1' },
  databaseUrl: 'postgres://u:p@h/d',
  redisUrl: null,
} as const;
const CLAIMER = `
  import { claimService } from 'src/embedded/service-file.ts';
  while (Date.now() < Number(process.argv[3])) {}
  console.log(claimService(process.argv[2]!).kind);
  setInterval(() => undefined, 1000);
`;

let dataDir: string;
const children: Child[] = [];
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'sameday-service-'));
});
afterEach(async () => {
  for (const child of children) child.process.kill('SIGKILL');
  await Promise.all(children.splice(0).map(({ ended }) => ended));
  rmSync(dataDir, { recursive: true, force: true });
});

describe('the service file', () => {
  it('tells what this process serves, to its owner only', () => {
    writeServiceFile(dataDir, FACTS);
    expect(readLiveService(dataDir)).toMatchObject({ ...FACTS, pid: process.pid });
    expect(statSync(join(dataDir, 'service.json')).mode & 0o777).toBe(0o600);
    removeServiceFile(dataDir);
    expect(readLiveService(dataDir)).toBeUndefined();
  });

  it('tells nothing of a process that has died, or whose pid was reused', () => {
    const started = processStart(process.pid) as string;
    for (const holder of [
      { pid: 2 ** 22 + 1, started },
      { pid: process.pid, started: `${started}0` },
    ]) {
      writeFileSync(join(dataDir, 'service.json'), JSON.stringify({ ...FACTS, ...holder }));
      expect(readLiveService(dataDir)).toBeUndefined();
    }
  });

  it("leaves another process's file alone, and is undefined where none or half of one is", () => {
    expect(readLiveService(join(dataDir, 'missing'))).toBeUndefined();
    writeFileSync(join(dataDir, 'service.json'), '{"pid":');
    expect(readLiveService(dataDir)).toBeUndefined();
    writeFileSync(join(dataDir, 'service.json'), JSON.stringify({ ...FACTS, pid: 1, started: 'x' }));
    removeServiceFile(dataDir);
    expect(readdirSync(dataDir)).toContain('service.json');
  });
});

describe('a claim', () => {
  it('is held until it is released', () => {
    const first = claimService(dataDir);
    expect(claimService(dataDir)).toEqual({ kind: 'held', pid: process.pid });
    if (first.kind === 'claimed') first.release();
    expect(claimService(dataDir).kind).toBe('claimed');
  });

  it('of a process that has died, or of an earlier one with its pid, holds nothing', () => {
    writeFileSync(join(dataDir, 'service.claim.7'), JSON.stringify({ pid: 2 ** 22 + 1, started: 'x' }));
    const claim = claimService(dataDir);
    expect(claim.kind).toBe('claimed');
    writeFileSync(join(dataDir, 'service.claim.9'), JSON.stringify({ pid: process.pid, started: 'earlier' }));
    expect(claimService(dataDir).kind).toBe('claimed');
  });

  it('that was never finished holds nothing after a moment', () => {
    writeFileSync(join(dataDir, 'service.claim.1'), '');
    expect(claimService(dataDir).kind).toBe('claimed');
  });

  it('goes to exactly one of several processes at the same moment, again and again', async () => {
    const program = bundleProgram(join(dataDir, 'program'), 'claimer', CLAIMER);
    for (let round = 0; round < 3; round++) {
      const at = Date.now() + 1_000;
      const racers = [1, 2, 3, 4, 5, 6].map(() => runNode(program, [dataDir, String(at)]));
      children.push(...racers);
      await expect.poll(() => racers.every(({ lines }) => lines.length === 1)).toBe(true);
      expect(racers.filter(({ lines }) => lines[0] === 'claimed')).toHaveLength(1);
      // The next round finds a claim whose holder was killed.
      for (const racer of racers) racer.process.kill('SIGKILL');
      await Promise.all(racers.map(({ ended }) => ended));
    }
  });
});
