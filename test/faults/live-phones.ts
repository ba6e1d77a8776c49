import { driverToken } from '../harness/stack-world.ts';
import type { Random } from '../harness/world.ts';
import { Follows, keepSockets, type LiveClient } from './live-sockets.ts';
import { later, type World } from './world.ts';

const MOST_PHONES = 20;
const LOOK_MS = 200;
/** The steps of an order that a phone shows. A phone is not told of other changes, as of a charge. */
const STEPS = ['driver_assigned', 'picked_up', 'undeliverable'];

type Phone = LiveClient & {
  readonly driverId: string;
  /** The step of each order that it shows. */
  orders: ReadonlyMap<string, number>;
  /** The orders that it has shown. */
  readonly had: Set<string>;
};

/**
 * Phones of the first drivers that get an order, on a socket each from then on. An open one is never behind the tables
 * for long, so that it gets every stop that stands in them for longer.
 */
export function startPhones({ sql, isClosed }: World, url: string, random: Random) {
  const phones: Phone[] = [];
  const broken: string[] = [];
  let isStopped = false;
  const isOver = () => isStopped || isClosed();
  const sockets = keepSockets(url, random, isOver);
  const follows = new Follows();

  function newPhone(driverId: string): Phone {
    const phone: Phone = {
      name: 'phone',
      path: '/driver/live',
      hello: { type: 'hello', token: driverToken(driverId) },
      ...{ driverId, orders: new Map(), had: new Set<string>() },
      hears({ type, orders }) {
        if (type !== 'state') return false;
        const before = phone.orders.keys();
        phone.orders = new Map(
          (orders as { id: string; sequence: number }[]).map(({ id, sequence }) => [id, sequence]),
        );
        for (const id of phone.orders.keys()) phone.had.add(id);
        for (const id of new Set([...before, ...phone.orders.keys()])) {
          follows.shows(nameOf(phone, id), phone.orders.get(id) ?? null);
        }
        return true;
      },
      isDone: () => false,
    };
    return phone;
  }

  async function run(): Promise<void> {
    for (; !isOver(); await later(LOOK_MS)) {
      const rows = await sql`
        select driver_id, id, status from orders where driver_id is not null and status = any(${STEPS})`;
      for (const phone of phones) {
        const said = new Map<string, number>();
        for (const { driver_id: of, id, status } of rows) if (of === phone.driverId) said.set(id, stepOf(status));
        for (const id of new Set([...said.keys(), ...phone.had])) {
          const shown = phone.orders.get(id) ?? null;
          follows.look(nameOf(phone, id), sockets.isOpen(phone), shown, said.get(id) ?? null);
        }
      }
      const known = new Set(phones.map(({ driverId }) => driverId));
      const others = new Set(rows.map(({ driver_id: id }) => String(id)).filter((id) => !known.has(id)));
      for (const driverId of [...others].slice(0, MOST_PHONES - phones.length)) {
        const phone = newPhone(driverId);
        phones.push(phone);
        sockets.open(phone);
      }
    }
  }

  const running = run().catch((error: unknown) => void broken.push(`phone: nobody looked: ${String(error)}`));
  return {
    /** Closes the phones; what went wrong. */
    async stop(): Promise<string[]> {
      isStopped = true;
      await running;
      sockets.close();
      return [...broken, ...sockets.problems, ...follows.findings];
    },
    /** As `startPages` has it, with the orders that phones showed. */
    seen() {
      const stops = phones.reduce((sum, { had }) => sum + had.size, 0);
      const who = `${phones.length} phones with ${stops} orders`;
      return { who, ...sockets.seen(), behindMs: follows.longestMs };
    },
  };
}

const nameOf = ({ driverId }: Phone, orderId: string): string => `phone: of driver ${driverId}, order ${orderId}`;

const stepOf = (status: string): number => STEPS.indexOf(status);
