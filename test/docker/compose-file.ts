import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export const COMPOSE = join(import.meta.dirname, '../../docker-compose.yml');
const TWO = join(import.meta.dirname, '../../docker-compose.two.yml');
export const PASSWORDS = { POSTGRES_PASSWORD: 'longandrandom', REDIS_PASSWORD: 'alsolong' };

export type ComposeService = {
  readonly environment: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly restart?: string;
  readonly stop_grace_period?: string;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly command?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly networks?: { readonly default: { readonly ipv4_address: string } };
  readonly ulimits?: { readonly nofile: number };
};

/** The services of a compose file as a person gets them who has set these variables. */
export function readCompose(
  file: string,
  variables: Readonly<Record<string, string>> = {},
): Readonly<Record<string, ComposeService>> {
  const document: unknown = parse(readFileSync(file, 'utf8'), { merge: true });
  return (interpolate(document, variables) as { services: Record<string, ComposeService> }).services;
}

type Overriding = Partial<ComposeService> & { readonly extends?: { readonly file: string; readonly service: string } };

/** The services of both files, as Compose merges them: what is there twice is the second file's, variables apart. */
export function readTwo(variables: Readonly<Record<string, string>>): Readonly<Record<string, ComposeService>> {
  const base = readCompose(COMPOSE, variables);
  const over: Readonly<Record<string, Overriding>> = readCompose(TWO, variables);
  const merged = Object.entries(over).map(([name, { extends: extended, ...own }]) => {
    const below = base[extended?.service ?? name];
    return [name, { ...below, ...own, environment: { ...below?.environment, ...own.environment } }];
  });
  return { ...base, ...Object.fromEntries(merged) };
}

/** The service's own two, by default as with the passwords alone. */
export function services(variables: Record<string, string> = PASSWORDS): {
  api: ComposeService;
  worker: ComposeService;
} {
  const { api, worker } = readCompose(COMPOSE, variables);
  if (!api || !worker) throw new Error('a service is missing');
  return { api, worker };
}

/** Values are interpolated and keys are not. Forms other than `${NAME:-default}` and `${NAME:?why}` are refused. */
function interpolate(value: unknown, variables: Readonly<Record<string, string>>): unknown {
  if (Array.isArray(value)) return value.map((item) => interpolate(item, variables));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, interpolate(item, variables)]));
  }
  if (typeof value !== 'string') return value;
  const known = /\$\{([A-Z0-9_]+):([-?])([^${}]*)\}/g;
  if (value.replaceAll(known, '').includes('$')) throw new Error(`${value} is not known here`);
  return value.replaceAll(known, (_all, name: string, form: string, otherwise: string) => {
    if (!variables[name] && form === '?') throw new Error(`required variable ${name} is missing a value: ${otherwise}`);
    return variables[name] || otherwise;
  });
}
