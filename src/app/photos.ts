import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { StoredPhoto } from '../driver-app/action-routes.ts';
import { LOSS_REPORT_MS, PHOTO_BUCKET_DEADLINE_MS, PHOTO_BUCKET_SILENCE_MS } from '../limits.ts';
import type { Store } from '../store/store.ts';
import { atMostEvery, errorFields, type Logger } from '../telemetry.ts';
import { createFolderPhotoStorage, newPhotoName, type PhotoStorage } from '../vendors/photo-storage.ts';
import { createPhotoProcessor } from '../vendors/photos.ts';
import type { Closers } from './closers.ts';

export type Photos = {
  /** Re-encodes an upload and stores it under a new name, unless `wanted` turns false before its turn. */
  store(bytes: Buffer, wanted: () => boolean): Promise<StoredPhoto>;
  /** Removes a photo that belongs to no order. A failure is logged and not thrown. */
  discard(name: string): Promise<void>;
  /** The photo of a tracking token's order; null if there is none. */
  find(token: string): Promise<Buffer | null>;
  /** The photo of a store's order; null if there is none, and for another store's order. */
  findOf(orderId: string, retailerId: string): Promise<Buffer | null>;
};

/** The photos of handovers. */
export function createPhotos(
  storage: PhotoStorage,
  store: Pick<Store, 'findPhotoName' | 'findOrderPhotoName'>,
  logger: Logger,
): Photos {
  const processor = createPhotoProcessor();
  const failed = atMostEvery(LOSS_REPORT_MS, (error: unknown) =>
    logger.warn({ err: errorFields(error) }, 'the photo storage failed'),
  );
  /** Logs the failure as a warning; the failed request alone is logged for debugging only. */
  async function logged<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      failed(error);
      throw error;
    }
  }
  const read = async (name: string | null) => (name === null ? null : logged(storage.get(name)));
  return {
    async store(bytes, wanted) {
      const photo = await processor.reencode(bytes, wanted);
      if (photo.kind !== 'ok') return photo;
      const name = newPhotoName();
      await logged(storage.put(name, photo.jpeg));
      return { kind: 'stored', name };
    },
    discard: (name) =>
      storage
        .remove(name)
        .catch((error) =>
          logger.warn(
            { photo: name, err: errorFields(error) },
            'a photo that belongs to no order could not be removed',
          ),
        ),
    find: async (token) => read(await store.findPhotoName(token)),
    findOf: async (orderId, retailerId) => read(await store.findOrderPhotoName(orderId, retailerId)),
  };
}

/** Opens the bucket of the settings, or a folder under DATA_DIR. */
export async function openPhotoStorage(config: Config, closers: Closers): Promise<PhotoStorage> {
  if (!config.photoBucket) return createFolderPhotoStorage(join(config.dataDir, 'photos'));
  // Loading the SDK costs 200 ms and 30 MB, so a service without a bucket does not load it.
  const { createBucketPhotoStorage } = await import('../vendors/photo-bucket.ts');
  const storage = createBucketPhotoStorage({
    ...config.photoBucket,
    silenceMs: PHOTO_BUCKET_SILENCE_MS,
    deadlineMs: PHOTO_BUCKET_DEADLINE_MS,
  });
  closers.add('photo bucket', () => storage.close());
  return storage;
}
