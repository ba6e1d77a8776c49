import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { OPTIONAL_TEXTS, TEXT_KINDS } from '../../src/domain/customer-text.ts';
import { ERROR_CODES } from '../../src/domain/errors.ts';
import { HOLD_REASONS } from '../../src/domain/hold.ts';
import { CANCEL_REASONS, RELEASE_REASONS, UNDELIVERABLE_REASONS } from '../../src/domain/order.ts';
import { HELD_REASONS, PAYOUT_STATUSES } from '../../src/domain/payout.ts';
import { TIER_IDS } from '../../src/domain/tier.ts';
import { DELIVERY_STATUSES } from '../../src/domain/webhook.ts';
import { signWebhook } from '../../src/events/webhook-signature.ts';
import { MAX_EVENT_WAIT_SECONDS } from '../../src/http/field-errors.ts';
import { schemas } from '../../src/http/schemas.ts';
import { MIGRATION_DB_CONNECTIONS, PROCESS_DB_CONNECTIONS, QUEUE_DB_CONNECTIONS } from '../../src/limits.ts';
import { WAIT_REASONS } from '../../src/matcher/wait-reason.ts';
import { openMetrics } from '../../src/runtime/metrics.ts';
import { QUEUES } from '../../src/store/outbox-rows.ts';
import { HTTP_LIMITS } from '../../src/transport/http-limits.ts';
import { ROWS } from '../faults/rows/index.ts';
import { anything } from '../harness/all-routes.ts';
import { BOUNDS } from '../harness/bounds.ts';
import {
  all,
  commands,
  type Metric,
  metrics,
  routes,
  settings,
  source,
  sources,
  storeEvents,
  union,
} from './code-facts.ts';
import { blocks, codes, PAGES, page, rows, section } from './markdown.ts';

const integrate = page('docs/integrate.md');
const drive = page('docs/drive.md');
const operate = page('docs/operate.md');
const deploy = page('docs/deploy.md');

/** What stands between backticks in the first cell of each row. */
const firstCells = (text: string): string[] => rows(text).flatMap(([first = '']) => codes(first));
const missing = (names: readonly string[], from: readonly string[]): string[] =>
  names.filter((name) => !from.includes(name));

test('deploy.md has a row for each setting, and no other', () => {
  const named = firstCells(section(deploy, '## Settings'));
  expect(named.sort()).toEqual(settings());
});

test('deploy.md says how many connections to Postgres a process opens', () => {
  const text = deploy.replaceAll(/\s+/g, ' ');
  const withoutRedis = PROCESS_DB_CONNECTIONS + QUEUE_DB_CONNECTIONS;
  const [, ...each] = /up to (\d+) connections to Postgres with Redis, and up to (\d+) without/.exec(text) ?? [];
  expect(each).toEqual([`${PROCESS_DB_CONNECTIONS}`, `${withoutRedis}`]);
  expect(text).toContain(`A process opens up to ${withoutRedis} of Postgres's connections`);
  // A start tries DATABASE_URL, the schema and the clock, and without Redis the queues' client.
  expect(text).toContain(`${withoutRedis + 4} for a moment after its start`);
  const two = 2 * (PROCESS_DB_CONNECTIONS + MIGRATION_DB_CONNECTIONS + 3);
  expect(text).toContain(`two processes with Redis take up to ${two}`);
});

test('no page names a setting or a bound that does not exist', () => {
  const known = [...settings(), ...BOUNDS.map(({ name }) => name)];
  for (const { path, text } of PAGES) {
    const named = codes(text).filter((code) => /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/.test(code));
    expect(missing(named, known), path).toEqual([]);
  }
});

/** A command where it is named: `retailer create --name …`; null for what is none. */
function commandIn(code: string, known: ReadonlyMap<string, readonly string[]>) {
  const [, group = '', rest = ''] = /^([a-z]+)( [a-z-]+)?/.exec(code) ?? [];
  const name = known.has(group) ? group : group + rest;
  const isCommand = [...known.keys()].some((each) => each === name || (rest !== '' && each.startsWith(`${group} `)));
  return isCommand ? { name, options: all(code, /(--[a-z][a-z-]*)/g) } : null;
}

