import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findZip, foldAddress, withoutUnit } from '../src/domain/address.ts';
import { textBody } from '../src/domain/customer-text.ts';
import { identityOf, isSameRequest } from '../src/domain/idempotency.ts';
import { hasSecretForm, isId, isTrackingToken, keyModeOf } from '../src/domain/ids.ts';
import { networkOf } from '../src/domain/network.ts';
import { isPhone } from '../src/domain/phone.ts';
import { escapeUnseen } from '../src/domain/text.ts';
import { createDriverAllowances } from '../src/driver-app/allowance.ts';
import { driverDayRoute } from '../src/driver-app/duty-routes.ts';
import { validateAction, validateDuty, validateLocation } from '../src/driver-app/input.ts';
import { readDriverMessage } from '../src/driver-app/messages.ts';
import { readTracked } from '../src/driver-app/tracker-input.ts';
import { EventCursors } from '../src/events/event-cursors.ts';
import { EventWaits } from '../src/events/event-waits.ts';
import { eventsRoute } from '../src/events/events-list.ts';
import { webhookDeliveryRoutes } from '../src/events/webhook-deliveries.ts';
import { validateWebhookChange } from '../src/events/webhook-input.ts';
import { pathOf } from '../src/http/field-errors.ts';
import { idempotencyKeyOf } from '../src/http/idempotency.ts';
import { parseJsonObject } from '../src/http/json.ts';
import { createListTurns } from '../src/http/list-turns.ts';
import { warningsOf } from '../src/http/order-warnings.ts';
import { validatePlaceOrder } from '../src/http/place-order-input.ts';
import { storeReader } from '../src/http/readers.ts';
import { ordersList } from '../src/http/routes/orders-list.ts';
import * as patterns from '../src/http/schemas.ts';
import { MAX_PICKUP_ADDRESS_LENGTH } from '../src/http/schemas.ts';
import { createReadRates } from '../src/http/store-rate.ts';
import { validators } from '../src/http/validators.js';
import { loadAssets } from '../src/pages/assets.ts';
import { html } from '../src/pages/html.ts';
import { createStripeSignatures } from '../src/payments/stripe-signature.ts';
import { countScans } from '../src/photos/jpeg-scans.ts';
import { errorFields } from '../src/telemetry.ts';
import { isSignatureForm } from '../src/texts/twilio-calls.ts';
import { validateNotes } from '../src/tracking/dropoff-route.ts';
import { bearerToken, isMediaType, readHead } from '../src/transport/request.ts';
import type { HeaderName, RequestHead } from '../src/transport/route.ts';
import { readWebhookUrl } from '../src/vendors/webhook-client.ts';
import { loadZips, ZIPS_FILE } from '../src/vendors/zips.ts';
import { HOSTILE_TEXTS } from './harness/hostile-texts.ts';
import { letIn } from './http/support.ts';

const ROOT = join(import.meta.dirname, '..');
const LENGTH = 16 * 1024;

const headOf = (headers: Partial<Record<HeaderName, string>>, query = '', param = ''): RequestHead => ({
  method: 'GET',
  path: '/',
  params: [param],
  query: new URLSearchParams(query),
  header: (name) => headers[name],
  remoteAddress: () => '127.0.0.1',
  requestId: 'test',
});

/** A request as uWebSockets.js gives it, with `text` in these headers and wherever else a client has its say. */
function nativeOf(text: string, headers: readonly string[]): HttpRequest {
  const native = {
    forEach(each: (name: string, value: string) => void) {
      for (const name of headers) each(name, text);
    },
    getCaseSensitiveMethod: () => text,
    getUrl: () => text,
    getQuery: () => text,
    getParameter: () => text,
  };
  return native as unknown as HttpRequest;
}
const RESPONSE = { getRemoteAddressAsText: () => new ArrayBuffer(0) } as unknown as HttpResponse;

const withField = (text: string) => ({
  retailer_id: text,
  customer: { name: text, email: text, phone: text },
  pickup_address: text,
  dropoff_address: { line1: text, line2: text, city: text, state: text, zip: text },
  delivery_tier: text,
  external_id: text,
  metadata: { [text]: text },
  items: [{ name: text, quantity: text }],
  pickup_instructions: text,
  dropoff_instructions: text,
});
const zips = loadZips(ZIPS_FILE);

