import { canBecome, type OrderStatus } from '../../../src/domain/order.ts';
import { driverToken } from '../../harness/stack-world.ts';
import type { Random } from '../../harness/world.ts';
import { anyOrder, note, send } from '../clients.ts';
import { type Answer, ask, askUntilTaken, smallPhoto } from '../phones.ts';
import { any, inWorld, type Row } from '../row.ts';
import { judgeTaps, LEADS_TO, type Tap, type TapKind } from '../taps.ts';
import type { World } from '../world.ts';

const ORDERS_AT_ONCE = 12;
/** Taps on one order before it is ended. */
const MOST_WAVES = 8;
const KINDS = Object.keys(LEADS_TO) as TapKind[];
const BODIES: Partial<Record<TapKind, object>> = {
  release: { reason: 'other' },
  undeliverable: { reason: 'other' },
};
const UNKNOWN = '01920000-0000-7000-8000-ffffffffffff';

type Phones = {
  readonly world: World;
  readonly random: Random;
  readonly driverIds: readonly string[];
  readonly photo: Buffer;
  readonly taps: Tap[];
  readonly problems: string[];
};
type Standing = { readonly status: OrderStatus; readonly driverId: string | null };
/** A tap to send; one without an id gets a new one. */
type Wish = { readonly driverId: string; readonly kind: TapKind; readonly actionId?: string };

export const driverTaps: Row = {
  name: 'driver-taps',
  what: 'taps of drivers: double, early, late, racing, of other drivers, on every API process',
  count: 5_000,
  run: (count, random) =>
    inWorld({ drivers: 2_000, stores: 10 }, async (world) => {
      const driverIds = (await world.sql`select id from drivers`).map(({ id }) => id as string);
      const phones: Phones = { world, random, driverIds, photo: await smallPhoto(), taps: [], problems: [] };
      let orders = 0;
      const client = async (): Promise<void> => {
        while (phones.taps.length < count) {
          orders++;
          await oneOrder(phones);
        }
      };
      await Promise.all(Array.from({ length: ORDERS_AT_ONCE }, client));
      const { taps, problems } = phones;
      const check = async (): Promise<string[]> => {
        const { events } = await world.records();
        const kept = await world.sql`select driver_id as "driverId", action_id as "actionId" from driver_actions`;
        return judgeTaps(taps, events, kept as unknown as { driverId: string; actionId: string }[]);
      };
      return { count: taps.length, orders, findings: problems, check };
    }),
};

/** Runs one order from its creation to its end, with waves of simultaneous taps. */
async function oneOrder(phones: Phones): Promise<void> {
  const { world, random } = phones;
  const order = anyOrder(world, random, false);
  note(world, order);
  const { orderId } = await send(world, order, random);
  if (orderId === null) return;
  const former: string[] = [];
  for (let wave = 0; wave < MOST_WAVES; wave++) {
    const { status, driverId } = await standing(world, orderId);
    if (driverId === null || nextOf(status).length === 0) break;
    if (former.at(-1) !== driverId) former.push(driverId);
    const wishes = wishesOf(phones, orderId, status, driverId, former.slice(0, -1));
    await Promise.all(wishes.map((wish) => tap(phones, orderId, wish)));
  }
  await end(phones, orderId, order.apiKey);
  if (random() < 0.1) await foreign(phones, orderId, former);
}

async function standing({ sql }: World, orderId: string): Promise<Standing> {
  const [row] = await sql`select status, driver_id as "driverId" from orders where id = ${orderId}`;
  return row as unknown as Standing;
}

const nextOf = (status: OrderStatus): TapKind[] => KINDS.filter((kind) => canBecome(status, LEADS_TO[kind]));

/** The simultaneous taps, mostly with the driver's next step among them. */
function wishesOf(
  { random, taps, driverIds }: Phones,
  orderId: string,
  status: OrderStatus,
  driverId: string,
  former: readonly string[],
): Wish[] {
  const next = any(nextOf(status), random);
  const mine = (kind: TapKind): Wish => ({ driverId, kind });
  const earlier = taps.filter((each) => each.orderId === orderId);
  const twin = { ...mine(next), actionId: newActionId(random) };
  const ways: (() => Wish[])[] = [
    () => [twin, twin, twin].slice(0, 2 + Math.floor(random() * 2)),
    () => [mine(next), mine(next)],
    () => nextOf(status).map(mine),
    () => [mine(next), mine(any(KINDS, random)), twin, twin],
    () => [mine(any(KINDS, random)), mine(any(KINDS, random))],
    () => [mine(next), ...(earlier.length > 0 ? [any(earlier, random), any(earlier, random)] : [])],
    () => [mine(next), { driverId: any(driverIds, random), kind: any(KINDS, random) }],
    () => former.map((old) => ({ driverId: old, kind: any(KINDS, random) })),
  ];
  return any(ways, random)();
}

const newActionId = (random: Random): string => `tap-${Math.floor(random() * 2 ** 52).toString(36)}`;

async function tap(phones: Phones, orderId: string, wish: Wish): Promise<void> {
  const { driverId, kind } = wish;
  const actionId = wish.actionId ?? newActionId(phones.random);
  const sentMs = performance.now();
  const { status, body } = await actOn(phones, orderId, driverId, kind, actionId);
  const done = status === 200 ? (body?.order as NonNullable<Tap['done']>) : null;
  const told = /^The order is (\w+);/.exec(String(body?.message))?.[1] ?? null;
  phones.taps.push({ orderId, driverId, kind, actionId, sentMs, heardMs: performance.now(), status, done, told });
}

function actOn(
  { world, random, photo }: Phones,
  orderId: string,
  driverId: string,
  kind: TapKind,
  actionId: string,
): Promise<Answer> {
  const url = `${any(world.apis, random).url()}/driver/orders/${orderId}/${kind}`;
  const sent = { method: 'POST', key: driverToken(driverId) };
  if (kind === 'deliver') {
    return askUntilTaken(`${url}?action_id=${actionId}`, { ...sent, body: photo, type: 'image/jpeg' });
  }
  return askUntilTaken(url, { ...sent, body: { ...BODIES[kind], action_id: actionId } });
}

/** Ends the order, so that its driver is free for the next one. */
async function end(phones: Phones, orderId: string, apiKey: string): Promise<void> {
  for (;;) {
    const { status, driverId } = await standing(phones.world, orderId);
    const step = nextOf(status).find((kind) => kind !== 'release');
    if (status === 'pending_dispatch') {
      const url = `${any(phones.world.apis, phones.random).url()}/orders/${orderId}/cancel`;
      await ask(url, { method: 'POST', key: apiKey, body: { reason: 'other' } });
      return;
    }
    if (driverId === null || step === undefined) return;
    await tap(phones, orderId, { driverId, kind: step });
  }
}

/** For another driver's order a driver gets the same reply as for one that never existed. */
async function foreign(phones: Phones, orderId: string, former: readonly string[]): Promise<void> {
  const driverId = phones.driverIds.find((id) => !former.includes(id)) as string;
  const kind = any(KINDS, phones.random);
  const [real, none] = await Promise.all(
    [orderId, UNKNOWN].map((id) => actOn(phones, id, driverId, kind, newActionId(phones.random))),
  );
  const seen = (answer: Answer | undefined): string => JSON.stringify({ ...answer?.body, request_id: null });
  if (seen(real) !== seen(none) || real?.status !== 404) {
    phones.problems.push(`foreign: ${kind} was answered with ${seen(real)}, of an unknown order with ${seen(none)}`);
  }
}
