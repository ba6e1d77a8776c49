import sharp from 'sharp';
import { expect, test, vi } from 'vitest';
import { createPhotos } from '../../src/app/photos.ts';
import type { PhotoStorage } from '../../src/vendors/photo-storage.ts';

/** Photos on a storage that fails every call, and a database that is not used. */
function world() {
  const down = () => Promise.reject(Object.assign(new Error('to jordan@example.com'), { code: 'DOWN' }));
  const storage: PhotoStorage = { put: down, get: down, remove: down };
  const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  const asked = () => Promise.reject(new Error('the database was asked'));
  const store = { findPhotoName: asked, findOrderPhotoName: asked };
  return { photos: createPhotos(storage, store, logger), logger };
}

test('a photo that cannot be stored fails, and its code is logged once', async () => {
  const { photos, logger } = world();
  const photo = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
    .jpeg()
    .toBuffer();
  await expect(photos.store(photo, () => true)).rejects.toMatchObject({ code: 'DOWN' });
  await expect(photos.store(photo, () => true)).rejects.toMatchObject({ code: 'DOWN' });
  expect(logger.warn).toHaveBeenCalledOnce();
  expect(logger.warn.mock.calls[0]).toEqual([
    { err: expect.objectContaining({ code: 'DOWN' }) },
    'the photo storage failed',
  ]);
  expect(JSON.stringify(logger.warn.mock.calls)).not.toContain('jordan');
});

test('a photo that cannot be discarded is logged and does not fail', async () => {
  const { photos, logger } = world();
  const name = `${'0'.repeat(32)}.jpg`;
  await photos.discard(name);
  expect(logger.warn.mock.calls[0]?.[0]).toMatchObject({ photo: name, err: { code: 'DOWN' } });
});
