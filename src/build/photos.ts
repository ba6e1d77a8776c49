import { join } from 'node:path';
import type { StoredPhoto } from '../http/routes/driver-actions.ts';
import type { Sql } from '../store/connect.ts';
import { findPhotoName } from '../store/tracked.ts';
import { createFolderPhotoStorage, newPhotoName } from '../vendors/photo-storage.ts';
import { createPhotoProcessor } from '../vendors/photos.ts';

export type Photos = {
  /** Re-encodes and stores an upload under a name of ours. */
  store(bytes: Buffer): Promise<StoredPhoto>;
  discard(name: string): Promise<void>;
  /** The stored photo behind a tracking token. */
  find(token: string): Promise<Buffer | null>;
};

/** Photos of handovers, in a folder under the data folder. */
export function openPhotos(dataDir: string, sql: Sql): Photos {
  const processor = createPhotoProcessor();
  const storage = createFolderPhotoStorage(join(dataDir, 'photos'));
  return {
    async store(bytes) {
      const photo = await processor.reencode(bytes);
      if (photo.kind !== 'ok') return photo;
      const name = newPhotoName();
      await storage.put(name, photo.jpeg);
      return { kind: 'stored', name };
    },
    discard: (name) => storage.remove(name),
    async find(token) {
      const name = await findPhotoName(sql, token);
      return name === null ? null : storage.get(name);
    },
  };
}
