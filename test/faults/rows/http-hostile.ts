import WebSocket from 'ws';
import { HOSTILE_TEXTS } from '../../harness/hostile-texts.ts';
import { orderBody } from '../../harness/service.ts';
import { driverToken } from '../../harness/stack-world.ts';
import type { Random } from '../../harness/world.ts';
import { any, type Row } from '../row.ts';
import { KeptConnection } from '../wire.ts';
import { keepOn, later, type World } from '../world.ts';
import { besideGoodOrders, toldOf } from './good-orders.ts';

const ENV = { TRUST_PROXY: '1', STORE_RATE: '0' };
const CONNECTIONS = 8;
/** Least share of the clients that speak over sockets. */
const SOCKETS_PART = 0.1;
/**
 * Longest answer of `/healthz` meanwhile. Linear work on such a value takes a few milliseconds; the rest allows
 * for a busy machine. A cubic expression took 4 s for 3,200 spaces.
 */
const HEALTH_MS = 1_000;
const HEALTH_PAUSE_MS = 5;
const ANSWER_MS = 15_000;
const SLACK_MEGABYTES = 150;
/** A process that stands still answers nothing, and all that is left would wait for it. */
const MOST_FINDINGS = 20;
/** Behind 12,000 characters come the other headers; from Node 22 on the transport refuses more than 4 KB. */
const HEADER_LENGTH = 12_000;
const TARGET_LENGTH = 8_000;
const BODY_LENGTH = 60_000;
const MESSAGE_LENGTH = 1_000;
/** As many as a driver may send at once, with their hello and a ping. */
const MESSAGES = 15;

const HEADERS = [
  'Accept-Encoding',
  'Authorization',
  'Content-Type',
  'Cookie',
  'Host',
  'Idempotency-Key',
  'Origin',
  'User-Agent',
  'X-Forwarded-For',
] as const;
const ORDER_FIELDS = [
  ['retailer_id'],
  ['customer', 'name'],
  ['customer', 'email'],
  ['customer', 'phone'],
  ['customer', 'sms_opt_in'],
  ['pickup_address'],
  ['dropoff_address', 'line1'],
  ['dropoff_address', 'line2'],
  ['dropoff_address', 'city'],
  ['dropoff_address', 'state'],
  ['dropoff_address', 'zip'],
  ['delivery_tier'],
  ['external_id'],
  ['metadata'],
  ['items'],
  ['pickup_instructions'],
  ['dropoff_instructions'],
  ['leave_at_door'],
] as const;
const ACTIONS = ['pick-up', 'release', 'undeliverable', 'return'] as const;
const ACTION_FIELDS = ['reason', 'action_id', 'captured_at'] as const;
const POSITION_FIELDS = ['lat', 'lng', 'accuracy_m', 'heading', 'speed', 'captured_at'] as const;
const QUERY_FIELDS = [
  'status',
  'external_id',
  'created_after',
  'created_before',
  'updated_after',
  'limit',
  'cursor',
] as const;
const ORDER_ID = '01a2037d-1ae2-76a0-bb73-54073ca99160';

type Sent = {
  readonly method: string;
  readonly target: string;
  readonly key: string;
  readonly body?: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly inPieces?: boolean;
};
type Caller = { readonly store: World['stores'][number]; readonly token: string; readonly random: Random };

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
/** A text that is the worst for something, of about this length. */
const hostile = (length: number, random: Random): string => any(Object.values(HOSTILE_TEXTS), random)(length);
/** Characters that the transport takes in a header or a target. */
const visible = (text: string, spaces: string): string => text.replaceAll(/[^!-~]/gu, spaces);
const orderOf = ({ store }: Caller) => orderBody(store.id) as Record<string, unknown>;

