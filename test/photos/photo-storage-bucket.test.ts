import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createPhotos } from '../../src/photos/open-photos.ts';
import { type BucketSettings, createBucketPhotoStorage, PHOTO_BUCKET_SOCKETS } from '../../src/photos/photo-bucket.ts';
import { MAX_PHOTO_READS } from '../../src/photos/photo-reads.ts';
import { newPhotoName } from '../../src/photos/photo-storage.ts';
import { TEST_MS } from '../harness/patience.ts';
import { type BucketServer, startBucketServer } from './bucket-server.ts';

const PHOTO = Buffer.from([0xff, 0xd8, 0x00, 0x80, 0xff]);
const ACCOUNT = {
  bucket: 'handovers',
  region: 'eu-central-1',
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};
const NAME = `ab${'0'.repeat(30)}.jpg`;
/** A bound on a request that must not be what ends it: above the time of a test. */
const OTHER_BOUND_MS = 2 * TEST_MS;

async function world(changes: Partial<BucketSettings> = {}, rights: { mayList?: boolean; mayRead?: boolean } = {}) {
  const server = await startBucketServer({ ...ACCOUNT, ...rights });
  onTestFinished(() => server.close());
  return { server, storage: storageOf(server, changes) };
}

function storageOf(server: BucketServer, changes: Partial<BucketSettings> = {}) {
  const storage = createBucketPhotoStorage({
    ...ACCOUNT,
    endpoint: server.url,
    prefix: '',
    silenceMs: OTHER_BOUND_MS,
    deadlineMs: OTHER_BOUND_MS,
    ...changes,
  });
  onTestFinished(() => storage.close());
  return storage;
}

test.each([false, true])(
  'gives back what was put, until it is removed; whether its key may list: %s',
  async (mayList) => {
    const { server, storage } = await world({}, { mayList });
    const name = newPhotoName();
    expect(await storage.get(name)).toBeNull();
    await storage.put(name, PHOTO);
    expect(await storage.get(name)).toEqual(PHOTO);
    await storage.remove(name);
    expect(await storage.get(name)).toBeNull();
    expect(server.objects.size).toBe(0);
    await storage.remove(name);
  },
);

test('a photo that the key may not read is not taken for an absent one', async () => {
  const { storage } = await world({}, { mayList: true, mayRead: false });
  await storage.put(NAME, PHOTO);
  await expect(storage.get(NAME)).rejects.toMatchObject({ code: 'AccessDenied' });
});

test('puts a photo as one signed object of its type, and puts again over one of the same name', async () => {
  const { server, storage } = await world();
  const large = randomBytes(6 * 1024 * 1024);
  await storage.put(NAME, large);
  expect((await storage.get(NAME))?.equals(large)).toBe(true);
  await storage.put(NAME, PHOTO);
  expect([...server.objects]).toEqual([[`ab/${NAME}`, { bytes: PHOTO, contentType: 'image/jpeg' }]]);
  expect(server.requests.map((request) => request.replace(/\?.*/, ''))).toEqual([
    `PUT /handovers/ab/${NAME}`,
    `GET /handovers/ab/${NAME}`,
    `PUT /handovers/ab/${NAME}`,
  ]);
});

test.each(['proof', 'sameday/proof.photos'])('keeps to the prefix %s', async (prefix) => {
  const { server, storage } = await world({ prefix });
  await storage.put(NAME, PHOTO);
  expect([...server.objects.keys()]).toEqual([`${prefix}/ab/${NAME}`]);
  expect(await storage.get(NAME)).toEqual(PHOTO);
  expect(await storageOf(server).get(NAME)).toBeNull();
  await storage.remove(NAME);
  expect(server.objects.size).toBe(0);
});

test('nobody else can read a photo', async () => {
  const { server, storage } = await world();
  await storage.put(NAME, PHOTO);
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
    const response = await fetch(`${server.url}/handovers/ab/${NAME}`, { method });
    expect(response.status, method).toBe(403);
  }
  expect(server.objects.get(`ab/${NAME}`)?.bytes).toEqual(PHOTO);
  for (const work of [storage.put('../x', PHOTO), storage.get('../x'), storage.remove('../x')]) {
    await expect(work).rejects.toThrow(TypeError);
  }
});

test('gives up a photo that is larger than any of ours', async () => {
  const { server, storage } = await world();
  server.objects.set(`ab/${NAME}`, { bytes: Buffer.alloc(11 * 1024 * 1024), contentType: 'image/jpeg' });
  await expect(storage.get(NAME)).rejects.toMatchObject({ code: 'TooLarge' });
});

