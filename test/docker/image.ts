import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdir, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';

/** What a Dockerfile leaves for whoever runs its last stage. */
export type Image = {
  /** The folder that stands for the image's `/`. */
  readonly root: string;
  readonly workdir: string;
  readonly env: Record<string, string>;
  readonly user: string;
  readonly volumes: readonly string[];
  /** Exec form, as is `health`. */
  readonly command: readonly string[];
  readonly health: readonly string[];
  /** The RUN steps that only a real image can take. */
  readonly skipped: readonly string[];
};

type Step = { readonly instruction: string; readonly rest: string };
type Stage = { -readonly [Key in keyof Image]: Image[Key] } & { readonly base: string };

/** Steps that change users, owners or the system of the machine they run on. */
const NEEDS_IMAGE = /\b(useradd|groupadd|adduser|chown|apt-get)\b|--owner=/;

/**
 * Takes the steps of a Dockerfile as Docker does, each stage in a folder of its own under `folder`: COPY honours
 * `.dockerignore`, RUN is given to `sh -c` in the stage's WORKDIR with the stage's ENV. A step of another kind is an error.
 *
 * @param context the folder that Docker would be given
 * @returns the last stage, and the base images in order
 */
export async function buildImage(context: string, folder: string): Promise<Image & { readonly bases: string[] }> {
  const isIgnored = readIgnored(join(context, '.dockerignore'));
  const stages = new Map<string, Stage>();
  let stage: Stage | undefined;
  for (const { instruction, rest } of readSteps(join(context, 'Dockerfile'))) {
    if (instruction === 'FROM') {
      const [, base = '', name = 'last'] = /^(\S+)(?: AS (\S+))?$/.exec(rest) ?? [];
      stage = newStage(base, join(folder, name));
      stages.set(name, stage);
      await mkdir(stage.root, { recursive: true });
    } else if (stage === undefined) {
      throw new Error(`${instruction} before FROM`);
    } else if (instruction === 'COPY') {
      await copy(rest, stage, stages, context, isIgnored);
    } else {
      await takeStep(instruction, rest, stage);
    }
  }
  if (stage === undefined) throw new Error('There is no FROM');
  return { ...stage, bases: [...stages.values()].map(({ base }) => base) };
}

function newStage(base: string, root: string): Stage {
  return { base, root, workdir: '/', env: {}, user: 'root', volumes: [], command: [], health: [], skipped: [] };
}

async function takeStep(instruction: string, rest: string, stage: Stage): Promise<void> {
  switch (instruction) {
    case 'WORKDIR':
      stage.workdir = rest;
      await mkdir(join(stage.root, rest), { recursive: true });
      return;
    case 'ENV':
      for (const [, name = '', value = ''] of rest.matchAll(/(\w+)=(\S+)/g)) stage.env[name] = value;
      return;
    case 'RUN':
      if (NEEDS_IMAGE.test(rest)) stage.skipped = [...stage.skipped, rest];
      else await run(['sh', '-c', rest], join(stage.root, stage.workdir), { ...buildEnvironment(), ...stage.env });
      return;
    case 'USER':
      stage.user = rest;
      return;
    case 'VOLUME':
      stage.volumes = [...stage.volumes, rest];
      return;
    case 'EXPOSE':
      return;
    case 'HEALTHCHECK':
      stage.health = JSON.parse(rest.slice(rest.indexOf('CMD ') + 4)) as string[];
      return;
    case 'CMD':
      stage.command = JSON.parse(rest) as string[];
      return;
    default:
      throw new Error(`${instruction} is not known here`);
  }
}

/** Comments between the lines of a step are dropped, as Docker does. */
function readSteps(path: string): Step[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  const text = lines.filter((line) => line.trim() !== '' && !line.startsWith('#')).join('\n');
  return text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => ({ instruction: line.split(' ', 1)[0] ?? '', rest: line.slice(line.indexOf(' ') + 1).trim() }));
}

async function copy(
  rest: string,
  stage: Stage,
  stages: ReadonlyMap<string, Stage>,
  context: string,
  isIgnored: (path: string) => boolean,
): Promise<void> {
  const words = rest.split(/\s+/);
  const from = words[0]?.startsWith('--from=') ? words.shift()?.slice('--from='.length) : undefined;
  const target = words.pop() ?? '';
  const source = from === undefined ? context : stages.get(from)?.root;
  if (source === undefined) throw new Error(`There is no stage ${from}`);
  const keep = (path: string) => from !== undefined || path === source || !isIgnored(relative(source, path));
  for (const word of words) {
    const path = join(source, word);
    const to = join(stage.root, resolve(stage.workdir, target));
    const isFolder = (await stat(path)).isDirectory();
    // The content of a folder, not the folder, is what goes into the target.
    const place = !isFolder && target.endsWith('/') ? join(to, basename(path)) : to;
    await cp(path, place, { recursive: true, filter: keep, verbatimSymlinks: true });
  }
}

/** A path is left out if it, or a folder above it, matches; the last pattern that matches decides. */
function readIgnored(file: string): (path: string) => boolean {
  const patterns = readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ again: line.startsWith('!'), matches: globMatcher(line.replace(/^!/, '')) }));
  return (path) => {
    const paths = path.split('/').map((_, index, parts) => parts.slice(0, index + 1).join('/'));
    return patterns.findLast(({ matches }) => paths.some(matches))?.again === false;
  };
}

function globMatcher(glob: string): (path: string) => boolean {
  if (/[[\]\\?]|\*\*/.test(glob)) throw new Error(`The pattern ${glob} is not known here`);
  const expression = new RegExp(`^${glob.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}$`);
  return (path) => expression.test(path);
}

/** This Node first on the PATH; of this machine's settings only those that npm needs to reach its registry. */
function buildEnvironment(): NodeJS.ProcessEnv {
  const needed = /^(home|(https?|no)_proxy|node_extra_ca_certs|ssl_cert_file|npm_config_(registry|cache|cafile))$/i;
  const passed = Object.entries(process.env).filter(([name]) => needed.test(name));
  // The packages were installed a moment ago, and the lock says what they must be.
  return { ...Object.fromEntries(passed), PATH: nodePath(), npm_config_prefer_offline: 'true' };
}

/** The PATH with this Node first and without the programs of this checkout's packages. */
export function nodePath(): string {
  const folders = (process.env.PATH ?? '').split(':').filter((folder) => !folder.includes('node_modules'));
  return [dirname(process.execPath), ...folders].join(':');
}

/** Rejects with what the command wrote when it fails; else its standard output. */
export function run(
  [program = '', ...args]: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
  user: { readonly uid?: number; readonly gid?: number } = {},
): Promise<string> {
  const child = spawn(program, args, { cwd, env, ...user, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${program} ${args.join(' ')} ended with ${code ?? signal}:\n${errors}${output}`));
    });
  });
}