test('drive.md and integrate.md name the oldest browsers that the pages are built for', () => {
  const built = all(source('scripts/build-web.mjs'), /'((?:chrome|firefox|safari)[\d.]+)'/g);
  for (const text of [drive, integrate]) {
    const [, ...named] = /oldest browsers [a-z ]+ Chrome (\d+), Firefox (\d+) and Safari ([\d.]+\d)/.exec(text) ?? [];
    expect(['chrome', 'firefox', 'safari'].map((name, index) => name + named[index])).toEqual(built);
  }
});

test('operate.md names every command with its options', async () => {
  const known = await commands();
  expect(known.size).toBeGreaterThan(20);
  const named = codes(operate).flatMap((code) => commandIn(code, known)?.name ?? []);
  expect(missing([...known.keys()], named)).toEqual([]);
  const flags = new Set([...known.values()].flat());
  expect(missing([...flags], all(operate, /`[^`]*?(--[a-z-]+)/g))).toEqual([]);
});

test('no page names a command or an option that does not exist', async () => {
  const known = await commands();
  const typed = (text: string) =>
    blocks(text, 'sh').flatMap((block) => all(block.replaceAll('\\\n', ' '), /sameday -- ([a-z][^\n]*)/g));
  for (const { path, text } of PAGES) {
    for (const code of [...codes(text), ...typed(text)]) {
      const command = commandIn(code, known);
      if (!command) continue;
      const options = [...(known.get(command.name) ?? []), '--json', '--help'];
      expect(known.has(command.name), `${path}: ${code}`).toBe(true);
      expect(missing(command.options, options), `${path}: ${code}`).toEqual([]);
    }
  }
});

test('operate.md says which lists have no status', async () => {
  const lists = [...(await commands())].filter(([, options]) => options.includes('--after'));
  const without = lists.filter(([, options]) => !options.includes('--status')).map(([name]) => name);
  const [, told = ''] = rows(section(operate, '### Lists')).find(([first]) => first === '`--status`') ?? [];
  expect(codes(told)).toEqual(without);
});

test('npm scripts are named, and those that are named exist', () => {
  const { scripts } = JSON.parse(source('package.json')) as { scripts: Record<string, string> };
  const text = PAGES.map((each) => each.text).join('\n');
  const named = [...all(text, /npm run (?:-s )?([\w:-]+)/g), ...all(text, /npm (start|test)\b/g)];
  expect(missing(Object.keys(scripts), named)).toEqual([]);
  expect(missing(named, [...Object.keys(scripts), 'bench:'])).toEqual([]);
});

/** Which page an address belongs to. */
function pageOf(route: string): string {
  if (/ \/(?:driver|openapi-drivers)\b/.test(route)) return drive;
  const ofStores = / \/(?:orders|quotes|account|events|webhooks|sandbox|track|assets|docs|openapi)\b/;
  return ofStores.test(route) ? integrate : operate;
}

test('every address is named on the page of those who use it', async () => {
  const known = await routes();
  expect(known.length).toBeGreaterThan(20);
  for (const route of known) {
    const [method = '', path = ''] = route.split(' ');
    const named = codes(pageOf(route)).map((code) => code.split('?')[0]);
    expect(named, route).toContain(method === 'WebSocket' ? path : route);
  }
});

