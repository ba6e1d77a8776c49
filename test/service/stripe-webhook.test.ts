import { afterAll, beforeAll, expect, it } from 'vitest';
import { type StripeStandIn, startStripeStandIn } from '../../src/sandbox/stripe-stand-in.ts';
import { TEST_CARDS } from '../../src/sandbox/test-cards.ts';
import { runCli, runCommand } from '../harness/command-line.ts';
import { freshDatabase } from '../harness/database.ts';
import { type Environment, newDataDir, startBuiltService } from '../harness/service.ts';
import { startServiceHere } from '../harness/service-here.ts';
import { useService } from './world.ts';

const SECRET = 'whsec_0123456789abcdef0123456789abcdef';

let stripe: StripeStandIn;

// Until it is stopped, the service may ask for what a link has led to.
afterAll(() => stripe?.close());
const world = useService(startServiceHere, async (dataDir) => {
  stripe = await startStripeStandIn({ ledgerFile: `${dataDir}/stripe.jsonl` });
  return { STRIPE_SECRET_KEY: 'sk_test_1', STRIPE_API_BASE: stripe.url, STRIPE_WEBHOOK_SECRET: SECRET };
});
const { addStore, addFreeDriver, place, untilOrder } = world;
const env = (): Environment => ({ ...world.env, BASE_URL: world.url });
const cli = <Result = Record<string, string>>(...args: string[]) => runCli<Result>(env(), ...args);
beforeAll(() => stripe.sendEventsTo({ url: () => `${world.url}/stripe/webhook`, secret: SECRET, all: true }));

const give = (link: string, card: string) => fetch(link, { method: 'POST', body: new URLSearchParams({ card }) });

it('a store that does not pay gives a card by its link, and its held orders go on', async () => {
  const store = await addStore({ card: null });
  for (let i = 0; i < 5; i++) await addFreeDriver(store.point);
  for (let i = 0; i < 3; i++) {
    const { order } = (await place(store)).body;
    expect(order).toMatchObject({ payment_status: 'failed' });
  }
  const { order: held } = (await place(store)).body;
  await untilOrder(store, held.id, { waiting_because: 'payment_required' });

  // Alone on standard output, so that it goes into a file or a letter as it is.
  const printed = await runCommand(env(), 'retailer', 'card-link', store.retailerId);
  expect(printed.stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/c\/pay\/cs_test_\w+\n$/);
  const shown = await cli('retailer', 'card-link', store.retailerId);
  expect(shown).toEqual({
    retailer_id: store.retailerId,
    card_link: expect.stringMatching(/^http/),
    expires_at: expect.any(String),
  });
  const customers = stripe.entries().filter((entry) => (entry as { type: string }).type === 'customer');
  expect(customers).toHaveLength(1);

  const done = await give(printed.stdout.trim(), 'ok');
  expect([done.status, done.url]).toEqual([200, `${world.url}/card/done`]);
  expect(done.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(await done.text()).toContain('If a charge fails, the delivery says so');
  const spanish = await fetch(done.url, { headers: { 'accept-language': 'es-US,es;q=0.9' } });
  expect(await spanish.text()).toContain('Si un cobro falla, la entrega lo indica');
  await untilOrder(store, held.id, { status: 'driver_assigned', payment_status: 'paid' });
  expect(await cli('retailer', 'show', store.retailerId)).toMatchObject({
    stripe_payment_method_id: expect.stringMatching(/^pm_sandbox_visa_/),
    unpaid_orders: 0,
  });
  const metrics = await (await fetch(`${world.url}/metrics`)).text();
  expect(metrics).toMatch(
    /sameday_vendor_callbacks_total\{vendor="stripe",type="checkout.session.completed",outcome="done"\} 1/,
  );
});

it('a store that gives no card keeps the one it has, and is told so', async () => {
  const store = await addStore();
  const { card_link: link = '' } = await cli('retailer', 'card-link', store.retailerId);
  const left = await give(link, 'none');
  expect([left.url, left.status]).toEqual([`${world.url}/card/cancelled`, 200]);
  expect(await cli('retailer', 'show', store.retailerId)).toMatchObject({
    stripe_payment_method_id: TEST_CARDS.ok.paymentMethod,
  });
});

it('without its settings the route is not there, and the command says what to set', async () => {
  const { STRIPE_WEBHOOK_SECRET: _, ...unset } = env();
  // On another database, since two services need Redis.
  const other = await freshDatabase();
  const folder = newDataDir();
  const bare = await startServiceHere({ ...unset, DATABASE_URL: other.url, DATA_DIR: folder.dataDir });
  try {
    expect((await fetch(`${bare.url}/stripe/webhook`, { method: 'POST' })).status).toBe(404);
  } finally {
    await bare.stop();
    folder.remove();
    await other.drop();
  }
  const store = await addStore();
  const words = async (environment: Record<string, string>) => {
    const { code, stdout, stderr } = await runCommand(environment, 'retailer', 'card-link', store.retailerId);
    expect([code, stdout]).toEqual([1, '']);
    return stderr;
  };
  expect(await words(unset)).toContain('Set STRIPE_WEBHOOK_SECRET, for the service too');
  const { BASE_URL: _base, ...unbased } = env();
  expect(await words(unbased)).toContain('Set BASE_URL');
  expect(await words({ DATABASE_URL: world.databaseUrl, DATA_DIR: world.dataDir })).toContain('Set STRIPE_SECRET_KEY');
  expect(await words({ ...env(), STRIPE_API_BASE: 'http://127.0.0.1:1' })).toContain(
    'Stripe did not answer (unreachable)',
  );
});

it('the sandbox has all of it without any setting', async () => {
  const folder = newDataDir();
  const own = { DATA_DIR: folder.dataDir };
  const sandbox = await startBuiltService(own);
  try {
    const [store] = await runCli<{ retailers: { retailer_id: string }[] }>(own, 'retailer', 'list').then(
      ({ retailers }) => retailers,
    );
    const id = store?.retailer_id ?? '';
    const { card_link: link = '' } = await runCli(own, 'retailer', 'card-link', id);
    expect((await give(link, 'declined')).url).toBe(`${sandbox.url}/card/done`);
    await expect
      .poll(() => runCli(own, 'retailer', 'show', id))
      .toMatchObject({ stripe_payment_method_id: expect.stringMatching(/^pm_sandbox_chargeDeclined_/) });
  } finally {
    await sandbox.stop();
    folder.remove();
  }
});
