import { runProgram } from '../../src/commands/program.ts';

type Environment = Readonly<Record<string, string>>;
export type Said = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Runs a command of the command line in this process, and takes whatever it says. */
export async function runCommand(env: Environment, ...args: string[]): Promise<Said> {
  const said = { stdout: '', stderr: '' };
  const hear = (stream: keyof typeof said) => ({
    write(text: string) {
      said[stream] += text;
    },
  });
  const code = await runProgram(args, { stdout: hear('stdout'), stderr: hear('stderr') }, env);
  return { code, ...said };
}

/** Runs a command with `--json` in this process; rejects with what it says if it fails. */
export async function runCli<Result = Record<string, string>>(env: Environment, ...args: string[]): Promise<Result> {
  const { code, stdout, stderr } = await runCommand(env, ...args, '--json');
  if (code !== 0) throw new Error(`sameday ${args.join(' ')} exited with ${code}: ${stderr}`);
  return JSON.parse(stdout) as Result;
}
