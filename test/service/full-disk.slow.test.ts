import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import * as photos from '../../src/photos/photos.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { newDataDir } from '../harness/service.ts';
import { type ServiceHere, startServiceHere } from '../harness/service-here.ts';
import { addFreeDriver, addStore, ask, place, show, storedPhotos } from './clients.ts';

/** Room that is left on the full disk, so that a photo begins to be written. */
const LEFT_BYTES = 16 * 1024;

const data = newDataDir();
const disk = join(data.dataDir, 'photos');
const filler = join(disk, 'filler');
/** A file system of its own. To mount it takes the rights of root, which containers mostly lack. */
let isMounted = false;
let database: FreshDatabase;
let service: ServiceHere;
const reencode = vi.fn<ReturnType<typeof photos.createPhotoProcessor>['reencode']>();

beforeAll(async () => {
  mkdirSync(disk, { recursive: true });
  isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=700', 'tmpfs', disk]).status === 0;
  if (!isMounted) return;
  const processor = photos.createPhotoProcessor();
  reencode.mockImplementation(processor.reencode);
  const counted = vi.spyOn(photos, 'createPhotoProcessor').mockReturnValue({ reencode });
  database = await freshDatabase();
  service = await startServiceHere({ DATABASE_URL: database.url, DATA_DIR: data.dataDir, LOG_LEVEL: 'info' });
  counted.mockRestore();
});
afterAll(async () => {
  await service?.stop();
  await database?.drop();
  if (isMounted) spawnSync('umount', [disk]);
  data.remove();
});

const freeBytes = () => {
  const { bavail, bsize } = statfsSync(disk);
  return bavail * bsize;
};

/** Whether the alert of the photos counts an upload that ended so. */
function isAlarming(outcome: string): boolean {
  type Rules = { readonly groups: readonly { readonly rules: readonly { alert: string; expr: string }[] }[] };
  const { groups } = parse(readFileSync('docs/alerts.yml', 'utf8')) as Rules;
  const rule = groups.flatMap(({ rules }) => rules).find(({ alert }) => alert === 'photos cannot be stored');
  const [, pattern = 'no alert'] = /sameday_photos_total\{outcome=~"([^"]+)"\}/.exec(rule?.expr ?? '') ?? [];
  return new RegExp(`^(?:${pattern})$`).test(outcome);
}

test('a photo for which the disk has no room is encoded once, told of by its cause, and stored when there is', async ({
  skip,
}) => {
  skip(!isMounted, 'a disk of 1 MB cannot be mounted here');
  const store = await addStore(database.sql);
  const driver = await addFreeDriver(service, database.sql, store.point);
  const { id } = (await place(service, store)).body.order;
  expect((await driver.pickUp(id)).status).toBe(200);
  const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const;
  const photo = await sharp({ create: { width: 320, height: 240, channels: 3, background: 'red', noise } })
    .jpeg()
    .toBuffer();
  const deliver = () =>
    ask(service, `/driver/orders/${id}/deliver?action_id=tap-1`, {
      method: 'POST',
      key: driver.token,
      body: photo,
      headers: { 'content-type': 'image/jpeg' },
    });
  writeFileSync(filler, Buffer.alloc(freeBytes() - LEFT_BYTES));

  for (let tap = 0; tap < 3; tap++) {
    const refused = await deliver();
    expect([refused.status, refused.body.message]).toEqual([503, expect.stringContaining('the disk is full')]);
  }
  expect(await show(service, store, id)).toMatchObject({ status: 'picked_up' });
  expect(reencode).toHaveBeenCalledOnce();
  // What was written of the photo is gone; its folder may stay.
  expect(freeBytes()).toBeGreaterThanOrEqual(LEFT_BYTES - 8 * 1024);
  expect(storedPhotos(data.dataDir)).toEqual(['filler']);
  const line = service
    .output()
    .split('\n')
    .find((each) => each.includes('a photo could not be stored'));
  expect(JSON.parse(line ?? '{}')).toMatchObject({ err: { code: 'ENOSPC' }, because: 'the disk is full' });
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  expect(metrics).toMatch(/^sameday_photos_total\{outcome="storage_full"\} 3$/m);
  expect(isAlarming('storage_full')).toBe(true);

  rmSync(filler);
  expect((await deliver()).body.order).toMatchObject({ status: 'delivered' });
  expect(reencode).toHaveBeenCalledOnce();
  expect(storedPhotos(data.dataDir)).toHaveLength(1);
});
