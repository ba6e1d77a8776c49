import { runCommand } from '../harness/command-line.ts';

type Row = { readonly check: string; readonly status: string; readonly says: string };

/** What `backup check` says, by check, and its exit code. Nothing is set, so that it knows of no live database. */
export async function checkBackup(...args: string[]) {
  const { code, stdout, stderr } = await runCommand({}, 'backup', 'check', ...args, '--json');
  const rows = (code === 2 ? [] : JSON.parse(stdout)) as Row[];
  const of = (check: string) => rows.filter((row) => row.check === check);
  return { code, of, stderr };
}
