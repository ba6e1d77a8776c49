import { describe, expect, test } from 'vitest';
import type { OptionalText, TextKind } from '../../../src/domain/customer-text.ts';
import { newId } from '../../../src/domain/ids.ts';
import type { TextResult } from '../../../src/store/texts/messages.ts';
import { OPT_OUT_ASKED_AGAIN_SECONDS } from '../../../src/store/texts/text-rows.ts';
import type { TextReport } from '../../../src/store/texts/text-statuses.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, orderRow, UNSTAMPED } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { countSend, openText, recordText, SENDER } from '../../harness/vendor-rows.ts';
import { noticesDuring } from '../transaction.ts';

const database = await useFreshDatabase();
const { sql } = database;

const UNBOUNDED = { perPhone: 0, perStore: 0 };
const ALL: readonly OptionalText[] = ['on_the_way', 'delivered', 'not_delivered'];

/** An order with a driver, of a store with these texts. */
async function assigned(options: { kinds?: readonly OptionalText[]; smsOptIn?: boolean } = {}) {
  const store = storeOf(sql, 'me');
  const { retailerId, keyId } = await addStoreRow(sql);
  await store.setTextKinds(retailerId, options.kinds ?? ALL);
  const driverId = await addDriverRow(sql);
  const added = await addOrder(sql, { retailerId, keyId }, { driverId, smsOptIn: options.smsOptIn ?? true });
  const { orderId } = added;
  const events = async () =>
    (
      await sql`
        select sequence, type, data from order_events where order_id = ${orderId} and type like 'sms%' order by sequence`
    ).map((row) => ({ ...row }));
  const texts = async () =>
    (await sql`select kind, status, outbox_id from texts where order_id = ${orderId} order by created_at`).map(
      (row) => ({ ...row }) as { kind: OptionalText; status: string; outbox_id: number },
    );
  return {
    ...added,
    store,
    retailerId,
    driverId,
    events,
    texts,
    pickUp: (delaySeconds = 0) => store.pickUpOrder(orderId, driverId, UNSTAMPED, null, delaySeconds),
    deliver: () => store.deliverOrder(orderId, driverId, 'photo.webp', UNSTAMPED),
    giveUp: () => store.markUndeliverable(orderId, driverId, 'nobody_home', UNSTAMPED),
    row: () => orderRow(sql, orderId),
    report: (report: Partial<TextReport> & { status: TextReport['status'] }) =>
      store.recordTextReport({ orderId, kind: 'tracking', sid: 'SM1', failureCode: null, sender: SENDER, ...report }),
  };
}

const queuesOf = (changed: { outbox: readonly { queue: string }[] } | null) =>
  changed?.outbox.map(({ queue }) => queue).sort();

describe('a step of an order owes the text that its store has chosen, in the same statement', () => {
  test('one for the pickup and one for the delivery, each with its job', async () => {
    const order = await assigned();
    const pickedUp = await order.pickUp(5);
    expect(queuesOf(pickedUp)).toEqual(['text']);
    const [job] = pickedUp?.outbox ?? [];
    const [row] = await sql`
      select extract(epoch from b.run_at - t.created_at)::int as delay
      from texts t join outbox b on b.id = t.outbox_id where t.order_id = ${order.orderId}`;
    expect(row).toEqual({ delay: 5 });
    expect(queuesOf(await order.deliver())).toEqual(['text']);
    expect(await order.texts()).toEqual([
      { kind: 'on_the_way', status: 'queued', outbox_id: job?.id },
      { kind: 'delivered', status: 'queued', outbox_id: expect.any(Number) },
    ]);
  });

  test('one for a failed handover, by the driver or the operator', async () => {
    const [first, second] = [
      await assigned({ kinds: ['not_delivered'] }),
      await assigned({ kinds: ['not_delivered'] }),
    ];
    for (const order of [first, second]) expect(queuesOf(await order.pickUp())).toEqual([]);
    expect(queuesOf(await first.giveUp())).toEqual(['text']);
    expect(queuesOf(await second.store.giveUpForDriver(second.orderId))).toEqual(['text']);
    for (const order of [first, second])
      expect((await order.texts()).map(({ kind }) => kind)).toEqual(['not_delivered']);
  });

  test('none without consent, and none that the store has not chosen', async () => {
    for (const order of [await assigned({ smsOptIn: false }), await assigned({ kinds: [] })]) {
      await order.pickUp();
      await order.deliver();
      expect(await order.texts()).toEqual([]);
    }
  });

  test('none for a step that changes nothing', async () => {
    const order = await assigned();
    await order.pickUp();
    expect(await order.pickUp()).toBeNull();
    expect(await order.texts()).toHaveLength(1);
  });
});

