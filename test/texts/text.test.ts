import { describe, expect, test } from 'vitest';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import type { OptionalText } from '../../src/domain/customer-text.ts';
import { ON_THE_WAY_USEFUL_SECONDS, SENDER_REFUSED_PAUSE_SECONDS } from '../../src/limits.ts';
import { limitConcurrency } from '../../src/postgres/batched-reads.ts';
import type { FaultOrder } from '../../src/sandbox/faults.ts';
import type { CallOrder } from '../../src/sandbox/twilio-stand-in.ts';
import type { ChangedOrder } from '../../src/store/orders/changes.ts';
import { OPT_OUT_ASKED_AGAIN_SECONDS } from '../../src/store/texts/text-rows.ts';
import { createSmsJob, createTextJob } from '../../src/texts/text-jobs.ts';
import { TEXT_LOOKUP_SECONDS } from '../../src/texts/texting.ts';
import { statusUrlOf } from '../../src/texts/twilio-calls.ts';
import { twilioRoutes } from '../../src/texts/twilio-route.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, UNSTAMPED } from '../harness/orders.ts';
import { textSenderOf, twilioStandIn } from '../harness/stand-ins.ts';
import { storeOf } from '../harness/store.ts';
import { startServer } from '../http/support.ts';

const database = await useFreshDatabase();

const ok = { kind: 'delay', ms: 0 } as const;
const lost = { kind: 'reset', effect: 'before' } as const;
const ALL: readonly OptionalText[] = ['on_the_way', 'delivered', 'not_delivered'];
const SOON = { interval: 20 };
let phones = 0;

type Options = {
  faults?: FaultOrder;
  calls?: CallOrder;
  loseWrites?: number;
  mayText?: () => boolean;
  perPhone?: number;
  phone?: string;
};

/** An order with a driver, the jobs of its texts, and the stand-in, which calls this service's routes. */
async function world(options: Options = {}) {
  const { sql } = database;
  const tables = storeOf(sql, 'test');
  const sender: boolean[] = [];
  const events = new OrderEvents();
  const { url } = await startServer({
    routes: twilioRoutes({
      authToken: 'sandbox',
      addressesOf: () => ['https://public.example'],
      store: tables,
      events,
      senderSeen: async (works) => sender.push(works),
      observe: () => undefined,
    }),
  });
  const reach = (address: string) => address.replace('https://public.example', url);
  const standIn = await twilioStandIn({ reach }, options.faults);
  standIn.orderCalls(options.calls ?? {});
  const twilio = textSenderOf(standIn.url);

  const { retailerId, keyId } = await addStoreRow(sql);
  await tables.setTextKinds(retailerId, ALL);
  const driverId = await addDriverRow(sql);
  const { orderId, jobs, order } = await addOrder(sql, { retailerId, keyId }, { driverId });
  const phone = options.phone ?? `+1415778${String(1_000 + phones++)}`;
  await sql`update customers set phone = ${phone} where id = ${order.customerId}`;
  let lose = options.loseWrites ?? 0;
  const deps = {
    store: {
      ...tables,
      async recordTexts(...texts: Parameters<typeof tables.recordTexts>) {
        if (lose-- > 0) throw new Error('the worker died before the write');
        return tables.recordTexts(...texts);
      },
    },
    orderLocks: limitConcurrency(1),
    texts: twilio,
    trackingUrl: 'https://track.example',
    statusUrlOf: statusUrlOf.bind(null, 'https://public.example'),
    mayText: options.mayText ?? (() => true),
    bounds: { perPhone: options.perPhone ?? 0, perStore: 0 },
    events,
    clock: { now: Date.now },
  };
  const [smsJob, textJob] = [createSmsJob(deps), createTextJob(deps)];
  const jobOf = (changed: ChangedOrder | null) => {
    const id = changed?.outbox.find(({ queue }) => queue === 'text')?.id ?? 0;
    return () => textJob({ orderId, outboxId: id });
  };
  const rows = async () =>
    Object.fromEntries(
      (await sql`select kind, status, failure_code from texts where order_id = ${orderId}`).map((row) => [
        row.kind,
        row.failure_code ?? row.status,
      ]),
    );
  const wait = async (seconds: number) => {
    for (const table of ['messages', 'texts']) {
      await sql`
        update ${sql(table)} set counted_at = counted_at - make_interval(secs => ${seconds}::int)
        where order_id = ${orderId}`;
    }
  };
  return {
    orderId,
    phone,
    token: order.trackingToken,
    standIn,
    sender,
    rows,
    sms: () => smsJob({ orderId, outboxId: jobs.sms?.id ?? 0 }),
    /** Runs the newest job of these texts when it is due, and says in how many seconds it was. */
    async runKept(queue: 'sms' | 'text') {
      const [row] = await sql`
        select id, extract(epoch from run_at - now())::int as due from outbox
        where order_id = ${orderId} and queue = ${queue} and done_at is null order by id desc limit 1`;
      if (row?.due > 0) await wait(row?.due + 1);
      const job = { orderId, outboxId: row?.id ?? 0 };
      return { due: row?.due, result: await (queue === 'sms' ? smsJob(job) : textJob(job)) };
    },
    pickUp: async () => jobOf(await tables.pickUpOrder(orderId, driverId, UNSTAMPED)),
    deliver: async () => jobOf(await tables.deliverOrder(orderId, driverId, 'photo.webp', UNSTAMPED)),
    giveUp: async () => jobOf(await tables.markUndeliverable(orderId, driverId, 'wrong_address', UNSTAMPED)),
    wait,
    /** What the customer was texted, without the words before the link. */
    links: () => (standIn.entries() as { body: string }[]).map(({ body }) => body.split('/').at(-1)),
    bodies: () => (standIn.entries() as { body: string }[]).map(({ body }) => body),
    tracking: async () => {
      const [row] = await sql`select sms_status, sms_failure_code from orders where id = ${orderId}`;
      return row?.sms_failure_code ?? row?.sms_status;
    },
  };
}

