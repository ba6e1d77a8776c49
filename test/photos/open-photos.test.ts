import sharp from 'sharp';
import { expect, test, vi } from 'vitest';
import { createPhotos } from '../../src/photos/open-photos.ts';
import { MAX_PHOTO_READS, MAX_PHOTO_READS_WAITING } from '../../src/photos/photo-reads.ts';
import type { PhotoStorage } from '../../src/photos/photo-storage.ts';
import { createPhotoProcessor } from '../../src/photos/photos.ts';

const DRIVER = 'driver 1';
const NETWORK = '192.0.2.1';
const wanted = () => true;

/** Photos on a storage that fails every call by a code, until it is null, and a database that is not used. */
function world() {
  const disk: { code: string | null } = { code: 'ENOSPC' };
  const stored = new Map<string, Buffer>();
  const fail = () => {
    if (disk.code !== null) throw Object.assign(new Error('to jordan@example.com'), { code: disk.code });
  };
  const storage: PhotoStorage = {
    async put(name, jpeg) {
      fail();
      stored.set(name, jpeg);
    },
    async get(name) {
      fail();
      return stored.get(name) ?? null;
    },
    remove: async () => fail(),
  };
  const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  const asked = () => Promise.reject(new Error('the database was asked'));
  const outcomes: string[] = [];
  const processor = createPhotoProcessor();
  const reencode = vi.fn(processor.reencode);
  const photos = createPhotos(
    storage,
    { findPhotoName: async (token) => token, findOrderPhotoName: asked },
    logger,
    (outcome) => outcomes.push(outcome),
    { reencode },
  );
  return { photos, logger, disk, stored, outcomes, reencode };
}

const picture = (background: string): Promise<Buffer> =>
  sharp({ create: { width: 8, height: 8, channels: 3, background } })
    .jpeg()
    .toBuffer();

test('a photo that cannot be stored fails, and one line says why by code and in words', async () => {
  const { photos, logger, outcomes } = world();
  const photo = await picture('red');
  await expect(photos.store(photo, wanted, DRIVER)).rejects.toMatchObject({ code: 'ENOSPC' });
  await expect(photos.store(photo, wanted, DRIVER)).rejects.toMatchObject({ code: 'ENOSPC' });
  expect(logger.error.mock.calls).toEqual([
    [
      { err: expect.objectContaining({ code: 'ENOSPC' }), because: 'the disk is full' },
      'a photo could not be stored; no delivery ends until one can',
    ],
  ]);
  expect(JSON.stringify(logger.error.mock.calls)).not.toContain('jordan');
  expect(outcomes).toEqual(['storage_full', 'storage_full']);
});

test('an upload that could not be stored is encoded once, however often it is sent, and then stored', async () => {
  const { photos, disk, stored, outcomes, reencode } = world();
  const photo = await picture('red');
  for (let upload = 0; upload < 3; upload++) await expect(photos.store(photo, wanted, DRIVER)).rejects.toThrow();
  disk.code = null;
  const { name = '' } = (await photos.store(photo, wanted, DRIVER)) as { name?: string };
  expect(reencode).toHaveBeenCalledOnce();
  const encoded = await reencode.mock.results[0]?.value;
  expect(stored.get(name)).toEqual(encoded.jpeg);
  expect(outcomes).toEqual(['storage_full', 'storage_full', 'storage_full', 'stored']);
  await photos.store(photo, wanted, DRIVER);
  expect(reencode).toHaveBeenCalledTimes(2);
});

test('uploads that are unusable or fail for another reason are told apart', async () => {
  const { photos, disk, outcomes } = world();
  expect(await photos.store(Buffer.from('no picture'), wanted, DRIVER)).toMatchObject({ kind: 'unusable' });
  disk.code = 'EIO';
  await expect(photos.store(await picture('red'), wanted, DRIVER)).rejects.toThrow();
  expect(await photos.store(await picture('blue'), () => false, DRIVER)).toEqual({ kind: 'busy' });
  expect(outcomes).toEqual(['unusable', 'storage_failed', 'busy']);
});

test('a photo that cannot be read fails, and its code is logged once', async () => {
  const { photos, logger, disk } = world();
  disk.code = 'DOWN';
  for (let read = 0; read < 2; read++) await expect(photos.find('a', NETWORK)).rejects.toMatchObject({ code: 'DOWN' });
  expect(logger.warn.mock.calls).toEqual([
    [{ err: expect.objectContaining({ code: 'DOWN' }) }, 'the photo storage failed'],
  ]);
});

test('a flood of one network reads once, and takes no place of another one, of a store or of an upload', async () => {
  let answer: (jpeg: Buffer) => void = () => {};
  const slow = new Promise<Buffer>((resolve) => {
    answer = resolve;
  });
  const get = vi.fn((name: string) => (name === 'slow' ? slow : Promise.resolve(Buffer.from(name))));
  const findPhotoName = vi.fn(async (token: string) => token);
  const photos = createPhotos(
    { put: async () => {}, get, remove: async () => {} },
    { findPhotoName, findOrderPhotoName: async (orderId) => orderId },
    { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() },
    vi.fn(),
  );
  const flood = Promise.allSettled(Array.from({ length: 100 }, () => photos.find('slow', NETWORK)));
  expect(await photos.find('other', '192.0.2.2')).toEqual(Buffer.from('other'));
  expect(await photos.findOf('order', 'store')).toEqual(Buffer.from('order'));
  expect(await photos.store(await picture('red'), wanted, DRIVER)).toMatchObject({ kind: 'stored' });
  expect(get.mock.calls.flat()).toEqual(['slow', 'other', 'order']);
  expect(findPhotoName).toHaveBeenCalledTimes(MAX_PHOTO_READS / 2 + 1);

  answer(Buffer.from('slow'));
  const results = await flood;
  const served = results.filter(({ status }) => status === 'fulfilled');
  expect(served).toHaveLength(MAX_PHOTO_READS / 2 + MAX_PHOTO_READS_WAITING);
  expect(results.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'unavailable' } });
});

test('a photo that cannot be discarded is logged and does not fail', async () => {
  const { photos, logger } = world();
  const name = `${'0'.repeat(32)}.jpg`;
  await photos.discard(name);
  expect(logger.warn.mock.calls[0]?.[0]).toMatchObject({ photo: name, err: { code: 'ENOSPC' } });
});
