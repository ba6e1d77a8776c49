import { expect, onTestFinished, test } from 'vitest';
import { SENDER_REFUSED_PAUSE_SECONDS } from '../../src/limits.ts';
import { VENDOR_NOTE_MS, watchCallbacks, watchVendor } from '../../src/runtime/vendor-watch.ts';
import { retryLater } from '../../src/vendors/retry-later.ts';
import { freshDatabase } from '../harness/database.ts';
import { addOrder, addStoreRow } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';

test('refused credentials are one error line that names the settings, a count, and known to every process', async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const store = storeOf(database.sql);
  const lines: unknown[] = [];
  const counted: string[] = [];
  let nowMs = 0;
  const watch = watchVendor(
    'stripe',
    {
      store,
      metrics: { observeVendor: (vendor, outcome) => void counted.push(`${vendor} ${outcome}`) },
      logger: { error: (fields) => void lines.push(fields) },
    },
    () => nowMs,
  );
  const answers = [retryLater('misconfigured'), retryLater('misconfigured'), retryLater('timeout'), { kind: 'paid' }];
  const charge = watch(async () => answers.shift() ?? { kind: 'paid' });
  for (let n = 0; n < 3; n++) await charge();
  expect(lines).toEqual([{ vendor: 'stripe', settings: 'STRIPE_SECRET_KEY' }]);
  expect(counted).toEqual(['stripe misconfigured', 'stripe misconfigured', 'stripe timeout']);
  await expect.poll(() => store.readRefusingVendors()).toEqual(['stripe']);
  const { orderId } = await addOrder(database.sql, await addStoreRow(database.sql));
  expect(await store.showOrder(orderId)).not.toHaveProperty('credentials_refused_by');
  await database.sql`
    insert into outbox (queue, order_id, retailer_id, lease_until)
    values ('charge', ${orderId}, gen_random_uuid(), now()), ('sms', ${orderId}, gen_random_uuid(), now())`;
  expect(await store.showOrder(orderId)).toMatchObject({ credentials_refused_by: 'stripe' });
  nowMs = VENDOR_NOTE_MS;
  await charge();
  await expect.poll(() => store.readRefusingVendors()).toEqual([]);
});

test('an account that may not charge is told of as refused credentials are, with the vendor’s code', async () => {
  const told: unknown[] = [];
  const watch = watchVendor('stripe', {
    store: { noteCredentials: async (...note) => void told.push(note) },
    metrics: { observeVendor: (_vendor, outcome) => void told.push(outcome) },
    logger: { error: (fields) => void told.push(fields) },
  });
  await watch(async () => ({ kind: 'account_refused', code: 'testmode_charges_only' }))();
  const line = { vendor: 'stripe', settings: 'STRIPE_SECRET_KEY', code: 'testmode_charges_only' };
  await expect.poll(() => told).toEqual(['misconfigured', line, ['stripe', true]]);
});

test('a number that carriers refused is noted by all processes, and taken when none has been refused for a while', async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const store = storeOf(database.sql);
  let nowMs = 0;
  function process() {
    const notes: boolean[] = [];
    const parts = {
      store: {
        async noteCredentials(...note: Parameters<typeof store.noteCredentials>) {
          await store.noteCredentials(...note);
          notes.push(note[1]);
        },
      },
      metrics: { observeVendor: () => undefined },
      logger: { error: () => undefined },
    };
    const call = async (works: boolean) => (works ? { kind: 'delivered' } : retryLater('misconfigured'));
    return { notes, seen: watchVendor('twilio_sender', parts, () => nowMs)(call) };
  }
  const [one, other] = [process(), process()];
  await other.seen(true);
  for (const works of [true, false, true, false, true]) await one.seen(works);
  await expect.poll(() => [one.notes, other.notes]).toEqual([[false, true], [false]]);
  expect(await store.readRefusingVendors()).toEqual(['twilio_sender']);
  nowMs += VENDOR_NOTE_MS;
  await other.seen(true);
  await expect.poll(() => other.notes).toHaveLength(2);
  expect(await store.readRefusingVendors()).toEqual(['twilio_sender']);
  await database.sql`
    update refused_credentials set refused_at = refused_at - make_interval(secs => ${SENDER_REFUSED_PAUSE_SECONDS})`;
  nowMs += VENDOR_NOTE_MS;
  await other.seen(true);
  await expect.poll(() => store.readRefusingVendors()).toEqual([]);
});

test('a call that is signed by another secret is one warning that names the settings, and counts', () => {
  const lines: unknown[] = [];
  const counted: string[] = [];
  const observe = watchCallbacks({
    metrics: { observeCallback: (...labels) => void counted.push(labels.join(' ')) },
    logger: { warn: (fields) => void lines.push(fields) },
  });
  observe('stripe', 'charge.refunded', 'done');
  expect(lines).toEqual([]);
  observe('stripe', 'other', 'unsigned');
  observe('stripe', 'other', 'unsigned');
  expect(lines).toEqual([{ vendor: 'stripe', settings: 'STRIPE_WEBHOOK_SECRET' }]);
  expect(counted).toEqual(['stripe charge.refunded done', 'stripe other unsigned', 'stripe other unsigned']);
});