test('a bucket whose reads all hang, whoever asks, takes uploads', async () => {
  const { server, storage } = await world();
  server.become('unreadable');
  const photos = createPhotos(
    storage,
    { findPhotoName: async () => newPhotoName(), findOrderPhotoName: async () => null },
    { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() },
    vi.fn(),
    { reencode: async (jpeg) => ({ kind: 'ok', jpeg, width: 1, height: 1, isBlank: false }) },
  );
  const askers = Array.from({ length: PHOTO_BUCKET_SOCKETS + 1 }, (_, asker) => `network ${asker}`);
  const reads = Promise.allSettled(askers.map((network) => photos.find('link', network)));
  await expect.poll(() => server.requests.length).toBe(MAX_PHOTO_READS);
  expect(await photos.store(PHOTO, () => true, 'driver')).toMatchObject({ kind: 'stored' });
  await server.close();
  await reads;
});

describe('a bucket that does not let us in', () => {
  test.each<[string, Partial<BucketSettings>, string]>([
    ['a wrong secret', { secretAccessKey: 'secretly wrong' }, 'SignatureDoesNotMatch'],
    ['an unknown key', { accessKeyId: 'AKIDOTHER' }, 'InvalidAccessKeyId'],
    ['another region', { region: 'us-east-1' }, 'AuthorizationHeaderMalformed'],
    ['a bucket that is not there', { bucket: 'handover' }, 'NoSuchBucket'],
  ])('%s is a failure of every operation, by its code', async (_name, changes, code) => {
    const { server, storage } = await world(changes);
    for (const operation of [() => storage.put(NAME, PHOTO), () => storage.get(NAME), () => storage.remove(NAME)]) {
      await expect(operation()).rejects.toMatchObject({ name: 'PhotoBucketError', code });
    }
    expect(server.objects.size).toBe(0);
  });

  test('is reported without the secret or the key', async () => {
    const { storage } = await world({ secretAccessKey: 'secretly wrong' });
    const error = await storage.put(NAME, PHOTO).catch((caught) => caught);
    const shown = inspect(error, { depth: 10, showHidden: true });
    expect(shown).toContain('SignatureDoesNotMatch');
    for (const secret of ['secretly wrong', ACCOUNT.accessKeyId]) expect(shown).not.toContain(secret);
  });
});

describe('a bucket that is down', () => {
  test('is asked a second time, and no more', async () => {
    const { server, storage } = await world();
    server.failNext(1);
    await storage.put(NAME, PHOTO);
    expect(await storage.get(NAME)).toEqual(PHOTO);
    server.become('unavailable');
    server.requests.length = 0;
    await expect(storage.put(NAME, PHOTO)).rejects.toMatchObject({ code: 'ServiceUnavailable' });
    expect(server.requests).toHaveLength(2);
    await expect(storage.get(NAME)).rejects.toMatchObject({ code: 'ServiceUnavailable' });
    await expect(storage.remove(NAME)).rejects.toMatchObject({ code: 'ServiceUnavailable' });
    server.become('up');
    expect(await storage.get(NAME)).toEqual(PHOTO);
  });

  test('or gone is a failure at once', async () => {
    const { server, storage } = await world();
    await server.close();
    await expect(storage.put(NAME, PHOTO)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await expect(storage.get(NAME)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  describe.each<[string, Partial<BucketSettings>]>([
    ['silence', { silenceMs: 200 }],
    ['all of it', { deadlineMs: 300 }],
  ])('is a failure within the bound of %s', (_name, bounds) => {
    test('where it is silent', async () => {
      const { server, storage } = await world();
      await storage.put(NAME, PHOTO);
      server.become('silent');
      const bounded = storageOf(server, bounds);
      for (const operation of [() => bounded.put(NAME, PHOTO), () => bounded.get(NAME), () => bounded.remove(NAME)]) {
        await expect(operation()).rejects.toMatchObject({ name: 'PhotoBucketError' });
      }
    });

    test('in the middle of a photo', async () => {
      const { server, storage } = await world();
      const large = randomBytes(2 * 1024 * 1024);
      await storage.put(NAME, large);
      server.become('halting');
      await expect(storageOf(server, bounds).get(NAME)).rejects.toMatchObject({ name: 'PhotoBucketError' });
      server.become('up');
      expect((await storage.get(NAME))?.equals(large)).toBe(true);
    });
  });
});
