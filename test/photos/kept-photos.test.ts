import { beforeEach, expect, test } from 'vitest';
import { KEPT_PHOTO_MS, KeptPhotos, MAX_KEPT_PHOTO_BYTES } from '../../src/photos/kept-photos.ts';

const UPLOAD = Buffer.from('upload');
const PHOTO = { jpeg: Buffer.from('jpeg'), isBlank: false };

let nowMs: number;
let kept: KeptPhotos;
beforeEach(() => {
  nowMs = 0;
  kept = new KeptPhotos(() => nowMs);
});

test('the same upload of the same driver is found, and no other', () => {
  kept.keep('a', UPLOAD, PHOTO);
  expect(kept.find('a', Buffer.from('upload'))).toBe(PHOTO);
  expect(kept.find('a', Buffer.from('another'))).toBeNull();
  expect(kept.find('b', UPLOAD)).toBeNull();
  kept.drop('a');
  expect(kept.find('a', UPLOAD)).toBeNull();
});

test('a photo is kept for its time after its last upload', () => {
  kept.keep('a', UPLOAD, PHOTO);
  nowMs += KEPT_PHOTO_MS;
  kept.keep('a', UPLOAD, PHOTO);
  nowMs += KEPT_PHOTO_MS;
  expect(kept.find('a', UPLOAD)).toBe(PHOTO);
  nowMs += 1;
  expect(kept.find('a', UPLOAD)).toBeNull();
});

test('all together have a bound: the first are dropped first, and a driver has one', () => {
  const quarter = { ...PHOTO, jpeg: Buffer.alloc(MAX_KEPT_PHOTO_BYTES / 4) };
  for (let photo = 0; photo < 10; photo++) kept.keep('a', UPLOAD, quarter);
  for (const driverId of ['b', 'c', 'd']) kept.keep(driverId, UPLOAD, quarter);
  const held = () => ['a', 'b', 'c', 'd', 'e'].filter((id) => kept.find(id, UPLOAD) !== null);
  expect(held()).toEqual(['a', 'b', 'c', 'd']);
  kept.keep('e', UPLOAD, PHOTO);
  expect(held()).toEqual(['b', 'c', 'd', 'e']);
});