const DONE = { kind: 'done' };

describe('the texts of an order', () => {
  test('are sent once each, with links of their own, and Twilio tells that they arrived', async () => {
    const { sms, pickUp, deliver, links, bodies, token, rows, tracking, standIn } = await world();
    expect(await sms()).toEqual(DONE);
    expect(await (await pickUp())()).toEqual(DONE);
    expect(await (await deliver())()).toEqual(DONE);
    expect(links()).toEqual([token, `${token}?t=o`, `${token}?t=d`]);
    // Twilio sends none that is of no use any more: rounded, as some of its time has passed.
    const useful = (standIn.entries() as { validityPeriod: number }[]).map(({ validityPeriod: s }) => s / 3_600);
    expect(useful.map((hours) => Math.round(hours * 10) / 10)).toEqual([4, 1, 4]);
    expect(bodies()[1]).toBe(
      `Corner Market: your delivery is on its way. Follow it here: https://track.example/track/${token}?t=o`,
    );
    await expect.poll(rows, SOON).toEqual({ on_the_way: 'delivered', delivered: 'delivered' });
    await expect.poll(tracking, SOON).toBe('delivered');
  });

  test('say why a parcel was not delivered', async () => {
    const { pickUp, giveUp, bodies, rows } = await world();
    await pickUp();
    expect(await (await giveUp())()).toEqual(DONE);
    expect(bodies()).toEqual([expect.stringContaining('could not be handed over: the address was wrong')]);
    await expect.poll(rows, SOON).toMatchObject({ not_delivered: 'delivered' });
  });
});

const [LOOKED_UP] = TEXT_LOOKUP_SECONDS;

