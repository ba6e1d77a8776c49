import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hashSecret, newSecret } from '../../src/domain/ids.ts';
import { findChromium, findWholeChromium } from '../harness/chromium.ts';
import { newPushPhone } from '../harness/push-phone.ts';
import { storeOf } from '../harness/store.ts';
import { gate } from '../http/support.ts';
import {
  button,
  eventually,
  goOnDuty,
  openWorld,
  type Phone,
  signIn,
  untilInstalled,
  type World,
} from './driver-world.ts';

describe.skipIf(findChromium() === undefined)('a driver’s phone in Chromium', () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterEach(() => world?.closePhones());
  afterAll(() => world?.close());

  /** A driver, their token, and the code of a link for them. */
  async function driverWithLink() {
    const token = await world.newDriver();
    const [driver] = await world.sql`select id from drivers where token_hash = ${hashSecret(token)}`;
    const code = newSecret('sign_in_code');
    await storeOf(world.sql, 'cli').keepSignInCode(driver?.id, hashSecret(code), 900);
    return { token, code };
  }
  const linkTo = ({ url }: Phone, code: string) => `${url}/driver#sign-in=${code}`;
  const isLive = ({ page }: Phone) => page.locator('#link[data-state=live]').waitFor();
  const whose = ({ page }: Phone) => page.locator('#whose').textContent();
  /** Says yes to the question whether a link takes the place of who is signed in. */
  const goOn = (phone: Phone) => button(phone, 'Sign in by the link').click();
  const problem = ({ page }: Phone) => page.locator('#sign-in-problem').textContent();

  it('is signed in by a link, which leaves the address, and stays so; the phone before is signed out', async () => {
    const { token, code } = await driverWithLink();
    const before = await world.newPhone();
    await signIn(before, token);
    const phone = await world.newPhone();
    const asked: string[] = [];
    phone.page.on('request', (request) => asked.push(request.url()));
    await phone.page.goto(linkTo(phone, code));
    await isLive(phone);
    expect(phone.page.url()).toBe(`${phone.url}/driver`);
    expect(asked.filter((url) => url.includes(code))).toEqual([]);
    await phone.page.reload();
    await isLive(phone);
    await eventually(() => before.page.locator('#sign-in').isVisible()).toBe(true);

    const other = await world.newPhone();
    await other.page.goto(linkTo(other, code));
    await eventually(() => problem(other)).toContain('This link does not work any more');
    expect(other.page.url()).toBe(`${other.url}/driver`);
    expect(await other.page.getByLabel('Driver token').isVisible()).toBe(true);
    expect(phone.complaints).toEqual([]);
  });

  it('says whose account it is, and asks whoever is signed in before a link is exchanged', async () => {
    const other = await driverWithLink();
    await world.sql`update drivers set name = 'Ben Ortiz' where token_hash = ${hashSecret(other.token)}`;
    const { phone } = await world.driverWithOrder('Link Shop');
    expect(await whose(phone)).toBe('Ana Diaz');
    await phone.page.route('**/pick-up', (route) => route.abort());
    await button(phone, 'Picked up').click();
    const exchanges: string[] = [];
    phone.page.on('request', (request) => void (request.url().endsWith('/sign-in') && exchanges.push(request.url())));
    const question = () => phone.page.locator('#switch-text').textContent();
    await phone.page.goto(linkTo(phone, other.code));
    await eventually(question).toMatch(/^You are signed in as Ana Diaz\. .* What you did is not sent yet\./);
    await button(phone, 'Stay signed in').click();
    await eventually(() => phone.page.url()).toBe(`${phone.url}/driver`);
    expect([await whose(phone), exchanges]).toEqual(['Ana Diaz', []]);

    // In a page that the link opens.
    await phone.page.goto('about:blank');
    await phone.page.goto(linkTo(phone, other.code));
    await goOn(phone);
    await eventually(() => whose(phone)).toBe('Ben Ortiz');
    expect(exchanges).toHaveLength(1);
    expect(phone.complaints).toEqual([]);
  });

  it('leaves a tab that the link signs out without the sign-in of the tab that opened it', async () => {
    const { token, code } = await driverWithLink();
    const phone = await world.newPhone();
    await signIn(phone, token);
    const opened = { ...phone, page: await phone.context.newPage() };
    await opened.page.goto(linkTo(phone, code));
    await button(opened, 'Sign in by the link').waitFor();
    // The tab before goes on meanwhile.
    await button(phone, 'Use this one').click();
    await isLive(phone);
    const told = gate();
    await phone.page.route('**/driver/orders', async (route) => {
      await told.opened;
      await route.continue();
    });
    await goOn(opened);
    await eventually(() => opened.page.url()).toBe(`${phone.url}/driver`);
    await isLive(opened);
    told.open();
    await phone.page.locator('#sign-in').waitFor();
    expect(await problem(phone)).toMatch(/signed out/);
    await opened.page.reload();
    await isLive(opened);
  });

  it('leaves the driver of a newer tab signed in where another one goes on and signs out in an older tab', async () => {
    const [one, other] = [await driverWithLink(), await driverWithLink()];
    const phone = await world.newPhone();
    await signIn(phone, one.token);
    const newer = { ...phone, page: await phone.context.newPage() };
    await newer.page.addInitScript('navigator.storage.persist = async () => (globalThis.isPersisted = true)');
    await newer.page.goto(linkTo(phone, other.code));
    await isLive(newer);
    expect(await newer.page.evaluate('globalThis.isPersisted')).toBe(true);
    const second = await world.newPhone();
    await signIn(second, one.token);
    await phone.page.getByRole('button', { name: 'Use this one' }).click();
    await second.page.locator('#replaced').waitFor();
    await isLive(phone);
    await phone.page.locator('#sign-out').click();
    await phone.page.locator('#leave-confirm').click();
    await phone.page.locator('#sign-in').waitFor();
    await newer.page.reload();
    await isLive(newer);
  });

  it('says that a link is dead on a phone that is signed in, and leaves it so', async () => {
    const { token } = await driverWithLink();
    const phone = await world.newPhone();
    await signIn(phone, token);
    await phone.page.goto(linkTo(phone, newSecret('sign_in_code')));
    await goOn(phone);
    await eventually(() => phone.page.locator('#refusal-text').textContent()).toContain('This link does not work');
    await isLive(phone);
    await phone.page.locator('#refusal-ok').click();
    expect(await phone.page.locator('#refusal').isHidden()).toBe(true);
  });

  it('takes a link in a page that is open already, and says it again where its answer was lost', async () => {
    const { code } = await driverWithLink();
    const phone = await world.newPhone();
    await phone.page.goto(`${phone.url}/driver`);
    await phone.page.getByLabel('Driver token').waitFor();
    await phone.page.evaluate('globalThis.isSame = true');
    let isLost = true;
    await phone.page.route('**/driver/sign-in', async (route) => {
      const response = await route.fetch();
      if (isLost) await route.abort();
      else await route.fulfill({ response });
    });
    await phone.page.evaluate(`location.hash = 'sign-in=${code}'`);
    await eventually(() => problem(phone)).toContain('No answer from the service');
    // What was done before may be in this page alone.
    expect(await phone.page.evaluate('globalThis.isSame')).toBe(true);
    isLost = false;
    // The link is opened again, in another tab.
    await phone.page.close();
    const page = await phone.context.newPage();
    await page.goto(linkTo(phone, code));
    await isLive({ ...phone, page });
  });

  it('takes a link in a page that stands aside, and asks there too, without loading it anew', async () => {
    const { token, code } = await driverWithLink();
    const phone = await world.newPhone();
    await signIn(phone, token);
    await phone.page.evaluate('globalThis.isSame = true');
    await signIn(await world.newPhone(), token);
    await phone.page.locator('#replaced').waitFor();
    await phone.page.evaluate(`location.hash = 'sign-in=${code}'`);
    await goOn(phone);
    await eventually(() => phone.page.url()).toBe(`${phone.url}/driver`);
    await isLive(phone);
    expect(await phone.page.evaluate('globalThis.isSame')).toBe(true);
  });

  it('signs in by a link whose answer was lost, as the token before is dead by then', async () => {
    const { token, code } = await driverWithLink();
    const phone = await world.newPhone();
    await signIn(phone, token);
    let asked = 0;
    await phone.page.route('**/driver/sign-in', async (route) => {
      const response = await route.fetch();
      if (++asked === 1) await route.abort();
      else await route.fulfill({ response });
    });
    await phone.page.goto(linkTo(phone, code));
    await goOn(phone);
    await eventually(() => phone.page.url()).toBe(`${phone.url}/driver`);
    await isLive(phone);
    expect(asked).toBeGreaterThan(1);
  });

  it('keeps the code of a link while the answers are not of the service, or say to come again', async () => {
    const { code } = await driverWithLink();
    const phone = await world.newPhone();
    let answer = { status: 200, json: {} };
    await phone.page.route('**/driver/sign-in', (route) => route.fulfill(answer));
    for (const status of [200, 403, 404, 408]) {
      answer = { status, json: status === 408 ? { success: false, error: { code: 'timeout' } } : {} };
      await phone.page.goto('about:blank');
      await phone.page.goto(linkTo(phone, code));
      await eventually(() => problem(phone)).toContain('No answer from the service');
    }
    await phone.page.unroute('**/driver/sign-in');
    await phone.page.reload();
    await isLive(phone);
  });

  it('takes a link that is pasted in place of a token, as an installed page gets no link', async () => {
    const { code } = await driverWithLink();
    const phone = await world.newPhone();
    const paste = async (text: string) => {
      await phone.page.getByLabel('Driver token').fill(text);
      await phone.page.getByRole('button', { name: 'Sign in' }).click();
    };
    await phone.page.goto(`${phone.url}/driver`);
    await paste(newSecret('sign_in_code'));
    await eventually(() => problem(phone)).toContain('This link does not work any more');
    await paste(linkTo(phone, code));
    await isLive(phone);
    await phone.page.reload();
    await isLive(phone);
  });

  it('says in Spanish that a link is dead where the phone is Spanish', async () => {
    const phone = await world.newPhone({ locale: 'es-US' });
    await phone.page.goto(linkTo(phone, newSecret('sign_in_code')));
    await eventually(() => problem(phone)).toContain('Este enlace ya no funciona');
  });

  it.skipIf(findWholeChromium() === undefined)(
    'shows what a push says, loud for a new order and silent for one that is gone',
    async () => {
      const { token } = await driverWithLink();
      const phone = await world.newPhone({ noticed: true });
      await phone.context.grantPermissions(['notifications'], { origin: phone.url });
      await signIn(phone, token);
      await phone.page.reload();
      await isLive(phone);
      await untilInstalled(phone);
      const deliver = await pusher(phone);
      const shown = () =>
        phone.page.evaluate(`navigator.serviceWorker.ready
        .then((registration) => registration.getNotifications())
        .then((all) => all.map(({ title, body, silent, tag }) => ({ title, body, silent, tag })))`);
      await deliver('{"kind":"taken"}');
      await eventually(shown).toEqual([
        {
          title: 'An order is no longer yours',
          body: 'Open the page to see what is next.',
          silent: true,
          tag: 'order',
        },
      ]);
      // The page is in front, but a page that was loaded anew has no sound before it is touched.
      const loud = [{ title: 'You have a new order', silent: false, tag: 'order' }];
      await deliver('{"kind":"given"}');
      await eventually(shown).toMatchObject(loud);
      await deliver('{"kind":"taken"}');
      await eventually(shown).toMatchObject([{ silent: true }]);
      await deliver('not what we send');
      await eventually(shown).toMatchObject(loud);
      // Chromium lets no window without a profile subscribe.
      expect(phone.complaints.filter((text) => !text.includes('incognito'))).toEqual([]);
    },
  );

  it('is rung once the driver goes on duty and allows it, and no more after the sign-out', async () => {
    const { token } = await driverWithLink();
    const store = await world.newStore('Ring Shop');
    const phone = await world.newPhone({ at: store.point, own: true });
    await phone.context.grantPermissions(['notifications', 'geolocation'], { origin: phone.url });
    const subscription = { endpoint: 'http://127.0.0.1:9/phone', keys: newPushPhone() };
    await phone.page.addInitScript(`
      let subscription = null;
      PushManager.prototype.getSubscription = async () => subscription;
      PushManager.prototype.subscribe = async ({ applicationServerKey }) => {
        if (applicationServerKey.length !== 65) throw new Error('a key of the service has 65 bytes');
        const made = ${JSON.stringify(subscription)};
        subscription = { ...made, options: {}, toJSON: () => made, unsubscribe: async () => (subscription = null) };
        return subscription;
      };`);
    const rung = async () =>
      (await world.sql`select endpoint from push_subscriptions where endpoint = ${subscription.endpoint}`).length;
    await signIn(phone, token);
    await goOnDuty(phone);
    await eventually(rung).toBe(1);
    await phone.page.getByRole('button', { name: 'Go off duty' }).click();
    await phone.page.locator('#sign-out').click();
    await phone.page.locator('#leave-confirm').click();
    await eventually(rung).toBe(0);
    expect(phone.complaints).toEqual([]);
  });
});

/**
 * Delivers pushes to a phone's service worker, as the browser's vendor would, each until its notice is shown:
 * Chromium forgets a notice where a page asks for notices while it is about to be shown.
 */
async function pusher({ context, page, url: origin }: Phone): Promise<(data: string) => Promise<void>> {
  const session = await context.newCDPSession(page);
  const registered = new Promise<string>((resolve) => {
    session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      const own = registrations.find(({ scopeURL }) => scopeURL.startsWith(origin));
      if (own) resolve(own.registrationId);
    });
  });
  await session.send('ServiceWorker.enable');
  const registrationId = await registered;
  const [worker] = context.serviceWorkers();
  await worker?.evaluate(`{
    const { registration } = self;
    const show = registration.showNotification.bind(registration);
    self.shown = 0;
    registration.showNotification = (...notice) => show(...notice).then(() => { self.shown += 1; });
  }`);
  let delivered = 0;
  return async (data) => {
    await session.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data });
    delivered += 1;
    await eventually(() => worker?.evaluate('self.shown')).toBe(delivered);
  };
}
