import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { runCommand } from '../harness/command-line.ts';
import { STEP_MS } from '../harness/patience.ts';

const scriptFor = async (shell: string) => (await runCommand({}, 'completion', shell)).stdout;

/** What bash offers for the last of these words. */
async function offered(...words: string[]): Promise<string[]> {
  const script = await scriptFor('bash');
  const line = `COMP_WORDS=(sameday ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}`;
  const command = `${script}\n${line}; _sameday; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', command], { encoding: 'utf8', timeout: STEP_MS }).trim().split('\n');
}

test('bash completes groups, commands and options, also behind values', async () => {
  expect(await offered('ord')).toEqual(['order']);
  expect(await offered('order', 's')).toEqual(['show']);
  expect(await offered('order', 'list', '--se')).toEqual(['--search']);
  expect(await offered('order', 'list', '--status', 'delivered', '--col')).toEqual(['--columns']);
  expect(await offered('stats', '--w')).toEqual(['--watch']);
  expect(await offered('retailer', 'import', './stores')).toEqual(['']);
});

test('zsh has the same words with what they do', async () => {
  const script = await scriptFor('zsh');
  expect(script).toContain('#compdef sameday');
  expect(script).toMatch(/^ {4}"order"\) found=\(.*'show:show everything on record about an order'/m);
  expect(script).toMatch(/^ {4}"order list"\) found=\(.*'--columns:only these columns, with commas between'/m);
});

test('another shell is refused by its name', async () => {
  expect(await runCommand({}, 'completion', 'toString')).toEqual({
    code: 1,
    stdout: '',
    stderr: 'The shell is one of bash, zsh.\n',
  });
});
