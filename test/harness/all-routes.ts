import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Route } from '../../src/transport/route.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Where routes are made: by functions whose name ends in `Route` or `Routes`, or begins with `orders`. */
const SUBJECTS = ['payments', 'texts', 'events', 'photos', 'tracking', 'driver-app'].map((name) => `src/${name}`);
const FOLDERS = ['src/http/routes', ...SUBJECTS, 'src/sandbox'];

/**
 * Stands for whatever a function is handed that is called for its result's shape alone. It has every member,
 * can be called, and is no promise; a URL of the settings is not set.
 */
export const anything: unknown = new Proxy(() => anything, {
  get(_, name) {
    if (name === Symbol.toPrimitive) return () => '';
    if (typeof name === 'symbol' || name === 'then') return undefined;
    return /Url$/.test(name) ? null : anything;
  },
  apply: () => anything,
});

type Build = (...args: readonly unknown[]) => unknown;

/** Every exported function of a folder's modules, by its name. */
export async function functionsOf(folder: string): Promise<[name: string, build: Build][]> {
  const files = readdirSync(join(ROOT, folder)).filter((name) => name.endsWith('.ts'));
  const modules = await Promise.all(
    files.map((name) => import(join(ROOT, folder, name)) as Promise<Record<string, unknown>>),
  );
  return modules
    .flatMap((module) => Object.entries(module))
    .filter((entry): entry is [string, Build] => typeof entry[1] === 'function');
}

/** Every HTTP route of the service, as its function makes it without a service. */
export async function allRoutes(): Promise<Route[]> {
  const builders = (await Promise.all(FOLDERS.map(functionsOf)))
    .flat()
    .filter(([name]) => /Routes?$|^orders/.test(name));
  const built = builders
    .flatMap(([, build]) => build(anything))
    .filter((route): route is Route => typeof (route as Route | null)?.pattern === 'string');
  // A route may have a function of its own in a folder of which another function makes all.
  return [...new Map(built.map((route) => [`${route.method} ${route.pattern}`, route])).values()];
}
