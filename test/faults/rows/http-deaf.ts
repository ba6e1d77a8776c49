import WebSocket from 'ws';
import { hashSecret } from '../../../src/domain/ids.ts';
import { anyOrder, note, send } from '../clients.ts';
import { endedOnes, inWorld, type Row, type RowResult } from '../row.ts';
import { residentMegabytes } from '../wire.ts';
import { later, type World } from '../world.ts';

const SIZES = { drivers: 0, stores: 4, apis: 1, workers: 1 };
/** Share of drivers' sockets in a hundred deaf ones. An order may have 50 sockets, one of which reads. */
const DRIVERS_PART = 0.2;
const DEAF_PER_ORDER = 49;
const CHANGES = 3_000;
const DROP_MS = 15_000;
/** Sockets may hold 20 MB of it, 64 KB each; the rest is garbage of texts of 5 KB. */
const SLACK_MEGABYTES = 200;
const DEAF_DRIVER = 'Deaf driver';
const STORE_NAME = 'A store with a name of some length '.repeat(150);

type Watcher = { readonly socket: WebSocket; lastSequence: number; isClosed: boolean };

export const deafSockets: Row = {
  name: 'deaf-sockets',
  what: `a WebSocket that never reads, while its order or driver changes ${CHANGES.toLocaleString('en')} times`,
  count: 300,
  run: (count, random) => {
    const act = async (world: World): Promise<RowResult> => {
      const api = world.apis[0];
      const findings: string[] = [];
      // Long texts fill the kernel's buffers of a socket sooner.
      await world.sql`update retailers set name = ${STORE_NAME}`;
      const onDrivers = Math.max(1, Math.round(count * DRIVERS_PART));
      const onOrders = Math.max(1, count - onDrivers);
      const watched = Math.ceil(onOrders / DEAF_PER_ORDER);
      const tokens = (await makeOrders(world, watched + onDrivers, random)).slice(0, watched);
      const drivers = await addDrivers(world, onDrivers);
      const pages = Array.from({ length: onOrders }, (_, i) => tokens[i % tokens.length] as string);
      const url = String(api?.url()).replace('http', 'ws');
      const deaf = [
        ...(await Promise.all(pages.map((token) => open(`${url}/track/${token}/live`, null)))),
        ...(await Promise.all(drivers.map((token) => open(`${url}/driver/live`, token)))),
      ];
      const readers = await Promise.all(tokens.map((token) => open(`${url}/track/${token}/live`, null)));
      world.atClose(() => {
        for (const { socket } of [...deaf, ...readers]) socket.terminate();
      });
      for (const { socket } of deaf) socket.pause();
      const before = residentMegabytes(api?.pid() as number);
      const most = await changeEverything(world, tokens, api?.pid() as number);
      await later(2_000);
      const last = await lastSequences(world);
      readers.forEach(({ lastSequence, isClosed }, i) => {
        const wanted = last.get(tokens[i] as string);
        if (isClosed) findings.push('reader: a socket that reads was dropped');
        else if (lastSequence !== wanted) findings.push(`reader: it heard of ${lastSequence} and not of ${wanted}`);
      });
      if (most - before > SLACK_MEGABYTES) findings.push(`memory: grew by ${(most - before).toFixed()} MB`);
      for (const { socket } of deaf) socket.resume();
      await later(DROP_MS);
      const kept = deaf.filter(({ isClosed }) => !isClosed).length;
      if (kept > 0) findings.push(`sockets: ${kept} of ${deaf.length} that never read were not dropped`);
      const notes = [`the API process held ${before.toFixed()} MB before and ${most.toFixed()} MB at most`];
      return { count: deaf.length, orders: tokens.length, findings, notes };
    };
    return inWorld(SIZES, act, endedOnes);
  },
};

/** An open socket; a driver's has sent its hello. */
function open(url: string, driverToken: string | null): Promise<Watcher> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url);
    const watcher: Watcher = { socket, lastSequence: 0, isClosed: false };
    socket.on('open', () => {
      if (driverToken !== null) socket.send(JSON.stringify({ type: 'hello', token: driverToken }));
    });
    socket.on('message', (data) => {
      const { order } = JSON.parse(String(data)) as { order?: { sequence: number } | null };
      watcher.lastSequence = order?.sequence ?? watcher.lastSequence;
      resolve(watcher);
    });
    socket.on('close', () => {
      watcher.isClosed = true;
    });
    socket.on('error', reject);
  });
}

/** Tokens of the last drivers, who have an order each. */
async function addDrivers({ sql }: World, count: number): Promise<string[]> {
  const tokens = Array.from({ length: count }, (_, i) => `sdd_${String(i).padStart(32, '0')}`);
  await sql`
    with deaf as (
      insert into drivers (id, name, phone, token_hash, tiers, on_duty)
      select gen_random_uuid(), ${DEAF_DRIVER}, '+14155550177', hash, '{standard}', false
      from unnest(${tokens.map(hashSecret)}::text[]) as hash
      returning id
    ), pairs as (
      select d.id as driver_id, o.id as order_id
      from (select id, row_number() over () as n from deaf) d
        join (select id, row_number() over (order by id desc) as n from orders) o using (n)
    )
    update orders o set status = 'driver_assigned', driver_id = p.driver_id, assigned_at = now()
    from pairs p where o.id = p.order_id`;
  return tokens;
}

/** Tracking tokens of orders without other events. */
async function makeOrders(world: World, count: number, random: () => number): Promise<string[]> {
  for (let i = 0; i < count; i++) {
    const order = anyOrder(world, random, true);
    note(world, order);
    await send(world, order, random);
  }
  const rows = await world.sql<{ token: string }[]>`select tracking_token as token from orders order by id`;
  return rows.map(({ token }) => token);
}

/** Changes every order and every driver repeatedly; returns the largest memory seen, in megabytes. */
async function changeEverything({ sql }: World, tokens: readonly string[], pid: number): Promise<number> {
  let most = 0;
  for (let i = 0; i < CHANGES; i++) {
    await sql`
      with changed as (
        update orders set sequence = sequence + 1 where tracking_token = any(${[...tokens]}::text[]) returning id)
      select pg_notify('sameday', 'faults:details:' || string_agg(id::text, ',')) from changed`;
    await sql`select pg_notify('sameday', 'faults:driver:' || id) from drivers where name = ${DEAF_DRIVER}`;
    // Notices that come faster than they are read are merged, and then too little is sent to fill a buffer.
    if (i % 3 === 0) await later(10);
    if (i % 200 === 0) most = Math.max(most, residentMegabytes(pid));
  }
  return Math.max(most, residentMegabytes(pid));
}

async function lastSequences({ sql }: World): Promise<Map<string, number>> {
  const rows = await sql<{ token: string; sequence: number }[]>`select tracking_token as token, sequence from orders`;
  return new Map(rows.map(({ token, sequence }) => [token, sequence]));
}
