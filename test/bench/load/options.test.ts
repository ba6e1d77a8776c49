import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommanderError } from 'commander';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type LoadCommand, readCommand } from '../../../bench/load/options.ts';

const OWN = ['--url', 'http://127.0.0.1:8080', '--key', 'sdk_1'];

/** What the arguments ask for, with what was printed, or the exit code. */
function read(...args: string[]): { command?: LoadCommand; code?: number; out: string; err: string } {
  const [out, err]: [string[], string[]] = [[], []];
  const said = () => ({ out: out.join(''), err: err.join('') });
  try {
    const command = readCommand(
      args,
      (text) => void out.push(text),
      (text) => void err.push(text),
    );
    return { command, ...said() };
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { code: error.exitCode, ...said() };
  }
}

describe('the options of npm run load', () => {
  test('are a throwaway service with one API process, unless others are given', () => {
    const target = { kind: 'throwaway', apis: 1, bill: false, build: undefined };
    expect(read().command).toEqual({ target, small: false, json: false, plot: undefined });
    const plot = join(tmpdir(), 'out.svg');
    expect(read('--api', '3', '--json', '--small', '--plot', plot).command).toEqual({
      target: { kind: 'throwaway', apis: 3, bill: false, build: undefined },
      small: true,
      json: true,
      plot,
    });
  });

  test("name a service of one's own with its key", () => {
    expect(read(...OWN).command?.target).toMatchObject({ url: 'http://127.0.0.1:8080', key: 'sdk_1' });
    const more = ['--retailer', 'r', '--pickup', 'p', '--real-orders'];
    expect(read('--url=https://x.test/base/', '--key=k', ...more).command?.target).toEqual({
      kind: 'own',
      url: 'https://x.test/base',
      key: 'k',
      retailerId: 'r',
      pickup: 'p',
      realOrders: true,
    });
  });

  test.each([
    [['--api', '0'], "'--api <n>' argument '0' is invalid"],
    [['--api', '1.5'], 'a whole number from 1 to 16'],
    [['--api', '17'], 'a whole number from 1 to 16'],
    [['--url', 'localhost:8080', '--key', 'k'], "'--url <url>' argument 'localhost:8080' is invalid"],
    [['--url', 'http://x.test'], "'--url' needs '--key'"],
    [['--key', 'k'], "'--key' goes with '--url'"],
    [['--retailer', 'r'], "'--retailer' goes with '--url'"],
    [['--real-orders'], "'--real-orders' goes with '--url'"],
    [[...OWN, '--api', '2'], "'--api' does not go with '--url'"],
    [[...OWN, '--bill'], "'--bill' does not go with '--url'"],
    [['--plot', '/no/such/folder/out.svg'], 'There is no folder /no/such/folder'],
    [['--plot', tmpdir()], 'It is a folder'],
  ])('%j are refused in a sentence', (args, sentence) => {
    const { code, err, out } = read(...args);
    expect(code).toBe(1);
    expect(err).toContain(sentence);
    expect(out).toBe('');
  });

  test('take a folder whose build has come to its end', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sameday-load-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(join(folder, 'dist'));
    writeFileSync(join(folder, 'dist/main.js'), '');
    expect(read('--build', folder)).toMatchObject({
      code: 1,
      err: expect.stringContaining('No service is built there'),
    });
    writeFileSync(join(folder, 'dist/.build-hash'), '');
    expect(read('--build', folder).command?.target).toMatchObject({ build: folder });
  });
});
