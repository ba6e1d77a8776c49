import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hashSecret } from '../../../src/domain/ids.ts';
import { findChromium } from '../../harness/chromium.ts';
import { dropoffNear } from '../../harness/towns.ts';
import { ask, show, untilOrder } from '../../service/clients.ts';
import {
  answersOf,
  button,
  cameraPhoto,
  eventually,
  goOnDuty,
  headline,
  link,
  openFront,
  openWorld,
  type Phone,
  photoOf,
  STRANGE_HOST,
  signIn,
  takePhoto as takePhotoOf,
  untilInstalled,
  type World,
  waiting,
} from '../driver-world.ts';

const CUSTOMER = { name: 'Jordan Lee', email: 'jordan@example.com', phone: '+14155550123' };

describe.skipIf(findChromium() === undefined)('the driver’s page in Chromium', () => {
  let world: World;
  let photo: ReturnType<typeof photoOf>;

  beforeAll(async () => {
    world = await openWorld();
    photo = photoOf(await cameraPhoto(1_600, 1_200));
  });
  afterEach(() => world?.closePhones());
  afterAll(() => world?.close());

  const driverAt = (storeName: string) => world.driverAt(storeName);
  const driverWithOrder = (storeName: string) => world.driverWithOrder(storeName);
  const takePhoto = (phone: Phone, taken = photo) => takePhotoOf(phone, taken);
  /** Where the parcel goes after the pickup, as the list of stops says it. */
  const then = ({ page }: Phone) => page.locator('#stops li').allInnerTexts();
  const choose = async (phone: Phone, reason: string, confirm: string) => {
    await phone.page.getByRole('radio', { name: reason }).check();
    await phone.page.locator('dialog[open]').getByRole('button', { name: confirm }).click();
  };

  it('shows what the store asks for until the pickup, and what is asked for at the door after it, as text', async () => {
    const { store, phone } = await driverAt('Corner Lamps');
    const order = await world.newOrder(store, {
      items: [{ name: '<b>Lamp</b>', quantity: 2 }],
      pickup_instructions: 'Back door\n<i>ring</i>',
      dropoff_instructions: 'מאחור\nCode 1234',
      leave_at_door: true,
    });
    await eventually(() => headline(phone)).toBe('Corner Lamps');
    const texts = () => phone.page.locator('#order-notes .note').allInnerTexts();
    const blocks = async () => (await texts()).map((text) => text.replaceAll(/\n+/g, '\n'));
    const items = 'Items\n2 × <b>Lamp</b>';
    expect(await blocks()).toEqual(['At the store\nBack door\n<i>ring</i>', items]);
    const notes = { dropoff_instructions: 'Code 99', leave_at_door: true };
    await ask(world.service, `/track/${order.tracking_token}/dropoff`, { method: 'PUT', body: notes });
    await button(phone, 'Picked up').click();
    await eventually(blocks).toEqual(['At the door\nLeave it at the door.', 'Instructions\nCode 99', items]);
    expect(await phone.page.locator('#order-notes [dir=auto]').count()).toBe(3);
    await takePhoto(phone);
    await button(phone, 'Delivered').click();
    await eventually(() => headline(phone)).toBe('Waiting for an order');
    expect(await phone.page.content()).not.toMatch(/Code 99|Lamp<|Back door/);
    expect(phone.complaints).toEqual([]);
  });

  it('keeps what was done without network over a restart and sends it in order, once', async () => {
    const { store, phone, order } = await driverWithOrder('Night Pharmacy');
    await untilInstalled(phone);
    await phone.goOffline();
    await eventually(() => link(phone)).toBe('No network');
    await button(phone, 'Picked up').click();
    await eventually(() => waiting(phone)).toBe('Waiting for network: Picked up');
    await takePhoto(phone);
    await button(phone, 'Delivered').click();
    await eventually(() => waiting(phone)).toBe('Waiting for network: Picked up, Delivered');
    expect(await headline(phone)).toBe('Delivered');
    expect(await phone.page.locator('#idle-detail').textContent()).toMatch(/^Not sent yet/);

    await phone.page.reload();
    await eventually(() => waiting(phone)).toBe('Waiting for network: Picked up, Delivered');
    expect(await headline(phone)).toBe('Delivered');
    expect((await show(world.service, store, order.id)).status).toBe('driver_assigned');

    const answered = answersOf(phone);
    await phone.goOnline();
    await untilOrder(world.service, store, order.id, { status: 'delivered' });
    await eventually(() => headline(phone)).toBe('Waiting for an order');
    expect(await phone.page.locator('#waiting').isHidden()).toBe(true);
    expect(answered).toEqual(['pick-up 200', 'deliver 200']);
    expect(await world.history(store, order.id)).toEqual(['created', 'driver_assigned', 'picked_up', 'delivered']);
    expect(phone.complaints).toEqual([]);
  });

  it('lets a driver whose camera is broken hand over without a photo', async () => {
    const { store, phone, order } = await driverWithOrder('Camera Shop');
    await button(phone, 'Picked up').click();
    await button(phone, 'I have arrived').click();
    await button(phone, 'My camera is broken').click();
    const sheet = phone.page.locator('dialog[open]');
    expect(await sheet.textContent()).toContain('Your operator looks at this delivery before it is paid.');
    await expectUsable(phone.page);
    await sheet.getByRole('button', { name: 'Deliver without a photo' }).click();
    await eventually(() => headline(phone)).toBe('Waiting for an order');
    await untilOrder(world.service, store, order.id, { status: 'delivered' });
    expect(phone.complaints).toEqual([]);
  });

  it('keeps an action while the service is out of order, and the page says so', async () => {
    const { store, phone, order } = await driverWithOrder('Tea House');
    const down = (url: URL) => url.pathname.endsWith('/pick-up');
    await phone.page.route(down, (route) =>
      route.fulfill({ status: 503, json: { success: false, message: 'Try again.' } }),
    );
    await button(phone, 'Picked up').click();
    await eventually(() => waiting(phone)).toBe('Not sent yet, trying again: Picked up');
    expect(await headline(phone)).toBe('Jordan Lee');
    await phone.page.unroute(down);
    await untilOrder(world.service, store, order.id, { status: 'picked_up' });
    await eventually(() => phone.page.locator('#waiting').isHidden()).toBe(true);
  });

  it('gives an order back with a reason', async () => {
    const { store, phone, order } = await driverWithOrder('Wine Cellar');
    await button(phone, 'Give this order back').click();
    await choose(phone, 'My vehicle has a problem', 'Give it back');
    await eventually(() => headline(phone)).toBe('Waiting for an order');
    const shown = await untilOrder(world.service, store, order.id, { status: 'pending_dispatch' });
    const released = shown.events.find(({ type }) => type === 'released');
    expect(released).toMatchObject({ data: { reason: 'vehicle' } });
  });

  it('says plainly that an action was refused', async () => {
    const { store, phone, order } = await driverWithOrder('Shoe Shop');
    await phone.goOffline();
    await eventually(() => link(phone)).toBe('No network');
    await button(phone, 'Picked up').click();
    expect((await world.cancel(store, order)).status).toBe(200);
    await phone.goOnline();
    await eventually(() => phone.page.getByRole('alert').filter({ visible: true }).textContent()).toMatch(
      /“Picked up · #\w{6}” was not accepted.*cancelled/,
    );
    await eventually(() => headline(phone)).toBe('Waiting for an order');
    // It stays until the driver has seen it.
    await phone.page.reload();
    await eventually(() => phone.page.locator('#refusal-text').textContent()).toMatch(/was not accepted.*cancelled/);
    await eventually(() => headline(phone)).toBe('Waiting for an order');
    await button(phone, 'OK').click();
    expect(await phone.page.locator('#refusal').isHidden()).toBe(true);
  });

  it('stops when the same driver signs in elsewhere, until the driver goes on here', async () => {
    const { store, token, phone } = await driverAt('Bakery');
    const second = await world.newPhone({ at: store.point });
    await signIn(second, token);
    await eventually(() => headline(phone)).toBe('Signed in elsewhere');
    const sockets: string[] = [];
    phone.page.on('websocket', (socket) => sockets.push(socket.url()));
    await world.newOrder(store);
    await eventually(() => headline(second)).toBe('Bakery');
    expect(sockets).toEqual([]);
    await button(phone, 'Use this one').click();
    await eventually(() => headline(second)).toBe('Signed in elsewhere');
    await eventually(() => headline(phone)).toBe('Bakery');
  });

  it('goes on here with what the phone’s storage refused, also where it cannot be read', async () => {
    const { store, token, phone, order } = await driverWithOrder('Paper Mill');
    await phone.page.evaluate(`for (const name of ['put', 'getAll']) IDBObjectStore.prototype[name] = () => {
      throw new DOMException('full', 'QuotaExceededError');
    };`);
    const down = (url: URL) => url.pathname.endsWith('/pick-up');
    await phone.page.route(down, (route) => route.abort());
    await button(phone, 'Picked up').click();
    await eventually(() => waiting(phone)).toMatch(/^This phone could not save what you did/);
    await signIn(await world.newPhone({ at: store.point }), token);
    await button(phone, 'Use this one').click();
    await eventually(() => waiting(phone)).toMatch(/^This phone could not save what you did/);
    // The page knows no customer until the service tells it who that is: it had stood aside.
    await eventually(() => headline(phone)).toBe('Jordan Lee');
    await phone.page.unroute(down);
    await untilOrder(world.service, store, order.id, { status: 'picked_up' });
    await eventually(() => phone.page.locator('#waiting').isHidden()).toBe(true);
  });

  it('comes back by itself after the connection was cut, with the state of then', async () => {
    const { store, phone } = await driverAt('Toy Shop');
    await phone.goOffline();
    await eventually(() => link(phone)).toBe('No network');
    await world.newOrder(store);
    await phone.goOnline();
    await eventually(() => headline(phone)).toBe('Toy Shop');
    await phone.page.locator('#link[data-state=live]').waitFor();
  });

  it('refuses a wrong token, and signs out when a good one is taken back', async () => {
    const phone = await world.newPhone();
    await phone.page.goto(`${world.service.url}/driver`);
    for (const wrong of ['sdd_nobody', 'ключ']) {
      await phone.page.getByLabel('Driver token').fill(wrong);
      await button(phone, 'Sign in').click();
      await eventually(() => phone.page.locator('#sign-in-problem').textContent()).toMatch(/not known/);
    }
    const { phone: second, order, store } = await driverWithOrder('Print Shop');
    const driverId = (await show(world.service, store, order.id)).driver_id;
    const token = await tokenOf(second);
    await world.sql`update drivers set token_hash = 'gone' where id = ${driverId}`;
    await eventually(() => headline(second)).toBe('Sign in');
    expect((await ask(world.service, '/driver/orders', { key: token })).status).toBe(401);
    expect(await second.page.locator('#sign-in-problem').textContent()).toMatch(/signed out/);
    expect(await tokenOf(second)).toBe('');
  });
  const tokenOf = async ({ page }: Phone): Promise<string> =>
    (await page.evaluate<string | null>("localStorage.getItem('sameday-driver-token')")) ?? '';

  it('asks before it signs out, and keeps a handover for its driver that was not sent, whoever signs in', async () => {
    const { store, token, phone, order } = await driverWithOrder('Garden Centre');
    await button(phone, 'Picked up').click();
    await takePhoto(phone);
    await phone.goOffline();
    await button(phone, 'Delivered').click();
    await eventually(() => headline(phone)).toBe('Delivered');
    // It is out of the way of a driver at work.
    expect(await button(phone, 'Sign out').count()).toBe(0);
    await button(phone, 'Go off duty').click();
    await button(phone, 'Sign out').click();
    await phone.page.getByText('It waits on this phone until you sign in here again.').waitFor();
    expect(await phone.page.locator('#leave-duty').textContent()).toContain('you would stay on duty');
    expect(await phone.page.locator('#leave-duty').isVisible()).toBe(true);
    await button(phone, 'Stay signed in').click();
    expect(await headline(phone)).toBe('Delivered');
    const signOut = async () => {
      await button(phone, 'Sign out').click();
      const isWarned = await phone.page.locator('#leave-duty').isVisible();
      await phone.page.locator('#leave-confirm').click();
      await eventually(() => headline(phone)).toBe('Sign in');
      return isWarned;
    };
    await signOut();
    expect(await tokenOf(phone)).toBe('');
    const waits = `Delivered · #${order.id.slice(-6)}`;
    await eventually(() => phone.page.locator('#left-behind').textContent()).toContain(waits);
    const download = phone.page.waitForEvent('download');
    await phone.page.getByRole('link', { name: 'Save the photo' }).click();
    expect((await sharp(await (await download).path()).metadata()).format).toBe('jpeg');

    await phone.goOnline();
    await signIn(phone, await world.newDriver());
    expect(await signOut()).toBe(false);
    await eventually(() => phone.page.locator('#left-behind').textContent()).toContain(waits);
    expect(await world.history(store, order.id)).toEqual(['created', 'driver_assigned', 'picked_up']);
    await signIn(phone, token);
    await eventually(() => world.history(store, order.id)).toContain('delivered');
  });

  it('keeps the customer for when there is no network, though it is opened in a second window', async () => {
    const { phone } = await driverWithOrder('Lamp Shop');
    const stored = () => phone.page.evaluate<string>("localStorage.getItem('sameday-driver-state') ?? ''");
    await eventually(stored).toMatch(NAMED);
    const second = await phone.context.newPage();
    await second.goto(`${phone.url}/driver`);
    await second.locator('#link[data-state=live]').waitFor();
    await phone.page.locator('#replaced').waitFor();
    expect(await stored()).toMatch(NAMED);
    // The driver goes on in the first window, which writes again.
    await button(phone, 'Use this one').click();
    await phone.page.locator('#link[data-state=live]').waitFor();
    await second.locator('#replaced').waitFor();
    expect(await stored()).toMatch(NAMED);
    await button(phone, 'Picked up').click();
    await eventually(stored).toContain('"status":"picked_up"');
    expect(await stored()).toMatch(NAMED);
  });

  it('keeps its own files for when there is no network, and nothing that the service said', async () => {
    const { phone } = await driverWithOrder('Hardware Store');
    await untilInstalled(phone);
    const kept = await phone.page.evaluate<string[]>(`(async () => {
      const caches_ = await Promise.all((await caches.keys()).map((name) => caches.open(name)));
      const requests = (await Promise.all(caches_.map((cache) => cache.keys()))).flat();
      return requests.map((request) => new URL(request.url).pathname);
    })()`);
    expect(kept.map((path) => path.replace(/-[A-Z0-9]{8}\./, '.')).toSorted()).toEqual([
      '/assets/driver-icon.svg',
      '/assets/driver.css',
      '/assets/driver.js',
      '/driver',
      '/driver/manifest.webmanifest',
    ]);
  });

  /** Everything that the page has and that the phone keeps of it. */
  const kept = ({ page }: Phone) =>
    page.evaluate<string>(`(async () => {
      const opened = indexedDB.open('sameday-driver');
      const database = await new Promise((done) => { opened.onsuccess = () => done(opened.result); });
      const tables = [...database.objectStoreNames].map((name) => new Promise((done) => {
        const all = database.transaction(name).objectStore(name).getAll();
        all.onsuccess = () => done(all.result);
      }));
      const rows = await Promise.all(tables);
      database.close();
      return JSON.stringify([rows, { ...localStorage }, { ...sessionStorage }, document.documentElement.outerHTML]);
    })()`);
  const NAMED = /Jordan Lee|14155550123|Unit 4/;
  const dropoff_address = { line1: '9 Elm St', line2: 'Unit 4', city: 'APO', state: 'AP', zip: '96204' };

  it('shows and keeps no name, unit or phone before the driver is near the store', async () => {
    const { store, phone } = await driverAt('Far Fabrics');
    await phone.context.setGeolocation({ latitude: store.point.lat + 0.01, longitude: store.point.lng });
    await eventually(async () => (await world.sql`select lat from driver_positions`).map(({ lat }) => lat)).toContain(
      store.point.lat + 0.01,
    );
    await world.newOrder(store, { dropoff_address });
    await eventually(() => headline(phone)).toBe('Far Fabrics');
    expect(await then(phone)).toEqual([
      expect.stringMatching(/^Deliver\n9 Elm St, APO, AP 96204\. The name comes when you are at the store\./),
    ]);
    expect(await kept(phone)).not.toMatch(NAMED);
    await phone.context.setGeolocation({ latitude: store.point.lat + 0.001, longitude: store.point.lng });
    await eventually(() => then(phone)).toEqual([
      expect.stringMatching(/^Deliver to Jordan Lee\n9 Elm St, Unit 4, APO, AP 96204/),
    ]);
  });

  it('forgets the customer when the order is given back, also without a network', async () => {
    const { phone } = await world.driverWithOrder('Brief Books', { dropoff_address });
    await eventually(() => kept(phone)).toMatch(NAMED);
    await phone.goOffline();
    await button(phone, 'Give this order back').click();
    await choose(phone, 'An emergency', 'Give it back');
    await eventually(() => headline(phone)).toBe('Given back');
    expect(await kept(phone)).not.toMatch(NAMED);
    await phone.goOnline();
    await eventually(() => headline(phone)).toBe('Waiting for an order');
    expect(await kept(phone)).not.toMatch(NAMED);
  });

  it('says when no further order can be given back, and keeps the order', async () => {
    const { store, token, phone } = await driverAt('Eleven Oaks');
    await world.sql`
      insert into driver_actions (driver_id, action_id, order_id, type, status, sequence)
      select id, 'past-' || n, gen_random_uuid(), 'released', 'pending_dispatch', 3
      from drivers, generate_series(1, 10) n where token_hash = ${hashSecret(token)}`;
    await world.newOrder(store);
    await eventually(() => headline(phone)).toBe('Eleven Oaks');
    await button(phone, 'Give this order back').click();
    await choose(phone, 'An emergency', 'Give it back');
    await eventually(() => phone.page.locator('#refusal-text').textContent()).toMatch(
      /^“Given back · #\w{6}” was not accepted and is not sent again\. You gave back too many orders\. You can give one back again in \d\d minutes\. If/,
    );
    expect(await headline(phone)).toBe('Eleven Oaks');
    expect(await kept(phone)).toMatch(NAMED);
  });

  it('can be installed', async () => {
    const phone = await world.newPhone();
    await phone.page.goto(`${world.service.url}/driver`);
    await untilInstalled(phone);
    const session = await phone.context.newCDPSession(phone.page);
    const { errors } = await session.send('Page.getAppManifest');
    expect(errors).toEqual([]);
    const { installabilityErrors } = await session.send('Page.getInstallabilityErrors');
    // A private window, which these phones are, is never offered an installation.
    expect(installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== 'in-incognito')).toEqual([]);
  });

  it('is the newer version at the next visit, and stays what it is while it is open', async () => {
    const front = await openFront(world.service.url);
    const phone = await world.newPhone();
    await phone.page.goto(`${front.url}/driver`);
    await untilInstalled(phone);
    front.release('Newer');
    await phone.page.reload();
    const waits = () =>
      phone.page.evaluate<boolean>(`navigator.serviceWorker.getRegistration('/driver').then(
      (registration) => registration.waiting !== null)`);
    await eventually(waits).toBe(true);
    expect(await phone.page.title()).toBe('Driver · Sameday');
    await phone.page.reload();
    await eventually(() => phone.page.title().catch(() => '')).toBe('Newer');
    expect(await waits()).toBe(false);
    await front.close();
  });

  it('keeps no page of another build than its files, as during a roll, and tries again later', async () => {
    const front = await openFront(world.service.url);
    const phone = await world.newPhone();
    await phone.page.goto(`${front.url}/driver`);
    await untilInstalled(phone);
    /** What becomes of the newer version, and the number of versions that are kept then. */
    const updated = () =>
      phone.page.evaluate(`navigator.serviceWorker.getRegistration('/driver').then((registration) =>
        new Promise((done) => {
          registration.addEventListener('updatefound', () => {
            const { installing } = registration;
            installing.addEventListener('statechange', async () =>
              done([installing.state, (await caches.keys()).length]));
          }, { once: true });
          registration.update();
        }))`);
    front.release('Newer', true);
    expect(await updated()).toEqual(['redundant', 1]);
    front.release('Newer');
    expect(await updated()).toEqual(['installed', 2]);
    await front.close();
  });

  it('reports its position while it stands still, and keeps its connection alive', async () => {
    const store = await world.newStore('Kiosk');
    const phone = await world.newPhone({ at: store.point, own: true });
    await phone.page.clock.install();
    const sent: string[] = [];
    phone.page.on('websocket', (socket) => {
      socket.on('framesent', ({ payload }) => sent.push(JSON.parse(String(payload)).type));
    });
    await signIn(phone, await world.newDriver());
    await goOnDuty(phone);
    for (let round = 0; round < 3; round += 1) {
      sent.length = 0;
      await phone.page.clock.fastForward(26_000);
      await eventually(() => new Set(sent)).toEqual(new Set(['ping', 'position']));
    }
    await phone.page.locator('#link[data-state=live]').waitFor();
  });

  it('gets its orders where sockets are blocked', async () => {
    const store = await world.newStore('Court House');
    const token = await world.newDriver();
    const phone = await world.newPhone({ at: store.point, own: true });
    await phone.page.routeWebSocket(/\/driver\/live/, (socket) => void socket.close());
    await phone.page.goto(`${world.service.url}/driver`);
    await phone.page.getByLabel('Driver token').fill(token);
    await button(phone, 'Sign in').click();
    await goOnDuty(phone);
    const order = await world.newOrder(store);
    await eventually(() => headline(phone)).toBe('Court House');
    await button(phone, 'Picked up').click();
    await untilOrder(world.service, store, order.id, { status: 'picked_up' });
  });

  it('says so where it is not on https, and works as far as it can', async () => {
    const token = await world.newDriver();
    const phone = await world.newPhone();
    await phone.page.goto(`${world.service.url.replace(/127\.0\.0\.1|localhost/, STRANGE_HOST)}/driver`);
    expect(await phone.page.locator('#insecure').textContent()).toMatch(/^This page is not on https\./);
    expect(await phone.page.locator('#insecure').isVisible()).toBe(true);
    await phone.page.getByLabel('Driver token').fill(token);
    await button(phone, 'Sign in').click();
    await phone.page.locator('#link[data-state=live]').waitFor();
    await button(phone, 'Go on duty').click();
    await phone.page.getByText('Your position is not shared').waitFor();
    expect(await headline(phone)).toBe('No order can reach you');
    expect(phone.complaints).toEqual([]);
    const secure = await world.newPhone();
    await secure.page.goto(`${world.service.url}/driver`);
    expect(await secure.page.locator('#insecure').isHidden()).toBe(true);
  });

  it('says so where it may not see where the phone is', async () => {
    const phone = await world.newPhone();
    await phone.context.clearPermissions();
    await signIn(phone, await world.newDriver());
    await button(phone, 'Go on duty').click();
    await eventually(() => phone.page.locator('#position-problem').textContent()).toMatch(/Allow “Location”/);
  });

  it('shows what a person typed as text', async () => {
    const evil = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
    const { store, phone } = await driverAt('<b>Bold</b> & Sons');
    const dropoff = { ...dropoffNear(store.point), line1: evil, city: evil };
    await world.newOrder(store, { customer: { ...CUSTOMER, name: evil }, dropoff_address: dropoff });
    await eventually(() => headline(phone)).toBe('<b>Bold</b> & Sons');
    expect((await then(phone)).join()).toContain(evil);
    await button(phone, 'Picked up').click();
    await eventually(() => headline(phone)).toBe(evil);
    expect(await phone.page.locator('#order img, #order script, #order b').count()).toBe(0);
    expect(await phone.page.title()).toBe('Driver · Sameday');
    expect(phone.complaints).toEqual([]);
  });

  it('can be used with one thumb and without seeing it, in every state', async () => {
    const { phone } = await driverWithOrder('Corner Books and Stationery of the Old Town');
    const { page } = phone;
    await expectUsable(page);
    await button(phone, 'Give this order back').click();
    await expectUsable(page);
    await page.keyboard.press('Escape');
    await button(phone, 'Picked up').click();
    await expectUsable(page);
    expect(await page.getByRole('status').textContent()).toBe('Deliver to Jordan Lee');
    await takePhoto(phone);
    expect(await page.getByRole('status').textContent()).toBe('At the door of Jordan Lee');
    await expectUsable(page);
    await button(phone, 'Could not deliver').click();
    await choose(phone, 'It is not safe there', 'Could not deliver');
    await expectUsable(page);
    await button(phone, 'Returned to the store').click();
    await eventually(() => headline(phone)).toBe('Waiting for an order');
    await expectUsable(page);
    await button(phone, 'Go off duty').click();
    await eventually(() => headline(phone)).toBe('You are off duty');
    await expectUsable(page);
    await button(phone, 'Sign out').click();
    await expectUsable(page);
    await page.locator('dialog[open]').getByRole('button', { name: 'Sign out' }).click();
    await eventually(() => headline(phone)).toBe('Sign in');
    await expectUsable(page);
  });

  /** Checks that every control has a name and is large enough for a thumb, and that nothing overflows. */
  async function expectUsable(page: Page): Promise<void> {
    const found = await page.evaluate<{ name: string; height: number }[]>(`(() => {
      const open = document.querySelector('dialog[open]') ?? document.body;
      const controls = [...open.querySelectorAll('a[href], button, input, select')].filter((each) => each.checkVisibility());
      return controls.map((each) => {
        const box = (each.closest('label') ?? each).getBoundingClientRect();
        const labelled = [...(each.labels ?? [])].map((label) => label.textContent.trim()).join(' ');
        return { name: each.getAttribute('aria-label') || labelled || each.textContent.trim(), height: box.height };
      });
    })()`);
    expect(found.length).toBeGreaterThan(0);
    for (const { name, height } of found) {
      expect(name).not.toBe('');
      expect(height, name).toBeGreaterThanOrEqual(56);
    }
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    expect(overflow).toBeLessThanOrEqual(0);
    expect(await page.locator('html').getAttribute('lang')).toBe('en');
  }
});
