import { connect, type Socket } from 'node:net';
import WebSocket from 'ws';
import { DRIVER_MESSAGE_BURST, DRIVER_MESSAGES_PER_SECOND } from '../../../src/driver-app/allowance.ts';
import { MAX_DRIVER_SOCKETS } from '../../../src/limits.ts';
import { makePng } from '../../harness/bombs.ts';
import { driverToken } from '../../harness/stack-world.ts';
import { ask, smallPhoto } from '../phones.ts';
import { inWorld, type Row } from '../row.ts';
import { addressOf } from '../wire.ts';
import { keepOn, later, type World } from '../world.ts';
import { pickedUp } from './photos.ts';

const PHOTO_CONNECTIONS = 14;
const DAMAGED_BYTES = 100;
const REPORT_CONNECTIONS = 50;
const REOPEN_MS = 100;
const SIGN_IN_MS = 10_000;
/** Attackers have these addresses, and honest phones 127.0.0.1; only Linux has them without setting them up. */
const ATTACKERS = Array.from({ length: 9 }, (_, index) => `127.0.0.${2 + index}`);

/** Does the same over and over, so many at a time; what fails is done again. It ends with the row. */
function flood(world: World, atOnce: number, act: (index: number) => Promise<unknown>): { stop(): Promise<unknown> } {
  const all = Array.from({ length: atOnce }, (_, index) =>
    keepOn(world, 0, () => act(index).catch(() => later(REOPEN_MS))),
  );
  return { stop: () => Promise.all(all.map((one) => one.stop())) };
}

export const greedyPhotos: Row = {
  name: 'greedy-photos',
  what: `an honest photo while one driver sends damaged ones of 24 megapixels on ${PHOTO_CONNECTIONS} connections`,
  count: 20,
  run: (count, random) =>
    inWorld({ drivers: 2_000, stores: 10, apis: 1 }, async (world) => {
      const photo = await smallPhoto();
      const deliver = ({ orderId, key }: { orderId: string; key: string }, body: Buffer, type: string) =>
        ask(`${world.apis[0]?.url()}/driver/orders/${orderId}/deliver`, { method: 'POST', key, body, type });
      const hostile = await pickedUp(world, random);
      const damaged = makePng({ width: 6_000, height: 4_000 });
      damaged.subarray(-DAMAGED_BYTES).fill(0);
      const answers = new Map<number, number>();
      const flooding = flood(world, PHOTO_CONNECTIONS, async () => {
        const { status } = await deliver(hostile, damaged, 'image/png');
        answers.set(status, (answers.get(status) ?? 0) + 1);
      });
      await later(1_000);
      const problems: string[] = [];
      let slowestMs = 0;
      for (let done = 0; done < count; done++) {
        const honest = await pickedUp(world, random);
        const startedMs = performance.now();
        const { status } = await deliver(honest, photo, 'image/jpeg');
        slowestMs = Math.max(slowestMs, performance.now() - startedMs);
        if (status !== 200) problems.push(`photo: an honest one was answered with ${status}`);
      }
      await flooding.stop();
      const notes = [`honest photos took ${slowestMs.toFixed()} ms at most; the others were answered ${told(answers)}`];
      return { count, orders: count + 1, findings: problems, notes };
    }),
};