describe('after a send of unknown outcome', () => {
  test('a text is found by its link, and not by the one of another kind', async () => {
    const { sms, pickUp, wait, links, token } = await world({
      // The tracking text is sent, and the next one is lost.
      faults: { next: [ok, lost] },
    });
    await sms();
    const run = await pickUp();
    expect(await run()).toMatchObject({ kind: 'wait' });
    await wait(LOOKED_UP);
    expect(await run()).toMatchObject({ kind: 'wait' });
    await wait(60);
    expect(await run()).toEqual(DONE);
    expect(links()).toEqual([token, `${token}?t=o`]);
  });

  test('Twilio’s callback is the result, and no look-up is made', async () => {
    const { pickUp, links, rows } = await world({ loseWrites: 1 });
    const run = await pickUp();
    await expect(run()).rejects.toThrow('died before the write');
    await expect.poll(rows, SOON).toEqual({ on_the_way: 'delivered' });
    expect(await run()).toEqual(DONE);
    expect(links()).toHaveLength(1);
  });
});

describe('a text is not sent', () => {
  test('that the driver is on the way, once the order was handed over or an hour has passed', async () => {
    const late = await world();
    const run = await late.pickUp();
    await late.deliver();
    expect(await run()).toEqual(DONE);
    expect(await late.rows()).toMatchObject({ on_the_way: 'too_late' });
    const later = await world();
    const runLater = await later.pickUp();
    await database.sql`
      update texts set created_at = created_at - make_interval(secs => ${ON_THE_WAY_USEFUL_SECONDS})
      where order_id = ${later.orderId}`;
    expect(await runLater()).toEqual(DONE);
    expect(await later.rows()).toEqual({ on_the_way: 'too_late' });
    expect([...late.links(), ...later.links()]).toEqual([]);
  });

  test('to a country that is not allowed, and beyond the bound of a phone, whatever its kind', async () => {
    const abroad = await world({ mayText: () => false });
    await (await abroad.pickUp())();
    expect(await abroad.rows()).toEqual({ on_the_way: 'country_not_allowed' });
    const bounded = await world({ perPhone: 1 });
    await bounded.sms();
    await (await bounded.pickUp())();
    expect(await bounded.rows()).toEqual({ on_the_way: 'phone_limit' });
    expect([abroad.links().length, bounded.links().length]).toEqual([0, 1]);
  });

  test('to a phone that asked for none between the order and the send, until it asks again', async () => {
    const { sms, pickUp, deliver, phone, tracking, rows, links, token } = await world();
    const run = await pickUp();
    await storeOf(database.sql).setOptOut(phone, true, 'SMstop');
    expect([await sms(), await run()]).toEqual([DONE, DONE]);
    expect([await tracking(), await rows()]).toEqual(['opted_out', { on_the_way: 'opted_out' }]);
    await storeOf(database.sql).setOptOut(phone, false, 'SMstart');
    await (await deliver())();
    expect(links()).toEqual([`${token}?t=d`]);
  });
});

describe('what a customer answers', () => {
  test('at Twilio alone is asked about again by the text of another day, and a START there ends it', async () => {
    const { sms, pickUp, deliver, standIn, phone, rows } = await world();
    await sms();
    await expect.poll(() => standIn.calls().pending, SOON).toBe(0);
    standIn.orderCalls({ reach: () => null });
    standIn.receive({ from: phone, body: 'STOP' });
    await (await pickUp())();
    const store = storeOf(database.sql);
    const runLater = await deliver();
    expect(await store.findOptOut(phone)).toMatchObject({ optedOut: true, source: 'twilio' });
    const nextDay = () => database.sql`
      update text_opt_outs set changed_at = changed_at - make_interval(secs => ${OPT_OUT_ASKED_AGAIN_SECONDS})
      where source = 'twilio'`;
    await nextDay();
    const stopped = await world({ phone });
    standIn.receive({ from: phone, body: 'START' });
    await runLater();
    expect(await rows()).toEqual({ on_the_way: '21610', delivered: 'sent' });
    expect(await store.findOptOut(phone)).toMatchObject({ optedOut: false });
    await stopped.sms();
    expect(stopped.links()).toHaveLength(1);
  });

  test('at Twilio alone holds for a day from each refusal on', async () => {
    const { sms, pickUp, deliver, tracking, rows } = await world({ phone: '+15005550004' });
    await sms();
    await database.sql`
      update text_opt_outs set changed_at = changed_at - make_interval(secs => ${OPT_OUT_ASKED_AGAIN_SECONDS})
      where source = 'twilio'`;
    await (await pickUp())();
    await (await deliver())();
    expect([await tracking(), await rows()]).toEqual(['21610', { on_the_way: '21610', delivered: 'opted_out' }]);
    await storeOf(database.sql).setOptOut('+15005550004', false, null);
  });

  test('that comes with a call of Twilio’s is kept, too', async () => {
    const { sms, phone, tracking } = await world({ calls: { codeOf: () => 21610 } });
    await sms();
    await expect.poll(tracking, SOON).toBe('21610');
    expect(await storeOf(database.sql).findOptOut(phone)).toMatchObject({ optedOut: true, source: 'twilio' });
  });
});

