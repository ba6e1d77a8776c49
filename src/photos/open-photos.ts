import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { StoredPhoto } from '../domain/photo.ts';
import { below, LOSS_REPORT_MS, QUERY_DEADLINE_MS, REQUEST_DEADLINE_MS } from '../limits.ts';
import type { Closers } from '../runtime/closers.ts';
import type { Store } from '../store/store.ts';
import { atMostEvery, errorFields, type Logger } from '../telemetry.ts';
import { type EncodedPhoto, KeptPhotos } from './kept-photos.ts';
import { PHOTO_READ_WAIT_MS, PhotoReads } from './photo-reads.ts';
import {
  createFolderPhotoStorage,
  isStorageFull,
  newPhotoName,
  type PhotoStorage,
  photoFailureCause,
} from './photo-storage.ts';
import { createPhotoProcessor, type PhotoProcessor } from './photos.ts';

/** Longest silence of the photo bucket. A photo takes 0.1 to 1 s. */
const PHOTO_BUCKET_SILENCE_MS = 3_000;
/**
 * Longest time to store or read a photo in the bucket. Above PHOTO_BUCKET_SILENCE_MS times
 * PHOTO_BUCKET_ATTEMPTS; with the statement that follows and a usual decoding below REQUEST_DEADLINE_MS.
 */
const PHOTO_BUCKET_DEADLINE_MS = 7_000;

below(
  {
    'PHOTO_READ_WAIT_MS + QUERY_DEADLINE_MS + PHOTO_BUCKET_DEADLINE_MS':
      PHOTO_READ_WAIT_MS + QUERY_DEADLINE_MS + PHOTO_BUCKET_DEADLINE_MS,
  },
  { REQUEST_DEADLINE_MS },
);

export type Photos = ReturnType<typeof createPhotos>;

/** What becomes of an upload, for the metrics. */
type PhotoOutcome = 'stored' | 'unusable' | 'busy' | 'storage_full' | 'storage_failed';

/**
 * The photos of handovers.
 *
 * @param observe is told what became of each upload
 */
export function createPhotos(
  storage: PhotoStorage,
  store: Pick<Store, 'findPhotoName' | 'findOrderPhotoName'>,
  logger: Logger,
  observe: (outcome: PhotoOutcome) => void,
  processor: PhotoProcessor = createPhotoProcessor(),
) {
  const kept = new KeptPhotos(() => performance.now());
  /** Repeated while it lasts: no driver can end a delivery, and each of these lines says why. */
  const notStored = atMostEvery(LOSS_REPORT_MS, (error: unknown) =>
    logger.error(
      { err: errorFields(error), because: photoFailureCause(error) },
      'a photo could not be stored; no delivery ends until one can',
    ),
  );
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
  async function encoded(bytes: Buffer, wanted: () => boolean, driverId: string): Promise<Encoded> {
    const photo = kept.find(driverId, bytes);
    return photo ? { kind: 'ok', ...photo } : processor.reencode(bytes, wanted);
  }
  const reads = new PhotoReads((name) => logged(storage.get(name)));
  return {
    /**
     * Re-encodes a driver's upload and stores it under a new name, unless `wanted` turns false before its turn. What
     * could not be stored is kept: the same upload of the driver is not encoded again.
     *
     * @throws {PhotoStorageError} where it cannot be stored
     */
    async store(bytes: Buffer, wanted: () => boolean, driverId: string): Promise<StoredPhoto> {
      const photo = await encoded(bytes, wanted, driverId);
      if (photo.kind !== 'ok') {
        observe(photo.kind);
        return photo;
      }
      const name = newPhotoName();
      try {
        await storage.put(name, photo.jpeg);
      } catch (error) {
        kept.keep(driverId, bytes, { jpeg: photo.jpeg, isBlank: photo.isBlank });
        observe(isStorageFull(error) ? 'storage_full' : 'storage_failed');
        notStored(error);
        throw error;
      }
      kept.drop(driverId);
      observe('stored');
      return { kind: 'stored', name, isBlank: photo.isBlank };
    },
    /** Removes a photo that belongs to no order. A failure is logged and not thrown. */
    discard: (name: string): Promise<void> =>
      storage
        .remove(name)
        .catch((error) =>
          logger.warn(
            { photo: name, err: errorFields(error) },
            'a photo that belongs to no order could not be removed',
          ),
        ),
    /** Why `store` failed, in words; null where the error says nothing of it that is known. */
    failureCause: photoFailureCause,
    /** The photo of a tracking token's order, for a client of a network; null if there is none. */
    find: (token: string, network: string) => reads.read(network, () => store.findPhotoName(token)),
    /** The photo of a store's order; null if there is none, and for another store's order. */
    findOf: (orderId: string, retailerId: string) =>
      reads.read(retailerId, () => store.findOrderPhotoName(orderId, retailerId)),
  };
}

type Encoded = Exclude<StoredPhoto, { readonly kind: 'stored' }> | ({ readonly kind: 'ok' } & EncodedPhoto);

/** Opens the bucket of the settings, or a folder under DATA_DIR. */
export async function openPhotoStorage(config: Config, closers: Closers): Promise<PhotoStorage> {
  if (!config.photoBucket) return createFolderPhotoStorage(join(config.dataDir, 'photos'));
  // Loading the SDK costs 200 ms and 30 MB, so a service without a bucket does not load it.
  const { createBucketPhotoStorage } = await import('./photo-bucket.ts');
  const storage = createBucketPhotoStorage({
    ...config.photoBucket,
    silenceMs: PHOTO_BUCKET_SILENCE_MS,
    deadlineMs: PHOTO_BUCKET_DEADLINE_MS,
  });
  closers.add('photo bucket', () => storage.close());
  return storage;
}