export const silentSockets: Row = {
  name: 'silent-sockets',
  what: "a driver's sign-in while other addresses hold silent sockets and open them again as they close",
  count: 20,
  run: (count, _random, scale) =>
    inWorld({ drivers: 200, stores: 1, apis: 1 }, async (world) => {
      const sockets = new Set<Socket>();
      const cut = () => {
        for (const socket of sockets) socket.destroy();
      };
      world.atClose(cut);
      const drivers = await world.sql`select id from drivers order by id limit ${count}`;
      const { host, port } = addressOf(world.apis[0]?.url() as string);
      let opened = 0;
      const silent = Math.ceil((MAX_DRIVER_SOCKETS + 50) * scale);
      const flooding = flood(world, silent, (index) => {
        return new Promise((closed) => {
          const localAddress = ATTACKERS[index % ATTACKERS.length] as string;
          const socket = connect({ host, port, localAddress });
          sockets.add(socket);
          socket.on('error', () => undefined).on('end', () => socket.destroy());
          socket.once('data', () => opened++);
          socket.once('close', () => {
            sockets.delete(socket);
            closed(later(REOPEN_MS));
          });
          socket.write(UPGRADE);
        });
      });
      await later(3_000);
      const problems: string[] = [];
      let slowestMs = 0;
      for (const { id } of drivers) {
        const startedMs = performance.now();
        const problem = await signIn(`ws://${host}:${port}/driver/live`, driverToken(id as string));
        slowestMs = Math.max(slowestMs, performance.now() - startedMs);
        if (problem !== null) problems.push(`sign-in: a driver was shut out: ${problem}`);
      }
      const stopped = flooding.stop();
      cut();
      await stopped;
      const notes = [`sign-ins took ${slowestMs.toFixed()} ms at most; ${opened} silent sockets were opened`];
      return { count, orders: 0, findings: problems, notes };
    }),
};

const UPGRADE =
  'GET /driver/live HTTP/1.1\r\nHost: faults\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';

/** Signs a driver in; null where they were told their state, else why not. */
function signIn(url: string, token: string): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url, { handshakeTimeout: SIGN_IN_MS });
    const finish = (problem: string | null) => {
      clearTimeout(timer);
      socket.terminate();
      resolve(problem);
    };
    const timer = setTimeout(finish, SIGN_IN_MS, 'no answer');
    socket.on('open', () => socket.send(JSON.stringify({ type: 'hello', token })));
    socket.on('message', () => finish(null));
    socket.on('error', (error) => finish(error.message));
    socket.on('close', (code) => finish(`closed with ${code}`));
  });
}

export const greedyReports: Row = {
  name: 'greedy-reports',
  what: 'a position over HTTP, of far too many from one driver',
  count: 20_000,
  run: (count) =>
    inWorld({ drivers: 200, stores: 1, apis: 1 }, async (world) => {
      const [greedy, honest] = (await world.sql`select id from drivers order by id limit 2`).map(({ id }) => id);
      const report = (driverId: string) => reportOf(world, driverId);
      const answers = new Map<number, number>();
      const startedMs = performance.now();
      let left = count;
      const work = async () => {
        while (left-- > 0) {
          const { status } = await report(greedy);
          answers.set(status, (answers.get(status) ?? 0) + 1);
        }
      };
      const flooding = Promise.all(Array.from({ length: REPORT_CONNECTIONS }, work));
      const problems: string[] = [];
      while (left > 0) {
        const { status } = await report(honest);
        if (status !== 200) problems.push(`report: another driver's was answered with ${status}`);
        await later(1_000 / DRIVER_MESSAGES_PER_SECOND);
      }
      await flooding;
      const seconds = (performance.now() - startedMs) / 1_000;
      const allowed = DRIVER_MESSAGE_BURST + Math.ceil(seconds * DRIVER_MESSAGES_PER_SECOND);
      const taken = answers.get(200) ?? 0;
      if (taken > allowed) problems.push(`report: ${taken} were taken, and ${allowed} are allowed`);
      const others = [...answers.keys()].filter((status) => status !== 200 && status !== 429);
      if (others.length > 0) problems.push(`report: some were answered with ${others.join(', ')}`);
      const notes = [`in ${seconds.toFixed(1)} s they were answered ${told(answers)}`];
      return { count, orders: 0, findings: problems, notes };
    }),
};

function reportOf({ apis }: World, driverId: string) {
  const body = { lat: 37.7, lng: -122.4 };
  return ask(`${apis[0]?.url()}/driver/location`, { method: 'POST', key: driverToken(driverId), body });
}

const told = (answers: ReadonlyMap<number, number>): string =>
  [...answers].map(([status, times]) => `${status} (${times} times)`).join(', ');