describe('an optional text', () => {
  async function opened(kind: OptionalText = 'on_the_way') {
    const order = await assigned();
    await order.pickUp();
    if (kind === 'delivered') await order.deliver();
    if (kind === 'not_delivered') await order.giveUp();
    const outboxId = (await order.texts()).find((text) => text.kind === kind)?.outbox_id ?? 0;
    const open = async () =>
      (await order.store.openOptionalTexts([outboxId], UNBOUNDED, SENDER)).get(String(outboxId)) ?? null;
    const count = (earlierSends: number) =>
      order.store.countSends('text', [{ orderId: order.orderId, kind, earlierSends }]);
    const record = (result: TextResult) =>
      order.store.recordTexts('text', [{ orderId: order.orderId, kind, result, outboxId }], SENDER);
    return { ...order, outboxId, open, count, record };
  }

  test('is opened with its phone, its store’s name and its link', async () => {
    const { open, orderId, retailerId, order } = await opened();
    expect(await open()).toEqual({
      kind: 'on_the_way',
      orderId,
      retailerId,
      to: '+14155550123',
      storeName: 'Corner Market',
      trackingToken: order.trackingToken,
      earlierSends: 0,
      isCounted: false,
      happenedAt: expect.any(Date),
      firstSentAt: expect.any(Date),
      secondsSinceSend: 0,
      orderEnded: false,
      isPast: false,
      reason: null,
      optedOut: false,
      overBound: null,
    });
  });

  test('that the driver is on the way is past when the order was handed over; why it was not is told', async () => {
    const { open, deliver } = await opened();
    await deliver();
    expect((await open())?.isPast).toBe(true);
    expect(await (await opened('not_delivered')).open()).toMatchObject({ isPast: false, reason: 'nobody_home' });
  });

  test('counts for its day once, together with the tracking text', async () => {
    const { store, outboxId, retailerId, orderId } = await opened();
    const bounds = { perPhone: 0, perStore: 5 };
    await store.openTexts([orderId], bounds, SENDER);
    for (let n = 0; n < 2; n++) await store.openOptionalTexts([outboxId], bounds, SENDER);
    const [counted] = await sql`select texts from text_counts where about = ${`store:${retailerId}`}`;
    expect(counted?.texts).toBe(2);
  });

  test('is counted before each send by one worker, and recorded once, with event, job and notice', async () => {
    const { open, count, record, orderId, events, row, outboxId } = await opened();
    await open();
    const counts = await Promise.all([count(0), count(0)]);
    expect(counts.filter(({ size }) => size === 1)).toHaveLength(1);
    const notices = await noticesDuring(database, async () => {
      const results = await Promise.all([
        record({ status: 'sent', sid: 'SM1' }),
        record({ status: 'sent', sid: 'SM1' }),
      ]);
      expect(results.filter(({ size }) => size === 1)).toHaveLength(1);
    });
    expect(notices).toEqual([`me:details:${orderId}`]);
    expect(await events()).toEqual([{ sequence: 4, type: 'sms_sent', data: { kind: 'on_the_way' } }]);
    expect(await row()).toMatchObject({ sequence: 4, sms_status: 'queued' });
    const [job] = await sql`select done_at from outbox where id = ${outboxId}`;
    expect(job?.done_at).toBeInstanceOf(Date);
    expect(await open()).toBeNull();
  });
});

