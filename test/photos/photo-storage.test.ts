import { readdirSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { createFolderPhotoStorage, newPhotoName } from '../../src/photos/photo-storage.ts';
import { temporaryFolder } from '../sandbox/temporary.ts';

const PHOTO = Buffer.from([0xff, 0xd8, 0x00, 0x80, 0xff]);

function world() {
  const folder = join(temporaryFolder(), 'data', 'photos');
  return { folder, storage: createFolderPhotoStorage(folder) };
}

test('gives back what was put, until it is removed', async () => {
  const { storage } = world();
  const name = newPhotoName();
  expect(await storage.get(name)).toBeNull();
  await storage.put(name, PHOTO);
  expect(await storage.get(name)).toEqual(PHOTO);
  await storage.remove(name);
  expect(await storage.get(name)).toBeNull();
  await storage.remove(name);
});

/** Records what is flushed to the disk: a file by its length, a folder with the names in it. Linux tells the paths. */
async function recordFlushes(folder: string) {
  const flushed: string[] = [];
  const handle = await open(folder);
  const shared = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const { sync } = shared;
  const spy = vi.spyOn(shared, 'sync').mockImplementation(function (this: FileHandle) {
    const path = readlinkSync(`/proc/self/fd/${this.fd}`);
    const stat = statSync(path);
    flushed.push(stat.isDirectory() ? `${path}: ${readdirSync(path).sort().join()}` : `${stat.size} bytes`);
    return sync.call(this);
  });
  return { flushed, stop: () => spy.mockRestore() };
}

test.skipIf(process.platform !== 'linux')('has a photo on the disk, and its name, once it is put', async () => {
  const { storage, folder } = world();
  const above = dirname(folder);
  const { flushed, stop } = await recordFlushes(dirname(above));
  const [first, second] = [`aa${'0'.repeat(30)}.jpg`, `aa${'1'.repeat(30)}.jpg`];
  await storage.put(first, PHOTO);
  const bytes = `${PHOTO.length} bytes`;
  expect(flushed.splice(0)).toEqual([bytes, `${folder}/aa: ${first}`, `${folder}: aa`, `${above}: photos`]);
  await storage.put(second, PHOTO);
  stop();
  expect(flushed).toEqual([bytes, `${folder}/aa: ${first},${second}`]);
});

test('leaves nothing but the photo, readable by its own user only', async () => {
  const { storage, folder } = world();
  const name = newPhotoName();
  await storage.put(name, PHOTO);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true });
  expect(files.filter((file) => file.isFile()).map((file) => file.name)).toEqual([name]);
  for (const file of files) expect(statSync(join(file.parentPath, file.name)).mode & 0o077, file.name).toBe(0);
  expect(statSync(folder).mode & 0o077).toBe(0);
});

test('a photo that cannot be written is an error and leaves nothing behind', async () => {
  const { storage, folder } = world();
  await storage.put(`${'a'.repeat(32)}.jpg`, PHOTO);
  writeFileSync(join(folder, 'bb'), 'in the way');
  // The system's own code, which says what an operator has to do, and not that of a library around it.
  await expect(storage.put(`${'b'.repeat(32)}.jpg`, PHOTO)).rejects.toMatchObject({
    code: expect.stringMatching(/^E/),
  });
  expect(readdirSync(folder).sort()).toEqual(['aa', 'bb']);
});

test.each([
  '../../etc/passwd',
  'a.jpg',
  '',
  `${'a'.repeat(32)}.jpg/..`,
  `${'a'.repeat(32)}.jpg\n`,
  `/${'a'.repeat(32)}.jpg`,
])('takes no name that it did not make: %j', async (name) => {
  const { storage } = world();
  await expect(storage.put(name, PHOTO)).rejects.toThrow(TypeError);
  await expect(storage.get(name)).rejects.toThrow(TypeError);
  await expect(storage.remove(name)).rejects.toThrow(TypeError);
});

test('no two names are the same', () => {
  const names = Array.from({ length: 1_000 }, newPhotoName);
  expect(new Set(names).size).toBe(1_000);
});
