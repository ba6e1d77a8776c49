import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { CliCommand } from '../../src/cli/command.ts';
import { settingNames } from '../../src/config.ts';
import { STORE_EVENT_TYPES } from '../../src/domain/store-event.ts';
import { openMetrics } from '../../src/runtime/metrics.ts';
import { allRoutes, anything, functionsOf } from '../harness/all-routes.ts';
import { ROOT } from './markdown.ts';

/**
 * What the code says of itself: settings, commands, routes, metrics, events. Read from its own data structures where they
 * can be had without a server, else from its text.
 */

export function source(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The text of every TypeScript file below a folder. */
/** The stand-in of Twilio without its senders, which only an operator names. */
export function recipients(): string {
  return source('src/sandbox/twilio-stand-in.ts').replace(/const REFUSED_SENDERS[^}]+}/, '');
}

export function sources(folder: string): string {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => source(join(folder, name)))
    .join('\n');
}

/** The members of `type Name = 'a' | 'b'` in a file. */
export function union(path: string, name: string): string[] {
  const [, members = ''] = new RegExp(`type ${name} =([^;]+);`).exec(source(path)) ?? [];
  return all(members, /'(\w+)'/g);
}

/** The distinct first groups of every match. */
export function all(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, group = '']) => group))];
}

/** Every environment variable that the settings read. */
export const settings = settingNames;

/** Every HTTP route, its parameters written `{name}`, and every WebSocket as `WebSocket /path`. */
export async function routes(): Promise<string[]> {
  const http = (await allRoutes()).map(({ method, pattern }) => `${method.toUpperCase()} ${pattern}`);
  const live = all(sources('src/tracking') + sources('src/driver-app'), /path: '(\/[^']+)'/g);
  return [...new Set([...http, ...live.map((path) => `WebSocket ${path}`)])].map((route) =>
    route.replaceAll(/:(\w+)/g, '{$1}'),
  );
}

/** Where commands are made. */
const COMMANDS = ['commands', 'payments', 'texts', 'events', 'driver-app'].map((name) => `src/${name}`);

/** Every command of the operator's command line with its options. */
export async function commands(): Promise<Map<string, readonly string[]>> {
  const program = new CliCommand(
    'sameday',
    () => async () => undefined,
    () => async () => undefined,
  );
  const added = (await Promise.all(COMMANDS.map(functionsOf)))
    .flat()
    .filter(([name]) => /^add\w+Commands?$/.test(name));
  for (const [, add] of added) add(program, program.act);
  return new Map(leaves(program, '').map(([name, command]) => [name, optionsOf(command)]));
}

function leaves(command: Command, path: string): [string, Command][] {
  return command.commands.flatMap((child): [string, Command][] => {
    const name = `${path} ${child.name()}`.trim();
    return child.commands.length > 0 ? leaves(child, name) : [[name, child]];
  });
}

const optionsOf = (command: Command): string[] => command.options.map(({ long }) => long ?? '');

/** A metric with its labels, of which a histogram has `le` in its buckets. */
export type Metric = { readonly name: string; readonly type: string; readonly labels: readonly string[] };

/** The service's own metrics, without those of Node and the process. */
export async function metrics(): Promise<Metric[]> {
  const opened = openMetrics(anything as never, anything as never);
  opened.watchTls(new Date(0));
  opened.watch(anything as never, anything as never, anything as never, anything as never);
  const known = opened.registry.getMetricsAsArray().map((metric) => {
    const { name, type, labelNames = [] } = metric as unknown as MetricOfRegistry;
    return { name, type, labels: labelNames };
  });
  opened.registry.clear();
  return known.filter(({ name }) => name.startsWith('sameday_'));
}

/** What prom-client's types do not show. */
type MetricOfRegistry = { readonly name: string; readonly type: string; readonly labelNames?: readonly string[] };

/** The events that stores are told of. */
export const storeEvents = (): string[] => [...STORE_EVENT_TYPES];
