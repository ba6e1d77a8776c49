import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { hashSecret } from '../../src/domain/ids.ts';
import { createDriverAllowances } from '../../src/driver-app/allowance.ts';
import { createDriverLive } from '../../src/driver-app/live.ts';
import { MAX_UNSIGNED_DRIVER_SOCKETS } from '../../src/limits.ts';
import type { SocketBehaviour } from '../../src/transport/live-socket.ts';
import { driverState, DRIVER_TOKEN as TOKEN } from '../harness/driver-state.ts';
import { startServer } from '../http/support.ts';
import { DRIVER_ID } from '../tracking/orders.ts';

const UPGRADE =
  'GET /driver/live HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
const AT_ONCE = 50;

async function start() {
  const live = createDriverLive({
    drivers: { find: async (hash) => (hash === hashSecret(TOKEN) ? { driverId: DRIVER_ID } : null) },
    actions: { setDuty: async (_driverId, onDuty) => ({ onDuty }) },
    positions: { report: () => 'taken', last: () => null },
    store: { findDriverStates: async (ids) => new Map(ids.map((id) => [id, driverState(true)])) },
    allowances: createDriverAllowances(Date.now),
    now: Date.now,
    clock: { now: Date.now },
    failed: (error) => {
      throw error;
    },
  });
  onTestFinished(() => live.close());
  return startServer({ sockets: [live.behaviour as SocketBehaviour<unknown>] });
}

/** A socket that says nothing; resolves once it is open, or was cut for a later one. */
function openSilent(port: number, localAddress: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => undefined);
    socket.once('data', () => resolve());
    socket.once('close', () => resolve());
    socket.write(UPGRADE);
  });
}

/** Signs a driver in; resolves with whether they were told their state. */
function signIn(port: number): Promise<boolean> {
  const phone = new WebSocket(`ws://127.0.0.1:${port}/driver/live`);
  onTestFinished(() => phone.terminate());
  return new Promise((resolve) => {
    phone.on('open', () => phone.send(JSON.stringify({ type: 'hello', token: TOKEN })));
    phone.on('message', () => resolve(true));
    phone.on('error', () => resolve(false));
    phone.on('close', () => resolve(false));
  });
}

// Only Linux has a network of loopback addresses without setting it up.
it.runIf(process.platform === 'linux')(
  'drivers sign in while other addresses open more silent sockets than there is room for, again and again',
  async () => {
    const { port, server } = await start();
    let opened = 0;
    let isOver = false;
    const flood = async () => {
      while (!isOver) {
        await openSilent(port, `127.0.0.${2 + (opened % 9)}`);
        opened += 1;
      }
    };
    const flooding = Array.from({ length: AT_ONCE }, flood);
    try {
      await expect.poll(() => opened).toBeGreaterThan(MAX_UNSIGNED_DRIVER_SOCKETS + 100);
      for (let times = 0; times < 20; times += 1) {
        const before = opened;
        expect(await signIn(port)).toBe(true);
        await expect.poll(() => opened).toBeGreaterThan(before);
      }
      expect(server.openSockets).toBeLessThanOrEqual(MAX_UNSIGNED_DRIVER_SOCKETS + 1);
    } finally {
      isOver = true;
      await Promise.all(flooding);
    }
  },
);
