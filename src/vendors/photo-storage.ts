import { randomBytes } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { FileStorage, isFileWasNotFound, toReadable } from '@flystorage/file-storage';
import { LocalStorageAdapter } from '@flystorage/local-fs';

/** Photos by the names that `newPhotoName` made. Any other name is a bug and throws. */
export type PhotoStorage = {
  /** Stores a photo. It is durable when this resolves, and no reader sees a part of it. */
  put(name: string, jpeg: Buffer): Promise<void>;
  get(name: string): Promise<Buffer | null>;
  /** Removes a photo, if it is there. */
  remove(name: string): Promise<void>;
};

const NAME = /^[0-9a-f]{32}\.jpg$/;

/** A new name of 128 random bits, which says nothing and cannot be guessed. */
export function newPhotoName(): string {
  return `${randomBytes(16).toString('hex')}.jpg`;
}

/** The path of a photo, the same in a folder and in a bucket, so that one can be copied to the other. */
export function photoPath(name: string): string {
  if (!NAME.test(name)) throw new TypeError('not the name of a photo');
  return `${name.slice(0, 2)}/${name}`;
}

/** Keeps photos in a folder, spread over 256 subfolders that only the service's own user can read. */
export function createFolderPhotoStorage(folder: string): PhotoStorage {
  const adapter = new LocalStorageAdapter(folder, { rootDirectoryVisibility: 'private' });
  const storage = new FileStorage(adapter, undefined, {
    visibility: { visibility: 'private', directoryVisibility: 'private' },
    moves: { retainVisibility: false },
  });
  return {
    async put(name, jpeg) {
      const path = photoPath(name);
      const unfinished = `${path}.${randomBytes(4).toString('hex')}`;
      try {
        await storage.write(unfinished, toReadable(jpeg));
        await flushToDisk(join(folder, unfinished));
        await storage.moveFile(unfinished, path);
      } catch (error) {
        await storage.deleteFile(unfinished).catch(() => {});
        throw error;
      }
    },
    async get(name) {
      try {
        return await storage.readToBuffer(photoPath(name));
      } catch (error) {
        if (isNotFound(error)) return null;
        throw error;
      }
    },
    remove: async (name) => storage.deleteFile(photoPath(name)),
  };
}

/** Makes a file durable: an order has its photo once `put` resolves, whatever happens to the power. */
async function flushToDisk(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

function isNotFound(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) if (isFileWasNotFound(at)) return true;
  return false;
}