describe('a text that no carrier takes from this sender', () => {
  test.each(['sms', 'text'] as const)('is kept, told and sent again until one does: %s', async (queue) => {
    let isRegistered = false;
    const order = await world({ calls: { codeOf: () => (isRegistered ? null : 30034), stages: ['sending', 'sent'] } });
    const { sms, pickUp, runKept, sender, standIn, tracking, rows } = order;
    expect(await (queue === 'sms' ? sms : await pickUp())()).toEqual(DONE);
    await expect.poll(() => sender, SOON).toEqual([false]);
    await expect.poll(() => standIn.calls().pending, SOON).toBe(0);
    if (queue === 'sms') expect(await tracking()).toBe('queued');
    for (const [pauses, expected] of [
      [1, [false, false]],
      [2, [false, false, true]],
    ] as const) {
      const { due, result } = await runKept(queue);
      expect(result).toEqual(DONE);
      expect(due).toBeGreaterThan((pauses - 0.5) * SENDER_REFUSED_PAUSE_SECONDS);
      await expect.poll(() => sender, SOON).toEqual(expected);
      await expect.poll(() => standIn.calls().pending, SOON).toBe(0);
      isRegistered = true;
    }
    await expect.poll(queue === 'sms' ? tracking : async () => (await rows()).on_the_way, SOON).toBe('delivered');
    expect(standIn.entries()).toHaveLength(3);
    expect((await runKept(queue)).due).toBeUndefined();
  });

  test('is not sent before its pause by the job whose send was refused before its answer', async () => {
    const { sms, runKept, tracking, sender, standIn } = await world({
      calls: { codeOf: () => 30034 },
      faults: { next: [{ kind: 'reset', effect: 'after' }] },
    });
    expect(await sms()).toMatchObject({ kind: 'wait' });
    await expect.poll(() => sender, SOON).toEqual([false]);
    // The report is recorded after the sender was told.
    await expect.poll(() => standIn.calls().pending, SOON).toBe(0);
    expect(await sms()).toMatchObject({ kind: 'wait' });
    expect([standIn.entries().length, await tracking()]).toEqual([1, 'queued']);
    // Both jobs are due, and one of them sends it.
    await runKept('sms');
    await sms();
    expect(standIn.entries()).toHaveLength(2);
  });

  test('is not found by a look-up after a send of unknown outcome', async () => {
    const codes = [30034];
    const { pickUp, runKept, wait, standIn, rows } = await world({
      calls: { codeOf: () => codes.shift() ?? null },
      faults: { next: [ok, lost] },
    });
    await (await pickUp())();
    await expect.poll(() => standIn.calls().pending, SOON).toBe(0);
    expect((await runKept('text')).result).toMatchObject({ kind: 'wait' });
    for (const seconds of TEXT_LOOKUP_SECONDS) {
      await wait(seconds);
      await runKept('text');
    }
    await expect.poll(async () => (await rows()).on_the_way, SOON).toBe('delivered');
    expect(standIn.entries()).toHaveLength(2);
  });
});
