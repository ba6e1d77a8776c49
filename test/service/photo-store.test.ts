import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { freePort } from '../harness/free-port.ts';
import { jpeg } from '../harness/photo.ts';
import { startServiceHere } from '../harness/service-here.ts';
import { type BucketServer, startBucketServer } from '../photos/bucket-server.ts';
import { type Driver, storedPhotos } from './clients.ts';
import { useService } from './world.ts';

const ACCOUNT = { bucket: 'handovers', region: 'us-east-1', accessKeyId: 'AKIDTEST', secretAccessKey: 'whole path/+=' };

type Fault = { begin(): void | Promise<void>; end(): void | Promise<void> };

/** Where photos lie, and how it breaks. */
type PhotoStore = {
  start(): Promise<Record<string, string>>;
  /** The names of what is stored. */
  names(): string[];
  readonly faults: Readonly<Record<string, Fault>>;
  stop(): void | Promise<void>;
};

/** A file in the way of the folder is as bad as a disk that is not mounted, also for root. */
function folder(dataDir: string): PhotoStore {
  const photos = join(dataDir, 'photos');
  const isAway: Fault = {
    begin() {
      renameSync(photos, `${photos}.away`);
      writeFileSync(photos, 'in the way');
    },
    end() {
      rmSync(photos);
      renameSync(`${photos}.away`, photos);
    },
  };
  return {
    async start() {
      mkdirSync(photos, { recursive: true });
      return {};
    },
    names: () => storedPhotos(dataDir),
    faults: { 'is away': isAway },
    stop: () => undefined,
  };
}

function bucket(): PhotoStore {
  let server: BucketServer;
  const becomes = (how: 'unavailable' | 'silent'): Fault => {
    return { begin: () => server.become(how), end: () => server.become('up') };
  };
  const isGone: Fault = {
    begin: () => server.close(),
    async end() {
      const { objects, url } = server;
      server = await startBucketServer(ACCOUNT, Number(new URL(url).port));
      for (const [key, object] of objects) server.objects.set(key, object);
    },
  };
  return {
    async start() {
      server = await startBucketServer(ACCOUNT, await freePort());
      return {
        S3_ENDPOINT: server.url,
        S3_BUCKET: ACCOUNT.bucket,
        S3_ACCESS_KEY_ID: ACCOUNT.accessKeyId,
        S3_SECRET_ACCESS_KEY: ACCOUNT.secretAccessKey,
        S3_PREFIX: 'proof',
      };
    },
    names: () => [...server.objects.keys()].map((key) => key.replace(/^proof\/..\//, '')),
    faults: {
      'answers 503': becomes('unavailable'),
      'answers nothing': becomes('silent'),
      'cannot be reached': isGone,
    },
    stop: () => server?.close(),
  };
}

const photo = await sharp(await jpeg(320, 240))
  .withExif({ IFD3: { GPSLatitude: '37/1 46/1 0/1' } })
  .toBuffer();

describe.each<[string, (dataDir: string) => PhotoStore]>([
  ['a folder', folder],
  ['a bucket', bucket],
])('photos in %s', (_name, make) => {
  afterAll(() => store.stop());
  const world = useService(startServiceHere, async () => ({ LOG_LEVEL: 'info', ...(await store.start()) }));
  const store = make(world.dataDir);
  const { ask, show } = world;

  async function pickedUp() {
    const { driver, id, token, store: retailer } = await world.assigned();
    expect((await driver.pickUp(id)).status).toBe(200);
    return { driver, id, token, retailer };
  }
  const deliver = (driver: Driver, id: string, actionId: string) =>
    ask(`/driver/orders/${id}/deliver?action_id=${actionId}`, {
      method: 'POST',
      key: driver.token,
      body: photo,
      headers: { 'content-type': 'image/jpeg' },
    });
  const photoOf = (token: string) => fetch(`${world.url}/track/${token}/photo`);

  it('are shown to the customer, without what the camera wrote into them', async () => {
    const { driver, id, token } = await pickedUp();
    const before = store.names().length;
    expect((await deliver(driver, id, 'tap-1')).status).toBe(200);
    expect(store.names()).toHaveLength(before + 1);
    for (const name of store.names()) expect(name).toMatch(/^[0-9a-f]{32}\.jpg$/);
    const shown = await photoOf(token);
    expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
    const { width, exif } = await sharp(Buffer.from(await shown.arrayBuffer())).metadata();
    expect([width, exif]).toEqual([320, undefined]);
  });

  it('are kept once where taps race', async () => {
    const { driver, id } = await pickedUp();
    const before = store.names().length;
    const answers = await Promise.all([1, 2, 3, 4].map((tap) => deliver(driver, id, `race-${tap}`)));
    // A tap whose turn comes while another one's photo is on its way is to be sent again.
    const [done, ...others] = answers.map(({ status }) => status).toSorted();
    expect(done).toBe(200);
    for (const status of others) expect([409, 429]).toContain(status);
    await expect.poll(() => store.names().length, { interval: 20 }).toBe(before + 1);
  });

  const faults = Object.entries(store.faults);
  it.each(faults)('are refused with 503 where it %s, change nothing, and are taken later', async (_name, fault) => {
    const { driver, id, token, retailer } = await pickedUp();
    const earlier = await pickedUp();
    expect((await deliver(earlier.driver, earlier.id, 'tap-0')).status).toBe(200);
    const before = store.names();

    await fault.begin();
    const refused = await deliver(driver, id, 'tap-1');
    expect([refused.status, refused.body.error]).toEqual([503, { code: 'unavailable', retryable: true, fields: [] }]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await show(retailer, id)).toMatchObject({ status: 'picked_up' });
    expect((await driver.state()).order).toMatchObject({ id, status: 'picked_up' });
    // What is stored already is not there for the moment, which is not the same as never.
    expect((await photoOf(earlier.token)).status).toBe(503);
    expect(world.output()).toContain('the photo storage failed');
    for (const secret of [ACCOUNT.secretAccessKey, ACCOUNT.accessKeyId]) expect(world.output()).not.toContain(secret);

    const metrics = await (await fetch(`${world.url}/metrics`)).text();
    expect(metrics).toMatch(/^sameday_photos_total\{outcome="stored"\} [1-9]/m);
    expect(metrics).toMatch(/^sameday_photos_total\{outcome="storage_failed"\} [1-9]/m);

    await fault.end();
    expect((await deliver(driver, id, 'tap-1')).body.order).toMatchObject({ status: 'delivered' });
    expect((await deliver(driver, id, 'tap-1')).status).toBe(200);
    expect((await photoOf(token)).status).toBe(200);
    expect((await photoOf(earlier.token)).status).toBe(200);
    expect(store.names()).toHaveLength(before.length + 1);
  });
});