describe('what Twilio says of a text', () => {
  async function sent(kind: TextKind) {
    const order = await assigned();
    const { orderId } = order;
    if (kind === 'tracking') {
      await openText(sql, orderId);
      await countSend(sql, { orderId, earlierSends: 0 });
    } else {
      await order.pickUp();
      const [text] = await order.texts();
      await order.store.openOptionalTexts([text?.outbox_id ?? 0], UNBOUNDED, SENDER);
      await order.store.countSends('text', [{ orderId, kind, earlierSends: 0 }]);
    }
    const [text] = await order.texts();
    const record = async (sid = 'SM1') => {
      if (kind === 'tracking') return recordText(sql, orderId, { status: 'sent', sid }, order.jobs.sms?.id ?? 0);
      const result = { status: 'sent', sid } as const;
      const outboxId = text?.outbox_id ?? 0;
      const recorded = await order.store.recordTexts('text', [{ orderId, kind, result, outboxId }], SENDER);
      return recorded.size === 1;
    };
    const status = async () => {
      const [text] = await sql`select status, failure_code from texts where order_id = ${orderId}`;
      const { sms_status, sms_failure_code } = await order.row();
      return kind === 'tracking' ? [sms_status, sms_failure_code] : [text?.status, text?.failure_code];
    };
    const say = (told: TextReport['status'], sid = 'SM1', failureCode: string | null = null) =>
      order.report({ kind, status: told, sid, failureCode });
    const count = (earlierSends: number) =>
      order.store.countSends(kind === 'tracking' ? 'sms' : 'text', [{ orderId, kind, earlierSends }]);
    const sends = async () => {
      const table = kind === 'tracking' ? 'messages' : 'texts';
      return (await sql`select sends from ${sql(table)} where order_id = ${orderId}`)[0]?.sends;
    };
    return { ...order, record, status, say, count, sends };
  }

  describe.each(['tracking', 'on_the_way'] as const)('with the kind %s', (kind) => {
    test('makes it delivered, and twice, late or in another order changes nothing', async () => {
      const { record, say, status, events } = await sent(kind);
      expect(await record()).toBe(true);
      expect(await say('sent')).toBe(false);
      expect(await say('delivered')).toBe(true);
      for (const late of ['delivered', 'sent', 'undelivered'] as const) expect(await say(late)).toBe(false);
      expect(await status()).toEqual(['delivered', null]);
      expect((await events()).map(({ type, data }) => [type, data])).toEqual([
        ['sms_sent', { kind }],
        ['sms_delivered', { kind }],
      ]);
    });

    test('makes it undelivered with the code', async () => {
      const { record, say, status, events } = await sent(kind);
      await record();
      expect(await say('undelivered', 'SM1', '30003')).toBe(true);
      expect(await say('delivered')).toBe(false);
      expect(await status()).toEqual(['undelivered', '30003']);
      expect((await events()).at(-1)).toMatchObject({ type: 'sms_undelivered', data: { kind, code: '30003' } });
    });

    test('before the answer to the send is its result', async () => {
      const { record, say, status, events } = await sent(kind);
      expect(await say('delivered')).toBe(true);
      expect(await record()).toBe(false);
      expect(await status()).toEqual(['delivered', null]);
      expect((await events()).map(({ type }) => type)).toEqual(['sms_delivered']);
    });

    test('that the sender is refused makes it owed again, whichever of report and answer is quicker', async () => {
      for (const isQuicker of [true, false]) {
        const { record, say, status, events, orderId, store, retailerId } = await sent(kind);
        if (!isQuicker) await record();
        expect(await say('sender_refused', 'SM1', '30034')).toBe(true);
        expect(await say('sender_refused', 'SM1', '30034')).toBe(false);
        expect(await record('SM1')).toBe(false);
        expect(await say('delivered', 'SM1')).toBe(false);
        const owed = await sql`
          select queue from outbox where order_id = ${orderId} and done_at is null and run_at > now() + interval '5 minutes'
            and queue in ('sms', 'text')`;
        expect(owed.map(({ queue }) => queue)).toEqual([kind === 'tracking' ? 'sms' : 'text']);
        expect((await events()).at(-1)).toMatchObject({ type: 'sms_kept', data: { kind, code: '30034' } });
        const shown = await store.findStoreOrder(orderId, retailerId);
        const seen = kind === 'tracking' ? (await status())[0] : shown?.texts[0]?.status;
        expect(seen).toBe('queued');
      }
    });

    test('that the sender is refused changes nothing once the phone has it', async () => {
      const { record, say, status } = await sent(kind);
      await record();
      await say('delivered');
      expect(await say('sender_refused', 'SM1', '30034')).toBe(false);
      expect(await status()).toEqual(['delivered', null]);
    });

    test.each([
      ['30034', [15, 30, 60, 60]],
      ['30022', [1, 2, 4, 8]],
    ])(
      'that the sender is refused with %s doubles the pause, and a second time changes nothing',
      async (code, minutes) => {
        const { record, say, count, sends, orderId } = await sent(kind);
        const queue = kind === 'tracking' ? 'sms' : 'text';
        const pauses = async () =>
          (
            await sql`
            select round(extract(epoch from run_at - now()) / 60)::int as minutes from outbox
            where order_id = ${orderId} and queue = ${queue} order by id offset 1`
          ).map(({ minutes }) => minutes);
        for (const sid of ['SM1', 'SM2', 'SM3', 'SM4']) {
          await record(sid);
          expect(await say('sender_refused', sid, code)).toBe(true);
          expect((await count(0)).size).toBe(1);
          expect(await say('sender_refused', sid, code)).toBe(false);
          expect(await sends()).toBe(1);
        }
        expect(await pauses()).toEqual(minutes);
      },
    );

    test('that the sender is refused leaves another send of unknown outcome to be looked up, from its time on', async () => {
      const { say, count, sends, orderId } = await sent(kind);
      const countedAt = async () => {
        const table = sql(kind === 'tracking' ? 'messages' : 'texts');
        return (await sql`select counted_at from ${table} where order_id = ${orderId}`)[0]?.counted_at;
      };
      await count(1);
      const before = await countedAt();
      expect(await say('sender_refused', 'SM1', '30034')).toBe(true);
      expect([await sends(), await countedAt()]).toEqual([1, before]);
    });

    test('of another message than the one on record changes nothing', async () => {
      const { record, say, status } = await sent(kind);
      await record('SM1');
      expect(await say('undelivered', 'SM2', '30003')).toBe(false);
      expect(await status()).toEqual(['sent', null]);
    });

    test('of a text that was not sent, or of an unknown order, changes nothing', async () => {
      const order = await assigned();
      await order.pickUp();
      expect(await order.report({ kind, status: 'delivered' })).toBe(false);
      expect(await order.report({ kind, status: 'delivered', orderId: newId() })).toBe(false);
      expect(await order.events()).toEqual([]);
    });
  });

  test('holds for a text that was given up for want of an answer', async () => {
    const { orderId, jobs, say, status } = await sent('tracking');
    const failed = { status: 'failed', failureCode: 'outcome_unknown' } as const;
    await recordText(sql, orderId, failed, jobs.sms?.id ?? 0);
    expect(await say('delivered')).toBe(true);
    expect(await status()).toEqual(['delivered', null]);
  });

  test('of many at once is written once', async () => {
    const { record, say, events } = await sent('tracking');
    const results = await Promise.all([record(), say('delivered'), say('delivered'), say('sent')]);
    expect(results.filter(Boolean).length).toBeGreaterThan(0);
    expect((await events()).filter(({ type }) => type === 'sms_delivered')).toHaveLength(1);
  });
});