/** Each kind of place where a store or a driver can put a value. */
const PLACES: Readonly<Record<string, (caller: Caller) => Sent>> = {
  'a header of an order': (caller) => {
    const name = any(HEADERS, caller.random);
    const headers = { [name]: visible(hostile(HEADER_LENGTH, caller.random), ' ').trim() };
    return { method: 'POST', target: '/orders/create', key: caller.store.apiKey, body: json(orderOf(caller)), headers };
  },
  "a header of a driver's": ({ token, random }) => {
    const headers = { [any(HEADERS, random)]: visible(hostile(HEADER_LENGTH, random), ' ').trim() };
    return { method: 'PUT', target: '/driver/duty', key: token, body: json({ on_duty: true }), headers };
  },
  'a field of an order': (caller) => {
    const order = orderOf(caller);
    const [group, name] = any(ORDER_FIELDS, caller.random);
    const text = hostile(BODY_LENGTH / 2, caller.random).slice(0, BODY_LENGTH / 6);
    if (name) order[group] = { ...(order[group] as object), [name]: text };
    else order[group] = text;
    return { method: 'POST', target: '/orders/create', key: caller.store.apiKey, body: json(order) };
  },
  'the names of an order': (caller) => {
    const text = hostile(BODY_LENGTH / 6, caller.random).slice(0, BODY_LENGTH / 6);
    return { method: 'POST', target: '/orders/create', key: caller.store.apiKey, body: json({ [text]: text }) };
  },
  'a body': ({ store, random }) => {
    const body = Buffer.from(hostile(BODY_LENGTH, random)).subarray(0, BODY_LENGTH);
    return { method: 'POST', target: '/orders/create', key: store.apiKey, body };
  },
  'a body in pieces of one byte': (caller) => {
    const body = json({ ...orderOf(caller), extra: 'x'.repeat(BODY_LENGTH / 4) });
    return { method: 'POST', target: '/orders/create', key: caller.store.apiKey, body, inPieces: true };
  },
  "a driver's action": ({ token, random }) => {
    const body = json({ reason: 'other', [any(ACTION_FIELDS, random)]: hostile(BODY_LENGTH / 6, random) });
    return { method: 'POST', target: `/driver/orders/${ORDER_ID}/${any(ACTIONS, random)}`, key: token, body };
  },
  "a driver's position": ({ token, random }) => {
    const body = json({ lat: 1, lng: 1, [any(POSITION_FIELDS, random)]: hostile(BODY_LENGTH / 6, random) });
    return { method: 'POST', target: '/driver/location', key: token, body };
  },
  'the query of a list': ({ store, random }) => {
    const text = encodeURIComponent(visible(hostile(TARGET_LENGTH, random), '+')).slice(
      0,
      any([1_500, TARGET_LENGTH], random),
    );
    return { method: 'GET', target: `/orders?${any(QUERY_FIELDS, random)}=${text}`, key: store.apiKey };
  },
  'the path of an order': ({ store, random }) => {
    const text = visible(hostile(TARGET_LENGTH, random), '%20').slice(0, any([1_500, TARGET_LENGTH], random));
    return { method: 'GET', target: `/orders/${text}`, key: store.apiKey };
  },
  'the path of a page': ({ store, random }) => {
    const text = visible(hostile(TARGET_LENGTH, random), '%20').slice(0, 1_500);
    return { method: 'GET', target: `/track/${text}/status`, key: store.apiKey };
  },
};

