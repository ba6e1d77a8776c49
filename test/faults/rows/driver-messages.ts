import WebSocket from 'ws';
import type { Random } from '../../harness/world.ts';
import { any, type Row, repeat } from '../row.ts';
import type { World } from '../world.ts';
import { besideGoodOrders } from './good-orders.ts';

const SOCKETS = 20;
/** Sent without a pause, while a driver may send 5 a second. */
const BURST = 200;
const CLOSED_MS = 10_000;
const SLACK_MEGABYTES = 100;

const MESSAGES = [
  '',
  '{',
  'null',
  '[]',
  '"hello"',
  '{"type":"hello"}',
  '{"type":"hello","token":1}',
  `{"type":"hello","token":"sdd_${'0'.repeat(32)}"}`,
  '{"type":"position","lat":37.7,"lng":-122.4}',
  '{"type":"position","lat":1e400,"lng":0}',
  '{"type":"position","lat":"37","lng":null}',
  '{"type":"duty","on_duty":"true"}',
  '{"type":"duty","on_duty":true}',
  '{"type":"__proto__","__proto__":{"type":"duty"}}',
  '{"type":"ping"}',
  '{"type":"\\ud800"}',
  '['.repeat(1_000),
  `{"a":"${'é'.repeat(500)}"}`,
] as const;

export const driverMessages: Row = {
  name: 'driver-messages',
  what: "a message on a driver's socket that is mutated, out of turn, or one of far too many",
  count: 20_000,
  run: (count, random) =>
    besideGoodOrders({ mostGrowthMb: SLACK_MEGABYTES }, async (world) => {
      const findings: string[] = [];
      await repeat(Math.max(SOCKETS, Math.ceil(count / BURST)), SOCKETS, async () => {
        const code = await flood(world, random);
        if (code === null) findings.push('flood: a socket that sends nothing of use was not closed');
      });
      return { count, findings };
    }),
};

/** Sends a burst on a new socket; returns the service's close code, or null where it did not close it. */
function flood({ apis }: World, random: Random): Promise<number | null> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${String(apis[0]?.url()).replace('http', 'ws')}/driver/live`);
    const finish = (code: number | null) => {
      clearTimeout(timer);
      socket.terminate();
      resolve(code);
    };
    const timer = setTimeout(finish, CLOSED_MS, null);
    socket.on('open', () => {
      for (let i = 0; i < BURST; i++) socket.send(mutated(any(MESSAGES, random), random));
    });
    socket.on('error', () => undefined);
    socket.on('close', (code) => finish(code));
  });
}

/** Half of the messages lose or change one character. */
function mutated(message: string, random: Random): string {
  if (random() < 0.5) return message;
  const at = Math.floor(random() * message.length);
  return `${message.slice(0, at)}${any(['', '"', '}', '\0', '🛵', '\ufeff'], random)}${message.slice(at + 1)}`;
}