describe('the list of phones that want no texts', () => {
  let phones = 0;
  const newPhone = () => `+1415777${String(1_000 + phones++)}`;

  test('holds what a phone asked for last, and no number', async () => {
    const store = storeOf(sql);
    const phone = newPhone();
    expect(await store.findOptOut(phone)).toBeNull();
    expect(await store.setOptOut(phone, false, 'SM1')).toBe(false);
    expect(await store.findOptOut(phone)).toBeNull();
    expect(await store.setOptOut(phone, true, 'SM2')).toBe(true);
    expect(await store.findOptOut(phone)).toMatchObject({ optedOut: true, source: 'reply' });
    expect(await store.setOptOut(phone, false, 'SM3')).toBe(true);
    expect(await store.findOptOut(phone)).toMatchObject({ optedOut: false });
    expect(await store.setOptOut(phone, true, null)).toBe(true);
    expect(await store.findOptOut(phone)).toMatchObject({ optedOut: true, source: 'operator' });
    const rows = await sql`select to_json(t)::text as row from text_opt_outs t`;
    expect(rows.map(({ row }) => row).join()).not.toContain(phone.slice(1));
  });

  test('does not heed a message twice, whatever came between', async () => {
    const store = storeOf(sql);
    const phone = newPhone();
    await store.setOptOut(phone, true, 'SM1');
    await store.setOptOut(phone, false, 'SM2');
    expect(await store.setOptOut(phone, true, 'SM1')).toBe(false);
    expect(await store.findOptOut(phone)).toMatchObject({ optedOut: false });
  });

  test('takes a phone that Twilio refuses because it opted out there, and every kind of text heeds it', async () => {
    const phone = newPhone();
    const order = await assigned();
    await sql`update customers set phone = ${phone} where id = ${order.order.customerId}`;
    await openText(sql, order.orderId);
    await recordText(sql, order.orderId, { status: 'failed', failureCode: '21610' }, order.jobs.sms?.id ?? 0);
    expect(await order.store.findOptOut(phone)).toMatchObject({ optedOut: true, source: 'twilio' });
    await order.pickUp();
    const [text] = await order.texts();
    const opened = await order.store.openOptionalTexts([text?.outbox_id ?? 0], UNBOUNDED, SENDER);
    expect([...opened.values()]).toMatchObject([{ optedOut: true }]);
    const next = await assigned();
    await sql`update customers set phone = ${phone} where id = ${next.order.customerId}`;
    expect(await openText(sql, next.orderId)).toMatchObject({ optedOut: true });
  });

  test('has Twilio asked again after a day by the number that it refused, and by no other', async () => {
    const phone = newPhone();
    const other = '+15005550009';
    const { store, orderId, jobs, order } = await assigned();
    await sql`update customers set phone = ${phone} where id = ${order.customerId}`;
    const opened = async (sender: string) =>
      (await store.openTexts([orderId], UNBOUNDED, sender)).get(orderId)?.optedOut;
    const dayLater = () => sql`
      update text_opt_outs set changed_at = now() - make_interval(secs => ${OPT_OUT_ASKED_AGAIN_SECONDS})
      where source = 'twilio'`;
    await openText(sql, orderId);
    await store.recordTextReport({
      orderId,
      kind: 'tracking',
      sid: 'SM1',
      status: 'undelivered',
      failureCode: '21610',
      sender: SENDER,
    });
    await sql`update messages set status = 'sending' where order_id = ${orderId}`;
    await sql`update orders set sms_status = 'queued' where id = ${orderId}`;
    expect([await opened(SENDER), await opened(other)]).toEqual([true, true]);
    await dayLater();
    expect([await opened(SENDER), await opened(other)]).toEqual([false, true]);
    const result = { status: 'sent', sid: 'SM2' } as const;
    await store.recordTexts('sms', [{ orderId, kind: 'tracking', result, outboxId: jobs.sms?.id ?? 0 }], other);
    expect(await store.findOptOut(phone)).toMatchObject({ optedOut: true });
    await sql`update text_opt_outs set sender = null where source = 'twilio'`;
    await sql`update messages set status = 'sending' where order_id = ${orderId}`;
    await sql`update orders set sms_status = 'queued' where id = ${orderId}`;
    expect(await opened(SENDER)).toBe(true);
  });
});

test('the schema takes the kinds of the domain, and no others', async () => {
  const { store, retailerId } = await assigned();
  await store.setTextKinds(retailerId, ALL);
  await expect(store.setTextKinds(retailerId, ['other' as OptionalText])).rejects.toMatchObject({ code: '23514' });
  expect(await store.setTextKinds(newId(), [])).toBe(false);
});