test('no page names an address that does not exist', async () => {
  const known = await routes();
  const forms = known.map((route) => new RegExp(`^${route.replaceAll(/\{\w+\}/g, '[^/]+')}$`));
  for (const { path, text } of PAGES) {
    const named = codes(text).filter((code) => /^(?:GET|POST|PUT|PATCH|DELETE) \//.test(code));
    const asked = blocks(text, 'sh').flatMap((block) => all(block, /\$BASE(\/[^"?\s]*)/g));
    for (const code of named)
      expect(
        forms.some((form) => form.test(code.split('?')[0] ?? '')),
        `${path}: ${code}`,
      ).toBe(true);
    for (const address of asked) {
      const isKnown = forms.some((form) => new RegExp(form.source.replace(/^\^\w+ /, '^')).test(address));
      expect(isKnown, `${path}: ${address}`).toBe(true);
    }
  }
});

test('a page sets each variable that its commands use before they do', () => {
  for (const { path, text } of PAGES) {
    const lines = blocks(text, 'sh').join('\n').split('\n');
    const unset = lines.filter((line, at) => {
      const before = lines.slice(0, at + 1).join('\n');
      return all(line, /\$\{?([A-Z][A-Z_]+)/g).some((name) => !new RegExp(`\\b${name}=`).test(before));
    });
    expect(unset, path).toEqual([]);
  }
});

test('integrate.md has each error code with its status and whether it is retryable', () => {
  const told = rows(section(integrate, '## Handle errors')).slice(1);
  const known = Object.entries(ERROR_CODES).map(([code, { status, retryable }]) => [
    `\`${code}\``,
    String(status),
    retryable ? 'yes' : 'no',
  ]);
  expect(told.map((cells) => cells.slice(0, 3))).toEqual(known);
});

test('integrate.md gives requests more time than the service takes', () => {
  const js = blocks(integrate, 'js').join('\n').replaceAll('_', '');
  const [orderMs = 0, eventsMs = 0] = all(js, /AbortSignal\.timeout\((\d+)\)/g).map(Number);
  expect(orderMs).toBeGreaterThan(HTTP_LIMITS.bodyDeadlineMs + HTTP_LIMITS.requestDeadlineMs);
  expect(eventsMs).toBe(orderMs + MAX_EVENT_WAIT_SECONDS * 1_000);
  const told = rows(section(integrate, '## Set time-outs')).find(([first]) => first === 'whole request');
  expect(told?.[1]).toBe(`${orderMs / 1_000} s`);
  expect(integrate).toContain(`- [ ] The time-out of a request is at least ${orderMs / 1_000} s.`);
});

test('no page names an event that does not exist', () => {
  for (const { path, text } of PAGES) {
    const named = codes(text).filter((code) => /^order\.[a-z_]+$/.test(code));
    expect(missing(named, storeEvents()), path).toEqual([]);
  }
});

test('operate.md has a row for each metric, and no page names another', async () => {
  const known = (await metrics()).map(({ name }) => name);
  expect(known.length).toBeGreaterThan(10);
  expect(missing(known, firstCells(section(operate, '## Health, metrics and alerts')))).toEqual([]);
  for (const { path, text } of PAGES) {
    const named = all(text, /\b(sameday_[a-z_]+)/g).map((name) => name.replace(/_(?:bucket|sum|count)$/, ''));
    expect(missing(named, known), path).toEqual([]);
  }
});

test('operate.md quotes log lines that the code writes', () => {
  const lines = firstCells(section(operate, '## Logs'));
  expect(lines.length).toBeGreaterThan(5);
  const code = sources('src').replaceAll("\\'", "'");
  expect(lines.filter((line) => !code.includes(line))).toEqual([]);
});

test('integrate.md has a row for each field of an order with its longest length', () => {
  const table = rows(section(integrate, '### Fields of the request')).slice(1);
  // The sandbox's own field has a section of its own.
  const fields = fieldsOf(schemas.placeOrder).filter(({ field }) => !field.startsWith('sandbox'));
  expect(table.map(([field]) => field).sort()).toEqual(fields.map(({ field }) => `\`${field}\``).sort());
  for (const { field, required, maxLength } of fields) {
    const [, needed, rule] = table.find(([name]) => name === `\`${field}\``) ?? [];
    expect(needed, field).toBe(required ? 'yes' : 'no');
    // An id has a form of its own.
    if (maxLength !== undefined && field !== 'retailer_id') expect(rule, field).toContain(String(maxLength));
  }
});

test('integrate.md has every bad day that an order of the sandbox may ask for', () => {
  const table = rows(section(integrate, '### A bad day for one order')).slice(1);
  const { card, text, driver } = schemas.placeOrder.properties.sandbox.properties;
  const values = [card, text, driver].flatMap((each) => each.enum as readonly string[]);
  expect(table.map(([, value]) => value)).toEqual(values.map((value) => `\`${value}\``));
});

type Schema = {
  readonly type?: string;
  readonly required?: readonly string[];
  readonly maxLength?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
};
type Field = { readonly field: string; readonly required: boolean; readonly maxLength: number | undefined };

function fieldsOf(schema: Schema, path = ''): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, part]): Field[] => {
    if (part.properties) return fieldsOf(part, `${path}${name}.`);
    return [{ field: path + name, required: schema.required?.includes(name) ?? false, maxLength: part.maxLength }];
  });
}

test.each([
  ['parameters of the list', integrate, '### List orders', Object.keys(schemas.listOrders.properties)],
  ['tiers', integrate, '### Tiers', TIER_IDS],
  ['tiers', operate, '### Tiers', TIER_IDS],
  ['fields of an action', drive, '### HTTP', Object.keys(schemas.driverAction.properties)],
  ['error codes of the socket', drive, '### WebSocket', union('src/driver-app/messages.ts', 'DriverErrorCode')],
])('has a row for each of the %s', (_what, text, heading, names) => {
  expect(missing(names, firstCells(section(text, heading)))).toEqual([]);
});

test.each([
  ['reasons to cancel', integrate, '### Cancel an order', CANCEL_REASONS],
  ['reasons to give back', drive, '### HTTP', RELEASE_REASONS],
  ['reasons not to deliver', drive, '### HTTP', UNDELIVERABLE_REASONS],
  ['reasons to wait', operate, '### An order waits', WAIT_REASONS],
  ['reasons to hold', operate, '### An order waits', HOLD_REASONS],
  ['kinds of texts', integrate, '### Kinds of texts', TEXT_KINDS],
  ['optional texts', operate, '### Stores', OPTIONAL_TEXTS],
  ['queues', operate, '## Health, metrics and alerts', QUEUES],
  ['statuses of a delivery', operate, '### Webhooks and figures', DELIVERY_STATUSES],
  ['statuses of a payout', operate, '### Payouts', PAYOUT_STATUSES],
  ['reasons to hold a payout', operate, '### A payout is held', HELD_REASONS],
])('names each of the %s', (_what, text, heading, names) => {
  expect(names.length).toBeGreaterThan(0);
  expect(missing(names, codes(section(text, heading)))).toEqual([]);
});

test('integrate.md has the reasons to wait in the order in which they are said', () => {
  expect(firstCells(section(integrate, '### Why an order waits'))).toEqual([...HOLD_REASONS, ...WAIT_REASONS]);
});

test('operate.md shows the tiers of a new installation', () => {
  const [, inserted = ''] = /insert into tiers values([^;]+);/.exec(source('migrations/0001_orders.sql')) ?? [];
  const [, cases = ''] =
    /max_distance_meters = case id (.*) end;/.exec(source('migrations/0017_tier_distance.sql')) ?? [];
  const distanceOf = (id = '') => new RegExp(`'${id}' then (\\d+)`).exec(cases)?.[1] ?? /else (\d+)/.exec(cases)?.[1];
  const tiers = [...inserted.matchAll(/\('(\w+)', ([^)]+)\)/g)].map(([, id, values = '']) => [
    `\`${id}\``,
    ...values.split(', '),
    distanceOf(id),
  ]);
  const promises = source('migrations/0028_routes.sql');
  const promised = (id: string) =>
    new RegExp(`promise_minutes = (\\d+) where id = '${id}'`).exec(promises)?.[1] ??
    /default (\d+) check \(promise/.exec(promises)?.[1];
  for (const row of tiers) row.push(promised(row[0]?.replaceAll('`', '') ?? ''));
  expect(tiers.length).toBe(3);
  expect(rows(section(operate, '### Tiers'))).toEqual(expect.arrayContaining(tiers));
});

test('drive.md has each message and each close code of the socket', () => {
  const text = section(drive, '### WebSocket');
  const types = [
    ...all(source('src/driver-app/messages.ts'), /case '(\w+)'/g),
    ...all(source('src/driver-app/messages.ts'), /stringify\(\{ type: '(\w+)'/g),
  ];
  expect(types.length).toBeGreaterThan(5);
  for (const type of types) expect(text, type).toContain(`{"type": "${type}"`);
  expect(missing(closeCodes('src/driver-app/live.ts'), firstOf(text))).toEqual([]);
});

test('integrate.md has each close code of the tracking page’s socket', () => {
  const codesOfPage = closeCodes('src/tracking/live.ts');
  expect(codesOfPage.length).toBeGreaterThan(2);
  expect(missing(codesOfPage, firstOf(section(integrate, '## Link the tracking page')))).toEqual([]);
});

const closeCodes = (file: string): string[] => all(source(file), /^const [A-Z_]+ = (\d{4});/gm);
const firstOf = (text: string): string[] => rows(text).map(([first = '']) => first);

test('promises.md names each row of the faults, and no other', () => {
  const named = rows(section(page('docs/promises.md'), '## How they are tested'))
    .filter(([promise = '']) => /^\d/.test(promise))
    .flatMap(([, cell = '']) => codes(cell));
  expect(named.sort()).toEqual(ROWS.map(({ name }) => name).sort());
});

test('architecture.md names functions that stand in the files it names', () => {
  const steps = rows(page('docs/architecture.md')).filter(
    ([, file = '', name = '']) => /^`src\/.*`$/.test(file) && /^`\w+`$/.test(name),
  );
  expect(steps.length).toBeGreaterThan(20);
  const wrong = steps.filter(([, file = '', name = '']) => {
    const found = new RegExp(`\\b${name.slice(1, -1)}\\b`);
    return !found.test(source(file.slice(1, -1)));
  });
  expect(wrong).toEqual([]);
});

test('integrate.md has a function that verifies our signatures, and theirs alone', async () => {
  const code = blocks(integrate, 'js').find((block) => block.startsWith('// verify.mjs')) ?? '';
  const folder = mkdtempSync(join(tmpdir(), 'sameday-docs-'));
  try {
    writeFileSync(join(folder, 'verify.mjs'), code);
    const { verify } = (await import(join(folder, 'verify.mjs'))) as {
      verify(secret: string, headers: Record<string, string>, rawBody: string): unknown;
    };
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const body = JSON.stringify({ type: 'order.delivered', data: { name: 'José' } });
    const headers = signWebhook(secret, 'id', Date.now(), body);
    expect(verify(secret, headers, body)).toEqual(JSON.parse(body));
    expect(() => verify(secret, headers, `${body} `)).toThrow('wrong signature');
    expect(() => verify(secret, { ...headers, 'webhook-id': 'other' }, body)).toThrow('wrong signature');
    expect(() => verify(`whsec_${Buffer.alloc(32, 8).toString('base64')}`, headers, body)).toThrow('wrong signature');
    expect(() => verify(secret, signWebhook(secret, 'id', Date.now() - 600_000, body), body)).toThrow('too old');
    expect(() => verify(secret, {}, body)).toThrow();
    const other = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
    const rotated = signWebhook(other, 'id', Date.now(), body, secret);
    for (const either of [secret, other]) expect(verify(either, rotated, body)).toEqual(JSON.parse(body));
    expect(() => verify(`whsec_${Buffer.alloc(32, 8).toString('base64')}`, rotated, body)).toThrow('wrong signature');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test.each([
  ['place-order.mjs', 'placeOrder({}, "key")'],
  ['follow-events.mjs', ''],
])('the program %s asks again where a gateway answers in JSON of its own', async (name, call) => {
  const program = blocks(integrate, 'js').find((block) => block.startsWith(`// ${name}`)) ?? '';
  const refusal = { message: 'No.', error: { code: 'forbidden', retryable: false }, request_id: '1' };
  const bodies: unknown[] = [{ message: 'Bad gateway' }, { error: 'Bad gateway' }, null, refusal];
  const waitsMs: number[] = [];
  const run: () => Promise<unknown> = runInNewContext(
    `async () => {${program.replaceAll(/^(?:import .*|export )/gm, '')}\nreturn ${call}}`,
    {
      process: { env: {} },
      AbortSignal,
      existsSync: () => false,
      fetch: async () => Response.json(bodies.shift(), { headers: { 'Retry-After': 'Sun, 29 Nov 2026 08:00:00 GMT' } }),
      setTimeout: (goOn: () => void, ms: number) => {
        waitsMs.push(ms);
        goOn();
      },
    },
  );
  await expect(run()).rejects.toMatchObject({ message: 'forbidden: No. (1)' });
  expect(waitsMs.map((ms) => ms >= 1_000)).toEqual([true, true, true]);
});

type Alert = { readonly alert: string; readonly expr: string; readonly for: string };
type AlertRules = { readonly groups: readonly { readonly rules: readonly Alert[] }[] };
const alerts = (): Alert[] =>
  (parse(source('docs/alerts.yml')) as AlertRules).groups.flatMap((group) => [...group.rules]);

test('a proxy set up as deploy.md says logs no path of a request', () => {
  const servers = blocks(deploy, 'nginx').flatMap((block) => block.split(/^server /m).slice(1));
  expect(servers).toHaveLength(2);
  for (const server of servers) expect(server).toMatch(/^ {2}access_log off;\n {2}error_log \/dev\/null emerg;$/m);
  expect(blocks(deploy, '').join('\n')).toMatch(
    /^ {2}log \{\n {4}exclude http\.log\.error http\.handlers\.reverse_proxy\n {2}\}$/m,
  );
});

test('alerts.yml has the alerts of operate.md, and no other', () => {
  const rules = alerts().map((rule) => [rule.alert, rule.expr, rule.for]);
  const told = [...section(operate, '### Alerts').matchAll(/^\| (.+?) \| `(.+?)` \| (\d+) (min|s) \|$/gm)];
  expect(told.length).toBeGreaterThan(10);
  expect(rules).toEqual(
    told.map(([, alert, expr = '', n, unit]) => [
      alert,
      expr.replaceAll('\\|', '|'),
      `${n}${unit === 'min' ? 'm' : 's'}`,
    ]),
  );
});

/** The metrics that an expression reads, each with its conditions, and the labels by which it sums. */
function readBy(expr: string) {
  const series = [...expr.matchAll(/\b(sameday_[a-z_]+)(?:\{([^}]*)\})?/g)].map(([, name = '', matchers = '']) => ({
    name,
    matchers: [...matchers.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)].map(([, label = '', how = '', value = '']) => {
      return { label, pattern: how.endsWith('~') ? new RegExp(`^(?:${value})$`) : value };
    }),
  }));
  return { series, summedBy: all(expr, /\bby \(([^)]*)\)/g).flatMap((names) => names.split(/,\s*/)) };
}

const meets = (word: string, pattern: string | RegExp): boolean =>
  typeof pattern === 'string' ? word === pattern : pattern.test(word);

/** The series of a metric by the name that Prometheus knows. */
const seriesOf = ({ name, type, labels }: Metric): [string, readonly string[]][] =>
  type === 'histogram'
    ? [
        [`${name}_bucket`, [...labels, 'le']],
        [`${name}_sum`, labels],
        [`${name}_count`, labels],
      ]
    : [[name, labels]];

test('alerts read series, labels and values that there are', async () => {
  const known = new Map((await metrics()).flatMap(seriesOf));
  const statuses = Object.values(ERROR_CODES).map(({ status }) => String(status));
  const words = [...all(sources('src'), /'([^'\n]+)'/g), ...statuses];
  for (const { alert, expr } of alerts()) {
    const { series, summedBy } = readBy(expr);
    if (!expr.startsWith('up{')) expect(series.length, alert).toBeGreaterThan(0);
    for (const { name, matchers } of series) {
      expect([...known.keys()], alert).toContain(name);
      expect(missing([...matchers.map(({ label }) => label), ...summedBy], known.get(name) ?? []), alert).toEqual([]);
      for (const { pattern } of matchers) {
        expect(
          words.some((word) => meets(word, pattern)),
          `${alert}: ${pattern}`,
        ).toBe(true);
      }
    }
  }
});

test.each([
  ['none came', 0, 0, false],
  ['none fails', 3, 0, false],
  ['each tenth fails', 9, 1, false],
  ['each fifth fails', 8, 2, true],
  ['all of a few fail', 0, 3, true],
])('the alert "orders fail" knows when of the orders %s', async (_, made, failed, fires) => {
  const { observeRequest, registry } = openMetrics(anything as never, anything as never);
  const [method = '', route = ''] = (await routes()).find((each) => each === 'POST /orders/create')?.split(' ') ?? [];
  for (let n = 0; n < made; n++) observeRequest(route, method, 201, 5);
  for (let n = 0; n < failed; n++) observeRequest(route, method, 503, 5);
  for (let n = 0; n < 50; n++) observeRequest('/orders', 'GET', n % 2 ? 200 : 500, 5);
  const counted = (await registry.getSingleMetric('sameday_http_requests_total')?.get())?.values ?? [];
  registry.clear();
  const expr = alerts().find(({ alert }) => alert === 'orders fail')?.expr ?? '';
  // From nothing within the time of the rates, whose share is that of the sums.
  const sums = expr.replaceAll(/sum\(rate\((\w+\{[^}]*\})\[15m\]\)\)/g, (_rate, selector) => {
    const matchers = readBy(selector).series[0]?.matchers ?? [];
    const isRead = (labels: Readonly<Record<string, unknown>>) =>
      matchers.every(({ label, pattern }) => meets(String(labels[label]), pattern));
    return String(counted.filter(({ labels }) => isRead(labels)).reduce((sum, { value }) => sum + value, 0));
  });
  expect(sums).toMatch(/^\d+ \/ \d+ > [\d.]+$/);
  expect(runInNewContext(sums)).toBe(fires);
});
