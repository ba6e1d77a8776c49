/**
 * Drivers' phones that report a position each second over their sockets while something else is measured,
 * since positions are written behind all day. Exits with 1 where a socket fails or is closed.
 */
import { WebSocket } from 'ws';
import { PHONES_AT, phoneToken } from '../../test/harness/stack-world.ts';

const OPENING_AT_ONCE = 50;
const TURN_MS = 20;
const REPORT_MS = 1_000;
const HANDSHAKE_MS = 60_000;
const STEP_DEGREES = 0.0001;

const url = `${(process.env.URL as string).replace(/^http/, 'ws')}/driver/live`;
const phones = Number(process.env.PHONES ?? 500);
let ending = false;

function failed(why: string): void {
  if (ending) return;
  console.error(`a driver's socket ${why}`);
  process.exit(1);
}

function open(i: number): Promise<WebSocket> {
  const socket = new WebSocket(url, { handshakeTimeout: HANDSHAKE_MS, perMessageDeflate: false });
  socket.on('error', (error) => failed(`failed: ${error.message}`));
  socket.on('close', (code) => failed(`was closed with ${code}`));
  socket.on('open', () => socket.send(JSON.stringify({ type: 'hello', token: phoneToken(i) })));
  return new Promise((resolve) => socket.once('message', () => resolve(socket)));
}

const sockets: WebSocket[] = [];
while (sockets.length < phones) {
  const count = Math.min(OPENING_AT_ONCE, phones - sockets.length);
  sockets.push(...(await Promise.all(Array.from({ length: count }, (_, i) => open(sockets.length + i)))));
}

/** Each phone has its own moment of the second. */
let next = 0;
const startedMs = performance.now();
setInterval(() => {
  const due = Math.floor(((performance.now() - startedMs) / REPORT_MS) * phones);
  for (; next < due; next++) {
    const step = Math.floor(next / phones) * STEP_DEGREES;
    sockets[next % phones]?.send(JSON.stringify({ type: 'position', lat: PHONES_AT.lat + step, lng: PHONES_AT.lng }));
  }
}, TURN_MS);

process.once('SIGTERM', () => {
  ending = true;
  for (const socket of sockets) socket.terminate();
  process.exit(0);
});
console.log('ready');
