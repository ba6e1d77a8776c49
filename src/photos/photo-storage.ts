import { randomBytes } from 'node:crypto';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
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

/** A failed operation of the storage. `code` is the system's (`ENOSPC`) or the bucket's (`NoSuchBucket`). */
export class PhotoStorageError extends Error {
  readonly code: string;

  constructor(code: string, options?: ErrorOptions) {
    super(`the photo storage failed: ${code}`, options);
    this.name = 'PhotoStorageError';
    this.code = code;
  }
}

/** Why a storage fails, in words, by the codes for which an operator does something of their own. */
const CAUSES: Readonly<Record<string, readonly string[]>> = {
  'the disk is full': ['ENOSPC', 'EDQUOT'],
  'the disk is read-only': ['EROFS'],
  'the disk fails': ['EIO'],
  'the folder may not be written': ['EACCES', 'EPERM'],
  'too many files are open': ['EMFILE', 'ENFILE'],
  'the bucket is full': ['QuotaExceeded', 'XMinioStorageFull', 'InsufficientStorage'],
  'there is no such bucket': ['NoSuchBucket'],
  'the bucket refuses the key': ['AccessDenied', 'InvalidAccessKeyId', 'SignatureDoesNotMatch'],
  'the bucket does not answer': ['TimeoutError', 'AbortError', 'ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'ETIMEDOUT'],
};
const FULL: ReadonlySet<string> = new Set(['the disk is full', 'the bucket is full']);
const CAUSE_OF = new Map(Object.entries(CAUSES).flatMap(([words, codes]) => codes.map((code) => [code, words])));

/** Why the storage failed, in words; null where the error says nothing of it that is known. */
export function photoFailureCause(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return typeof code === 'string' ? (CAUSE_OF.get(code) ?? null) : null;
}

/** Whether it failed for want of room. */
export const isStorageFull = (error: unknown): boolean => FULL.has(photoFailureCause(error) ?? '');

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
  /** The subfolders that this process knows to be durable. */
  const durable = new Set<string>();
  /** Makes the name of a new photo durable, and those of the folders on the way to it, which may be new too. */
  async function flushFolders(subfolder: string): Promise<void> {
    await flushFolder(subfolder);
    if (durable.has(subfolder)) return;
    for (const above of [folder, dirname(folder)]) await flushFolder(above);
    durable.add(subfolder);
  }
  return {
    async put(name, jpeg) {
      const path = photoPath(name);
      const unfinished = `${path}.${randomBytes(4).toString('hex')}`;
      try {
        await storage.write(unfinished, toReadable(jpeg));
        await flushToDisk(join(folder, unfinished));
        await storage.moveFile(unfinished, path);
        await flushFolders(dirname(join(folder, path)));
      } catch (error) {
        for (const left of [unfinished, path]) await storage.deleteFile(left).catch(() => {});
        throw failed(error);
      }
    },
    async get(name) {
      const path = photoPath(name);
      try {
        return await storage.readToBuffer(path);
      } catch (error) {
        if (isNotFound(error)) return null;
        throw failed(error);
      }
    },
    remove: async (name) => storage.deleteFile(photoPath(name)),
  };
}

/** An error with the system's code, which flystorage wraps in errors of its own. */
function failed(error: unknown): PhotoStorageError {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  const code = inner instanceof Error && 'code' in inner ? inner.code : null;
  return new PhotoStorageError(typeof code === 'string' ? code : 'Unknown', { cause: error });
}

/**
 * Makes a file durable, or the names in a folder: an order has its photo once `put` resolves, whatever happens to the
 * power.
 */
async function flushToDisk(path: string): Promise<void> {
  const file = await open(path);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** What file systems say that flush no folder, and of a folder that may not be read; both have to do without. */
const UNFLUSHED: ReadonlySet<unknown> = new Set(['EINVAL', 'ENOTSUP', 'EISDIR', 'EACCES', 'EPERM']);

async function flushFolder(path: string): Promise<void> {
  await flushToDisk(path).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && UNFLUSHED.has(error.code))) throw error;
  });
}

function isNotFound(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) if (isFileWasNotFound(at)) return true;
  return false;
}
