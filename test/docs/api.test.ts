import { expect, test } from 'vitest';
import { DROPOFF_POINT_SOURCES } from '../../src/domain/dropoff.ts';
import type { ErrorCode } from '../../src/domain/errors.ts';
import { HOLD_REASONS } from '../../src/domain/hold.ts';
import {
  CANCEL_REASONS,
  canBecome,
  ORDER_STATUSES,
  PAYMENT_STATUSES,
  PICKUP_POINT_SOURCES,
  RELEASE_REASONS,
  UNDELIVERABLE_REASONS,
} from '../../src/domain/order.ts';
import { REJECTION_REASONS } from '../../src/domain/rejected-candidate.ts';
import { SCENARIO_PHONES } from '../../src/domain/scenario.ts';
import { DECLINE_PAUSE_SECONDS, retryAfterSeconds } from '../../src/domain/stripe-declines.ts';
import { ERROR_TEXTS } from '../../src/http/openapi/errors.ts';
import { ORDER_EVENTS } from '../../src/http/openapi/order-events.ts';
import { CREATED_ORDER, LISTED_ORDER, ORDER, SMS_STATUSES } from '../../src/http/openapi/order-schemas.ts';
import { WEBHOOKS } from '../../src/http/openapi/webhooks.ts';
import { WAIT_REASONS } from '../../src/matcher/wait-reason.ts';
import { cardAnswer } from '../../src/sandbox/stripe-objects.ts';
import { TEST_CARDS } from '../../src/sandbox/test-cards.ts';
import { ApiCheck, apiDocuments } from '../harness/api-document.ts';
import { all, recipients, sources, storeEvents, union } from './code-facts.ts';
import { blocks, codes, page, rows, section } from './markdown.ts';

/** What `docs/integrate.md` says is what the code and `/openapi.json` say: no value less, and none more. */
const integrate = page('docs/integrate.md');
const stores = new ApiCheck((await apiDocuments()).stores);

const below = (heading: string): string => section(integrate, heading);
const firstCell = ([first = '']: readonly string[]): string[] => codes(first);
const valuesOf = (values: readonly string[]): string[] => [...new Set(values)].toSorted();
/** The rows of the table below a heading whose header begins so. */
function table(heading: string, header: string): string[][] {
  const tables = below(heading)
    .split(/\n\s*\n/)
    .map(rows);
  const [, ...found] = tables.find(([first]) => first?.join(' | ').startsWith(header)) ?? [];
  expect(found.length, `${heading}: ${header}`).toBeGreaterThan(0);
  return found;
}
const fieldsOf = (schema: object): string[] => Object.keys((schema as { properties: object }).properties).toSorted();

test.each([
  ['### Statuses', 'status', ORDER_STATUSES],
  ['### Payment statuses', '`payment_status`', PAYMENT_STATUSES],
  ['### Text statuses', '`sms_status`', SMS_STATUSES],
  ['### Read one order', 'event `type`', Object.keys(ORDER_EVENTS)],
])('%s: the table of %s has these values and no other', (heading, header, values) => {
  const told = table(heading, header).flatMap(firstCell);
  expect(valuesOf(told)).toEqual(valuesOf(values));
});

test('the statuses lead to those that the code allows', () => {
  for (const [status = '', , next = ''] of table('### Statuses', 'status')) {
    const from = codes(status)[0] as (typeof ORDER_STATUSES)[number];
    const allowed = ORDER_STATUSES.filter((to) => canBecome(from, to));
    expect(valuesOf(codes(next)), from).toEqual(valuesOf(allowed));
  }
});

test.each([
  ['`waiting_because`', [...WAIT_REASONS, ...HOLD_REASONS]],
  ['`pickup_point_source`', PICKUP_POINT_SOURCES],
  ['`dropoff_point.source`', DROPOFF_POINT_SOURCES],
  ['`reason_code` of `cancelled`', CANCEL_REASONS],
  ['`reason_code` of `undeliverable` and `returned`', UNDELIVERABLE_REASONS],
  ['`reason_code` of `expired`', ['no_driver']],
  ['`passed_over`', REJECTION_REASONS],
])('the row of %s has its values and no other', (field, values) => {
  const [, told = ''] = table('### Read one order', 'field | values').find(([first]) => first === field) ?? [];
  expect(valuesOf(codes(told))).toEqual(valuesOf(values));
});

test('the reasons of a release and the failures of a text are all there, and no other', () => {
  const [, data = ''] = table('### Read one order', 'event `type`').find(([first]) => first === '`released`') ?? [];
  const reasons = codes(data).filter((code) => !['driver_id', 'reason'].includes(code));
  expect(valuesOf(reasons)).toEqual(valuesOf([...RELEASE_REASONS, 'driver_silent', 'driver_deactivated']));
  const [, failures = ''] = below('### Text statuses').split('`sms_failure_code` is');
  const told = codes(failures).filter((code) => /^[a-z_]+$/.test(code));
  expect(valuesOf(told)).toEqual(valuesOf(union('src/texts/texting.ts', 'TextFailure')));
});

