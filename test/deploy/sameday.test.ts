import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const SCRIPT = join(import.meta.dirname, '../../deploy/sameday');

/** Runs deploy/sameday beside programs of systemd that note their arguments; systemd-run then does `end`. */
async function run(args: readonly string[], end: string) {
  const folder = mkdtempSync(join(tmpdir(), 'sameday-command-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const notes = join(folder, 'notes');
  const note = `#!/bin/bash\nprintf '%s\\0' "\${0##*/}" "$@" >> '${notes}'\n`;
  writeFileSync(join(folder, 'systemctl'), note, { mode: 0o755 });
  writeFileSync(join(folder, 'systemd-run'), `${note}${end}\n`, { mode: 0o755 });
  // Detached, in a process group of its own, as on a terminal.
  const env = { PATH: `${folder}:${process.env.PATH}` };
  const [status, signal] = await once(spawn(SCRIPT, args, { env, detached: true, stdio: 'ignore' }), 'exit');
  const noted = readFileSync(notes, 'utf8').split('\0').slice(0, -1);
  const stop = noted.includes('systemctl') ? noted.indexOf('systemctl') : noted.length;
  return { status, signal, started: noted.slice(0, stop), stopped: noted.slice(stop) };
}

test('the arguments reach the program as they are typed, and none of them the journal', async () => {
  const { status, started } = await run(['driver', 'create', '--name', 'A$AP $X $$', '', "O'Brien %h"], 'exit 7');
  expect(status).toBe(7);
  // systemd takes $$ for $.
  const given = ['driver', 'create', '--name', 'A$$AP $$X $$$$', '', "O'Brien %h"];
  expect(started.slice(started.indexOf('node'))).toEqual(['node', 'dist/cli.js', ...given]);
  expect(started).toContain('--description=Sameday command line');
});

test('what ends the foreground ends the command, too', async () => {
  // As Ctrl-C of a terminal does.
  const { signal, started, stopped } = await run(['stats', '--watch'], 'kill -INT 0');
  expect(signal).toBe('SIGINT');
  const [unit = ''] = started.flatMap((arg) => /^--unit=(.+)/.exec(arg)?.[1] ?? []);
  expect(unit).toMatch(/^sameday-command-\d+-\d+\.service$/);
  expect(stopped).toEqual(['systemctl', '--quiet', 'stop', unit]);
});