/** The bytes of a request; a header of the same name takes the place of a usual one. */
function bytesOf({ method, target, key, body, headers = {}, inPieces = false }: Sent): Buffer {
  const usual: Record<string, string> = {
    Host: 'faults',
    Authorization: `Bearer ${key}`,
    ...(body ? { 'Content-Type': 'application/json' } : {}),
    ...headers,
    ...(inPieces ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': String(body?.length ?? 0) }),
  };
  const lines = Object.entries(usual).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
  if (!body) return head;
  if (!inPieces) return Buffer.concat([head, body]);
  const pieces = Array.from(body, (byte) => Buffer.from([0x31, 0x0d, 0x0a, byte, 0x0d, 0x0a]));
  return Buffer.concat([head, ...pieces, Buffer.from('0\r\n\r\n')]);
}

export const hostileValues: Row = {
  name: 'hostile-values',
  what: 'a long value in a header, a field, a path or a message that is the worst for some expression or loop',
  count: 6_000,
  run: (count, random) =>
    besideGoodOrders({ env: ENV, mostGrowthMb: SLACK_MEGABYTES }, async (world) => {
      const url = world.apis[0]?.url() as string;
      const health = watchHealth(world, url);
      const findings: string[] = [];
      const tokens = (await world.sql<{ id: string }[]>`select id from drivers`).map(({ id }) => driverToken(id));
      const caller = (): Caller => ({ store: any(world.stores, random), token: any(tokens, random), random });
      const sockets = Math.ceil(count * SOCKETS_PART);
      const left = { requests: count - sockets, sockets: Math.ceil(sockets / MESSAGES) };
      const request = async () => {
        const connection = new KeptConnection(url);
        while (left.requests-- > 0 && findings.length < MOST_FINDINGS)
          findings.push(...(await sendOne(connection, caller())));
        connection.close();
      };
      const talk = async () => {
        // Each driver has one socket, and a bound of messages a second.
        for (let turn = 0; left.sockets-- > 0 && findings.length < MOST_FINDINGS; turn++) {
          findings.push(...(await talkOnce(url, tokens[turn % tokens.length] as string, random)));
        }
      };
      await Promise.all([...Array.from({ length: CONNECTIONS }, request), talk()]);
      const healthMs = await health.stop();
      const slowest = Math.max(...healthMs);
      if (slowest > HEALTH_MS) findings.push(`health: it answered after ${slowest.toFixed()} ms`);
      return { count, findings: [...findings, ...health.problems], notes: [`/healthz meanwhile: ${toldOf(healthMs)}`] };
    }),
};

/** Every request is answered, and never by an error of the service's own. */
async function sendOne(connection: KeptConnection, caller: Caller): Promise<string[]> {
  const place = any(Object.keys(PLACES), caller.random);
  const bytes = bytesOf((PLACES[place] as (caller: Caller) => Sent)(caller));
  const answer = await Promise.race([connection.ask(bytes), later(ANSWER_MS)]);
  if (!answer) connection.close();
  if (answer && answer.status < 500) return [];
  const shown = JSON.stringify(bytes.subarray(0, 300).toString('latin1'));
  return [`answer: ${answer ? answer.status : 'none'} to ${place}: ${shown}`];
}

/** Sends a driver's messages and a ping; the socket answers it, or is closed for what came before. */
function talkOnce(url: string, token: string, random: Random): Promise<string[]> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/driver/live`);
    const finish = (problems: string[]) => {
      clearTimeout(timer);
      socket.terminate();
      resolve(problems);
    };
    const timer = setTimeout(finish, ANSWER_MS, ['socket: a ping behind hostile messages was not answered']);
    socket.on('open', () => {
      socket.send(JSON.stringify({ type: 'hello', token }));
      for (let i = 0; i < MESSAGES; i++) socket.send(messageOf(random));
      socket.send('{"type":"ping"}');
    });
    socket.on('message', (data) => {
      if (String(data).includes('"pong"') || String(data).includes('"hello_first"')) finish([]);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => finish([]));
  });
}

function messageOf(random: Random): string {
  const text = hostile(MESSAGE_LENGTH, random).slice(0, MESSAGE_LENGTH / 6);
  const raw = Buffer.from(hostile(MESSAGE_LENGTH, random))
    .toString('utf8')
    .slice(0, MESSAGE_LENGTH / 3);
  return any(
    [
      raw,
      JSON.stringify({ type: text }),
      JSON.stringify({ type: 'position', lat: 1, lng: 1, [any(POSITION_FIELDS, random)]: text }),
      JSON.stringify({ type: 'duty', on_duty: text }),
    ],
    random,
  );
}

/** Asks for `/healthz` again and again on a connection of its own; keeps the times of the answers. */
function watchHealth(world: World, url: string) {
  const problems: string[] = [];
  const millis: number[] = [];
  const connection = new KeptConnection(url);
  const request = Buffer.from('GET /healthz HTTP/1.1\r\nHost: faults\r\n\r\n');
  const asking = keepOn(world, HEALTH_PAUSE_MS, async () => {
    const startedMs = performance.now();
    const answer = await Promise.race([connection.ask(request), later(ANSWER_MS)]);
    millis.push(performance.now() - startedMs);
    if (answer?.status !== 200) problems.push(`health: it was answered with ${answer?.status ?? 'nothing'}`);
    if (!answer) connection.close();
  });
  return {
    problems,
    async stop() {
      await asking.stop();
      connection.close();
      return millis;
    },
  };
}