/** Everything of the service that reads what a client sent, without a network. */
function entries(): Readonly<Record<string, (text: string) => unknown>> {
  const folder = mkdtempSync(join(tmpdir(), 'sameday-assets-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'manifest.json'), '{}');
  writeFileSync(join(folder, 'a.js'), '');
  const assets = loadAssets(folder);
  const none = async () => ({ orders: [], next: null });
  const noEvents = async () => ({ events: [], nextCursor: '0', isUnknown: false, lostBefore: null });
  const list = ordersList({
    stores: letIn(storeReader({ retailerId: 'store' })),
    store: { listStoreOrders: none, listOrdersOfStores: none },
    reads: createReadRates(0),
    turns: createListTurns(),
    matcher: { whyWaiting: () => undefined, driver: () => undefined },
    now: () => 0,
  });
  const [deliveries] = webhookDeliveryRoutes({
    stores: letIn({ retailerId: 'store' } as never),
    store: {} as never,
    reads: createReadRates(0),
    turns: createListTurns(),
  });
  const stripeSignatures = createStripeSignatures(['whsec_test']);
  const events = eventsRoute({
    stores: letIn(storeReader({ retailerId: 'store' })),
    store: { readEvents: noEvents, readEventsOfStores: noEvents },
    reads: createReadRates(0),
    turns: createListTurns(),
    waits: new EventWaits(),
    cursors: new EventCursors(Buffer.alloc(32)),
  });
  const day = driverDayRoute({
    drivers: letIn({ driverId: 'driver' }),
    store: { findDriverDay: async () => ({ deliveries: 0, returns: 0, earningsCents: 0, heldCents: 0 }) },
    allowances: createDriverAllowances(() => 0),
  });
  return {
    'the target of a request': (text) => readHead(RESPONSE, nativeOf(text, []), 1, false),
    'Content-Length': (text) => readHead(RESPONSE, nativeOf(text, ['content-length']), 1, false),
    'Transfer-Encoding': (text) => readHead(RESPONSE, nativeOf(text, ['transfer-encoding']), 1, false),
    'X-Forwarded-For': (text) =>
      networkOf(readHead(RESPONSE, nativeOf(text, ['x-forwarded-for']), 1, true).head.remoteAddress()),
    Authorization: (text) => bearerToken(headOf({ authorization: text })),
    'Content-Type': (text) => isMediaType(text, ['application/json']),
    'Accept-Encoding': (text) => assets.serve('a.js', text),
    'Idempotency-Key': (text) => idempotencyKeyOf(headOf({ 'idempotency-key': text })),
    'a query': (text) => list.handle({ ...GIVEN, head: headOf({}, text) } as never),
    'the values of a query': (text) => {
      const query = new URLSearchParams({
        status: text,
        external_id: text,
        updated_after: text,
        limit: text,
        cursor: text,
        retailer_id: text,
      }).toString();
      return list.handle({ ...GIVEN, head: headOf({}, query) } as never);
    },
    'the query of events': (text) => {
      const query = new URLSearchParams({ after: text, limit: text, wait: text }).toString();
      return events.handle({ ...GIVEN, head: headOf({}, query) } as never);
    },
    'the query of a day': (text) => {
      const query = new URLSearchParams({ utc_offset_minutes: text }).toString();
      return day.handle({ ...GIVEN, head: headOf({}, query) } as never);
    },
    'Stripe-Signature': (text) => stripeSignatures.mayBe(text),
    'X-Twilio-Signature': (text) => isSignatureForm(text),
    'the name of a store in a text': (text) =>
      textBody({ kind: 'tracking', storeName: text, trackingToken: 'token', reason: null }, 'https://example.com'),
    'a body': (text) => parseJsonObject(Buffer.from(text)),
    'a value of a body': (text) => parseJsonObject(Buffer.from(JSON.stringify({ [text]: text }))),
    'the fields of an order': (text) => validatePlaceOrder(withField(text)),
    'the fields of a webhook': (text) => validateWebhookChange({ url: text, event_types: [text], [text]: 1 }, false),
    'a query of deliveries': (text) => {
      const query = new URLSearchParams({ status: text, limit: text, cursor: text }).toString();
      return deliveries?.handle({ ...GIVEN, head: headOf({}, query, text) } as never);
    },
    'the ZIP code of an address': (text) => findZip(text),
    // Only what has passed the schema is compared, and looked up.
    'a pickup address': (text) => {
      const address = Array.from(text.slice(0, 1_000)).slice(0, MAX_PICKUP_ADDRESS_LENGTH).join('');
      foldAddress(address);
    },
    'an address with a flat': (text) => withoutUnit(`${text} #4`),
    'an order without a key': (text) =>
      identityOf(
        { customer: { name: text }, dropoffAddress: { line1: text }, pickupAddress: text, extras: null } as never,
        null,
      ),
    'the fingerprint that was stored': (text) =>
      isSameRequest(text, { customer: {}, dropoffAddress: {}, extras: null } as never),
    'a name that nobody knows': (text) => [warningsOf({ [text]: 1, customer: { [text]: 1 } }), pathOf([text])],
    'a ZIP code': (text) => [zips.area(text), zips.areasOfPrefix(text), zips.inState(text, text)],
    'notes for a door': (text) => validateNotes({ dropoff_instructions: text, leave_at_door: text }),
    'a position': (text) => validateLocation({ lat: text, lng: 1, captured_at: text, [text]: text }),
    'an action': (text) => validateAction(validators.release, { reason: text, action_id: text, captured_at: text }),
    "a driver's message": (text) => readDriverMessage(text, 0),
    "a value of a driver's message": (text) => readDriverMessage(JSON.stringify({ type: 'hello', token: text }), 0),
    'a duty': (text) => validateDuty({ on_duty: true, until: text }, 0),
    'a position of a tracking app': (text) => {
      const parameters = new URLSearchParams({ id: text, lat: text, lon: text, timestamp: text, accuracy: text });
      const location = { timestamp: text, coords: { latitude: text, longitude: text, accuracy: text } };
      const json = JSON.stringify({ device_id: text, location });
      return [
        readTracked(headOf({}, String(parameters)), Buffer.alloc(0)),
        readTracked(headOf({}), Buffer.from(text)),
        readTracked(headOf({ 'content-type': 'application/json' }), Buffer.from(json)),
      ];
    },
    'the phone of a push': (text) =>
      validators.pushSubscription({ endpoint: text, keys: { p256dh: text, auth: text } }),
    'an id, a token, a phone': (text) => {
      for (const kind of ['api_key', 'organization_key', 'driver_token', 'tracker', 'sign_in_code'] as const) {
        hasSecretForm(kind, text);
      }
      return [keyModeOf(text), isId(text), isTrackingToken(text), isPhone(text)];
    },
    'a client’s address': (text) => networkOf(text),
    "a webhook's URL": (text) => [readWebhookUrl(text, false), readWebhookUrl(`https://${text}`, true)],
    'a cell of a list': (text) => escapeUnseen(text),
    'text on a page': (text) => html`<p>${text}</p>`,
    'a photo': (text) => countScans(Buffer.from(text, 'latin1')),
    'an error that quotes input': (text) => errorFields(new Error(text)),
  };
}
const GIVEN = { principal: { retailerId: 'store' }, body: Buffer.alloc(0) };

/** Input is refused by errors, too. */
function quietly(work: () => unknown): void {
  try {
    const result = work();
    if (result instanceof Promise) result.catch(() => undefined);
  } catch {}
}

/** Processor time of one run in milliseconds, which a busy machine does not lengthen. */
function millisOf(work: () => unknown): number {
  const before = process.cpuUsage();
  quietly(work);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** Above what linear work takes on 32 KB, and far below what quadratic work does. */
const QUICK_MS = 25;
const RUNS = 5;

/**
 * Whether work grows faster than its input: in the best of five runs, twice the input takes longer than QUICK_MS
 * and more than three times as long, and so again in two further trials. Quadratic work takes four times as long.
 * Then four times the input takes more than ten times as long: that is 16 times for quadratic work, and caches and
 * the collector of garbage do not make it of linear work, as they do of twice the input at times.
 */
function isSuperlinear(of: (length: number) => () => unknown, costOf = millisOf): boolean {
  const [once, twice] = [of(LENGTH), of(2 * LENGTH)];
  const best = (work: () => unknown) => Math.min(costOf(work), costOf(work));
  const isSlower = [1, 2, 3].every(() => {
    let [onceMs, twiceMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let run = 0; run < RUNS; run++) {
      twiceMs = Math.min(twiceMs, costOf(twice));
      if (twiceMs < QUICK_MS) return false;
      onceMs = Math.min(onceMs, costOf(once));
    }
    return twiceMs > 3 * onceMs;
  });
  return isSlower && best(of(4 * LENGTH)) > 10 * best(once);
}

test('quadratic work is told from linear work', () => {
  // By steps and not by a clock, which other work on the machine slows.
  const steps = (work: () => unknown) => work() as number;
  const quadratic = (length: number) => () => (length / 1_000) ** 2;
  const linear = (length: number) => () => length / 100;
  /** What takes a cache longer from some size on. */
  const leap = (length: number) => () => (length > LENGTH ? length / 100 : length / 200);
  const judged = [quadratic, linear, leap].map((of) => isSuperlinear(of, steps));
  expect(judged).toEqual([true, false, false]);
});

test('no input of 16 KB takes more than its share of time, wherever a client can put it', () => {
  const found: string[] = [];
  for (const [entry, read] of Object.entries(entries())) {
    for (const [shape, make] of Object.entries(HOSTILE_TEXTS)) {
      const of = (length: number) => {
        const text = make(length);
        return () => read(text);
      };
      if (isSuperlinear(of)) found.push(`${entry}: ${shape}`);
    }
  }
  expect(found).toEqual([]);
});

/** Expressions that no client's text reaches, or none that is long. */
const NOT_FED: Readonly<Record<string, string>> = {
  '^\\+1[2-9]\\d{9}$': 'phones, whose form is checked before, and of a fixed length',
  ':(\\w+)': 'patterns of our own routes',
  '(?:^|[._])(\\w)': 'types of our own webhooks',
  '[^\\x20-\\x7e]': 'headers of replies, which the service makes',
  '^http': 'the public address in the settings',
  '^\\/(?!\\/)': 'the address of map tiles in the settings',
  '^(https?:\\/\\/)((?:\\{s\\}\\.)?[\\w.-]+(?::\\d+)?)\\/': 'the address of map tiles in the settings',
  '\\/$': 'the addresses of geocoder and router in the settings',
  '^\\w{1,64}$': 'what the photo bucket answers',
  '^[0-9a-f]{32}\\.jpg$': 'names of photos, which the service makes',
  "[\\\\']": 'ids of orders, which the service makes',
  '^ *\\d+: [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]+):[0-9A-F]{4} [0-9A-F]{2} ([0-9A-F]{8}):': 'what Linux says of sockets',
  timeout: 'what the decoder of photos says',
  '[^a-z]': 'eight characters of an address',
  '[^\\p{L}\\p{N}]+': 'addresses, whose length is bounded',
  '^(?: |$)': 'the rest of an address, whose length is bounded',
  '(?:^| )(\\d+)$': 'the begin of an address, whose length is bounded',
  '^(\\d+) (.+)$': 'an address, whose length is bounded',
  '^(ECONNREFUSED|E(HOST|NET)UNREACH|EADDRNOTAVAIL|ETIMEDOUT)$': 'codes of errors',
  '^HPE_': 'codes of errors',
  '^[\\w-]{1,255}$': 'what Stripe has signed',
  '^\\d{1,10}$': 'what Twilio has signed',
  '^\\+?\\d{1,15}$': 'what Twilio has signed',
  '^\\d{1,5}$': 'why the service has closed a socket',
  'CERT|TLS|SSL|UNABLE_TO_': 'codes of errors',
  '(^|\\.)localhost\\.?$': 'the host of a URL of at most 2,000 characters',
};
/** Where clients' input is read; what the other folders get has passed these. */
const READERS = [
  'domain',
  'dispatch',
  'driver-app',
  'http',
  'pages',
  'tracking',
  'transport',
  'vendors',
  'telemetry.ts',
];

function filesOf(path: string): string[] {
  const whole = join(ROOT, 'src', path);
  if (statSync(whole).isFile()) return [whole];
  const names = readdirSync(whole, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts')).map((name) => join(whole, name));
}

/** The source of every expression that is written out in a file. */
function expressionsIn(file: string): string[] {
  const code = readFileSync(file, 'utf8')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/(?<=^|\s)\/\/.*$/gm, '');
  const literal = /(?<=[(=:,[!&|?{;]\s*|return )\/((?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/[dgimsuvy]*/g;
  return [...code.matchAll(literal)].map(([, source = '']) => source);
}

test('every expression that reads input was among that, or has a reason why it cannot be', () => {
  const fed = new Set<string>();
  const { exec } = RegExp.prototype;
  onTestFinished(() => {
    RegExp.prototype.exec = exec;
  });
  RegExp.prototype.exec = function record(text) {
    fed.add(this.source);
    return exec.call(this, text);
  };
  for (const read of Object.values(entries()))
    for (const make of Object.values(HOSTILE_TEXTS)) quietly(() => read(make(128)));
  RegExp.prototype.exec = exec;
  const written = [
    ...READERS.flatMap(filesOf).flatMap(expressionsIn),
    ...(Object.values(patterns) as unknown[]).filter(isText),
  ];
  expect(written.length).toBeGreaterThan(30);
  const left = written.filter((source) => !fed.has(source) && !fed.has(new RegExp(source).source) && !NOT_FED[source]);
  expect(left, 'give each a text that is its worst, or a reason in NOT_FED').toEqual([]);
});

const isText = (value: unknown): value is string => typeof value === 'string';