test('the events of an order are those that the statements write, with their data', () => {
  const written = all(sources('src/store'), /\{ type: '(\w+)'/g);
  expect(written.filter((type) => !(type in ORDER_EVENTS))).toEqual([]);
  for (const [type = '', data = ''] of table('### Read one order', 'event `type`')) {
    const schema = ORDER_EVENTS[codes(type)[0] ?? ''] ?? {};
    const fields = 'properties' in schema ? fieldsOf(schema).filter((name) => name !== 'captured_at') : [];
    expect(
      fields.filter((name) => !codes(data).includes(name)),
      type,
    ).toEqual([]);
  }
});

test('each error is told in the words of the document', () => {
  const told = rows(below('## Handle errors')).slice(1);
  const texts = told.map(([code = '', , , meaning = '']) => [
    codes(code)[0],
    meaning.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1'),
  ]);
  expect(Object.fromEntries(texts)).toEqual(ERROR_TEXTS satisfies Record<ErrorCode, string>);
});

test('the rows of an order are the fields of the document', () => {
  const created = table('### Fields of the reply', 'field | meaning').flatMap(firstCell);
  expect(valuesOf(created)).toEqual(fieldsOf(CREATED_ORDER));
  const told = table('### Read one order', 'field | meaning').flatMap(firstCell);
  expect(valuesOf(told)).toEqual(fieldsOf(ORDER));
  const listed = codes(below('### List orders').split('Each order has')[1]?.split('\n\n')[0] ?? '');
  expect(valuesOf(listed)).toEqual(fieldsOf(LISTED_ORDER));
});

test('the webhooks of the document are those that the service sends, and the page shows a body of each that fits', () => {
  expect(Object.keys(WEBHOOKS).toSorted()).toEqual(storeEvents().toSorted());
  const shown = blocks(below('### Events'), 'json').map((json) => JSON.parse(json) as { type: string });
  expect(shown.map(({ type }) => type).toSorted()).toEqual(storeEvents().toSorted());
  for (const body of shown) expect(stores.problemOfWebhook(body)).toBeNull();
});

test('the replies that the page shows are those of the document', () => {
  const seen = { method: 'POST', path: '/orders/create', contentType: 'application/json' };
  const [created = ''] = blocks(below('## Create an order'), 'json');
  expect(stores.problemOf({ ...seen, status: 201, text: created })).toBeNull();
  const [error = ''] = blocks(below('## Handle errors'), 'json');
  expect(stores.problemOf({ ...seen, status: 400, text: error })).toBeNull();
});

test.each([
  ['### Ask for a quote', 'POST', '/quotes', 200],
  ['### Preview a cancellation', 'GET', '/orders/x/cancellation', 200],
  ['## Read events', 'GET', '/events', 200],
  ['## Receive webhooks', 'POST', '/webhooks', 201],
  ['### Test a webhook', 'POST', '/webhooks/x/test', 200],
])('%s: the reply that the page shows is that of the document', (heading, method, path, status) => {
  const [text = ''] = blocks(below(heading), 'json');
  const seen = { method, path, status, contentType: 'application/json', text };
  expect(stores.operationOf(method, path)).toBeDefined();
  expect(stores.problemOf(seen)).toBeNull();
});

test.each([
  ['### Ask for a quote', 'field | meaning', 'Quote'],
  ['### Preview a cancellation', 'field | meaning', 'Cancellation'],
  ['### Read your account', 'field of `account` | meaning', 'Account'],
])('%s: the rows are the fields of the document', (heading, header, schema) => {
  const told = table(heading, header).flatMap(firstCell);
  expect(valuesOf(told)).toEqual(fieldsOf(stores.document.components.schemas[schema] ?? {}));
});

test('the magic phones and cards do what the page says', () => {
  const standIn = recipients();
  const unreached = /SCENARIO_PHONES\.undelivered\]: (\d+)/.exec(standIn)?.[1];
  const phones = [
    ...[...standIn.matchAll(/'(\+1500555\d+)': \[(\d+)/g)].map(([, ...pair]) => pair),
    [SCENARIO_PHONES.undelivered, unreached],
  ];
  expect(phones.length).toBeGreaterThan(3);
  expect(
    rows(below('### Phones'))
      .slice(1)
      .map(([phone = '', code = '']) => [codes(phone)[0], codes(code)[0]]),
  ).toEqual(phones);
  const named = table('### Cards', '`--test-card`').map(([name = '', status = '', code = '']) => [
    codes(name)[0] ?? '',
    status,
    code,
  ]);
  expect(named.map(([name]) => name)).toEqual(Object.keys(TEST_CARDS));
  const cards = named.map(
    ([name, status, code]) => [TEST_CARDS[name as keyof typeof TEST_CARDS].paymentMethod, status, code] as const,
  );
  const others = table('### Cards', '`--payment-method`').map(
    ([name = '', status = '', code = '']) => [codes(name)[0] ?? '', status, code] as const,
  );
  for (const [method, status = '', code = ''] of [...cards, ...others]) {
    const first = cardAnswer(method, () => false);
    const last = cardAnswer(method, () => true);
    const failure = last?.kind === 'declined' ? last.declineCode : last ? undefined : 'resource_missing';
    const becomes = last?.kind === 'declined' ? 'failed' : (last?.kind ?? 'failed');
    expect([codes(status)[0], codes(code)[0]], method).toEqual([becomes, failure]);
    const { networkAdvice } = last?.kind === 'declined' ? last : {};
    const pause = failure === undefined ? null : retryAfterSeconds({ code: failure, networkAdvice });
    expect(/three attempts/.test(status), method).toBe(pause === 0);
    expect(/12 hours later/.test(status), method).toBe(pause === DECLINE_PAUSE_SECONDS);
    expect(/an hour later/.test(status), method).toBe(pause === 3_600);
    expect(/second attempt/.test(status), method).toBe(first?.kind === 'declined' && last?.kind === 'paid');
  }
});
