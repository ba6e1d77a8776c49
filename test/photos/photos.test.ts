import sharp, { type Sharp } from 'sharp';
import { describe, expect, test } from 'vitest';
import { MAX_PHOTO_BYTES, MAX_PHOTO_SIDE } from '../../src/limits.ts';
import { createPhotoProcessor, MAX_PHOTO_QUEUE, MAX_PHOTO_SCANS, STORED_PHOTO_SIDE } from '../../src/photos/photos.ts';
import { drawPhoto } from '../../src/sandbox/simulated-world.ts';
import { makePng, makeProgressiveJpeg } from '../harness/bombs.ts';

const processor = createPhotoProcessor();
const reencode = (bytes: Buffer) => processor.reencode(bytes);

/** A picture whose left half is red and right half blue, so that a rotation shows. */
function picture(width: number, height: number): Sharp {
  const half = { width: Math.floor(width / 2), height, channels: 3, background: 'red' } as const;
  return sharp({ create: { width, height, channels: 3, background: 'blue' } }).composite([
    { input: { create: half }, left: 0, top: 0 },
  ]);
}

test.each(['jpeg', 'png', 'webp'] as const)('a %s becomes a JPEG of the same picture', async (format) => {
  const outcome = await reencode(await picture(64, 32).toFormat(format).toBuffer());
  if (outcome.kind !== 'ok') throw new Error(outcome.kind);
  expect(outcome).toMatchObject({ width: 64, height: 32 });
  expect(await sharp(outcome.jpeg).metadata()).toMatchObject({ format: 'jpeg', width: 64, height: 32 });
  const { data } = await sharp(outcome.jpeg).raw().toBuffer({ resolveWithObject: true });
  expect(data[0]).toBeGreaterThan(200);
  expect(data[data.length - 1]).toBeGreaterThan(200);
});

test('nothing but the picture remains: no place, no camera, no comment, no hidden file', async () => {
  const photo = await picture(64, 32)
    .withExif({
      IFD0: { Make: 'SecretCamera', Copyright: 'somebody' },
      IFD3: { GPSLatitude: '40/1 44/1 54/1', GPSLatitudeRef: 'N', GPSLongitude: '73/1 59/1 9/1', GPSLongitudeRef: 'W' },
    })
    .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/">hidden-xmp</x:xmpmeta>')
    .keepIccProfile()
    .jpeg()
    .toBuffer();
  const polyglot = Buffer.concat([photo, Buffer.from('PK\x03\x04 a zip file behind it <script>')]);
  expect((await sharp(photo).metadata()).exif?.includes('SecretCamera')).toBe(true);
  const outcome = await reencode(polyglot);
  if (outcome.kind !== 'ok') throw new Error(outcome.kind);
  const { exif, xmp, iptc, icc } = await sharp(outcome.jpeg).metadata();
  expect({ exif, xmp, iptc, icc }).toEqual({});
  for (const secret of ['SecretCamera', 'hidden-xmp', 'a zip file', '<script>']) {
    expect(outcome.jpeg.includes(secret), secret).toBe(false);
  }
});

test('a phone’s turned picture is stored upright', async () => {
  // Orientation 6 means a rotation by 90 degrees clockwise, which puts the left on top.
  const outcome = await reencode(await picture(64, 32).jpeg().withMetadata({ orientation: 6 }).toBuffer());
  if (outcome.kind !== 'ok') throw new Error(outcome.kind);
  expect(outcome).toMatchObject({ width: 32, height: 64 });
  const { data } = await sharp(outcome.jpeg).raw().toBuffer({ resolveWithObject: true });
  const [top, bottom] = [data.subarray(0, 3), data.subarray(data.length - 3)];
  expect((top[0] ?? 0) > (top[2] ?? 0)).toBe(true);
  expect((bottom[0] ?? 0) < (bottom[2] ?? 0)).toBe(true);
});

test('a large picture is made smaller, a small one is not made larger', async () => {
  const outcome = await reencode(await picture(4_000, 3_000).jpeg().toBuffer());
  expect(outcome).toMatchObject({ kind: 'ok', width: STORED_PHOTO_SIDE, height: STORED_PHOTO_SIDE * 0.75 });
  expect(await reencode(await picture(10, 20).png().toBuffer())).toMatchObject({ width: 10, height: 20 });
});

test('a transparent picture gets a white ground', async () => {
  const clear = { r: 0, g: 0, b: 0, alpha: 0 };
  const photo = await sharp({ create: { width: 8, height: 8, channels: 4, background: clear } })
    .png()
    .toBuffer();
  const outcome = await reencode(photo);
  if (outcome.kind !== 'ok') throw new Error(outcome.kind);
  expect((await sharp(outcome.jpeg).raw().toBuffer())[0]).toBe(255);
});

test('24 megapixels are taken, more are refused before they are unpacked', async () => {
  const flat = (width: number, height: number) => sharp({ create: { width, height, channels: 3, background: 'red' } });
  expect(await reencode(await flat(6_000, 4_000).jpeg().toBuffer())).toMatchObject({ kind: 'ok' });
  expect(await reencode(await flat(5_000, 5_000).jpeg().toBuffer())).toEqual({
    kind: 'unusable',
    reason: 'too_many_pixels',
  });
  // A few hundred bytes whose header claims four gigapixels: height and width are five bytes into the frame
  // header.
  const bomb = await flat(8, 8).jpeg().toBuffer();
  bomb.fill(0xfe, bomb.indexOf('ffc0', 'hex') + 5, bomb.indexOf('ffc0', 'hex') + 9);
  expect(await reencode(bomb)).toEqual({ kind: 'unusable', reason: 'too_many_pixels' });
});

test('refuses a picture of few but very long lines, one of which takes as much memory as a whole photo', async () => {
  for (const turned of [false, true]) {
    const shape = (side: number) => (turned ? { width: 1, height: side } : { width: side, height: 1 });
    expect(await reencode(makePng(shape(MAX_PHOTO_SIDE)))).toMatchObject({ kind: 'ok' });
    expect(await reencode(makePng(shape(MAX_PHOTO_SIDE + 1)))).toEqual({ kind: 'unusable', reason: 'too_many_pixels' });
  }
});

test('accepts a progressive photo and refuses one of thousands of scans before it takes seconds', async () => {
  // The first one is the picture's own.
  expect(await reencode(makeProgressiveJpeg(160, 80, MAX_PHOTO_SCANS - 1))).toMatchObject({ kind: 'ok', width: 160 });
  const bomb = makeProgressiveJpeg(160, 80, MAX_PHOTO_SCANS);
  expect(await reencode(bomb)).toEqual({ kind: 'unusable', reason: 'too_slow' });
  // What follows the picture, such as a live photo's video, is no part of it.
  const live = Buffer.concat([makeProgressiveJpeg(160, 80, 9), bomb]);
  expect(await reencode(live)).toMatchObject({ kind: 'ok' });
});

test('a photo whose sender has gone when its turn comes is not decoded', async () => {
  const photo = await picture(64, 32).jpeg().toBuffer();
  let waits = true;
  const [first, second] = [processor.reencode(photo), processor.reencode(photo, () => waits)];
  waits = false;
  expect([(await first).kind, (await second).kind]).toEqual(['ok', 'busy']);
});

test.each(['jpeg', 'png', 'webp'] as const)('a %s that was cut short is refused', async (format) => {
  const noise = sharp({
    create: {
      width: 300,
      height: 300,
      channels: 3,
      background: 'black',
      noise: { type: 'gaussian', mean: 128, sigma: 60 },
    },
  });
  const photo = await noise.toFormat(format).toBuffer();
  for (const part of [0.9, 0.5, 0.1]) {
    const cut = photo.subarray(0, Math.floor(photo.length * part));
    expect(await reencode(cut), `${part}`).toEqual({ kind: 'unusable', reason: 'damaged' });
  }
});

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>';

test.each([
  ['SVG', async () => Buffer.from(SVG)],
  ['SVG after white space', async () => Buffer.from(`\n ${SVG}`)],
  ['GIF', () => picture(8, 8).gif().toBuffer()],
  ['TIFF', () => picture(8, 8).tiff().toBuffer()],
  ['AVIF', () => picture(8, 8).avif().toBuffer()],
  ['HEIC by its brand', async () => Buffer.from('\x00\x00\x00\x18ftypheic\x00\x00\x00\x00', 'latin1')],
  ['PDF', async () => Buffer.from('%PDF-1.7')],
  ['text', async () => Buffer.from('hello')],
  ['nothing', async () => Buffer.alloc(0)],
])('%s is not a photo', async (_name, make) => {
  expect(await reencode(await make())).toEqual({ kind: 'unusable', reason: 'wrong_format' });
});

test.each([
  ['JPEG', Buffer.from('\xff\xd8\xff\xe0', 'latin1')],
  ['PNG', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')],
  ['WebP', Buffer.from('RIFF\x10\x00\x00\x00WEBPVP8 ', 'latin1')],
  ['WebP in letters only', Buffer.from('RIFFaaaaWEBPVP8 ')],
])('an SVG disguised as %s is refused', async (_name, head) => {
  expect(await reencode(Buffer.concat([head, Buffer.from(SVG)]))).toMatchObject({ kind: 'unusable' });
});

test('a file above the limit is refused unread', async () => {
  expect(await reencode(Buffer.alloc(MAX_PHOTO_BYTES + 1))).toEqual({ kind: 'unusable', reason: 'too_many_bytes' });
});

test('lets a bounded number of photos wait, refuses the next as busy, and goes on', async () => {
  const photo = await picture(640, 480).jpeg().toBuffer();
  const outcomes = await Promise.all(Array.from({ length: MAX_PHOTO_QUEUE + 4 }, () => processor.reencode(photo)));
  expect(outcomes.filter(({ kind }) => kind === 'ok')).toHaveLength(MAX_PHOTO_QUEUE + 1);
  expect(outcomes.filter(({ kind }) => kind === 'busy')).toHaveLength(3);
  expect(await processor.reencode(photo)).toMatchObject({ kind: 'ok' });
});

test('a photo waits for its turn no longer than its bound, and the next one then goes on', async () => {
  const impatient = createPhotoProcessor(1);
  const large = await picture(4_000, 3_000).png({ compressionLevel: 1 }).toBuffer();
  const small = await picture(64, 32).jpeg().toBuffer();
  const outcomes = await Promise.all([impatient.reencode(large), impatient.reencode(small), impatient.reencode(small)]);
  expect(outcomes.map(({ kind }) => kind)).toEqual(['ok', 'busy', 'busy']);
  expect(await impatient.reencode(small)).toMatchObject({ kind: 'ok' });
});

describe('a photo', () => {
  const isBlank = async (photo: Sharp) => {
    const outcome = await reencode(await photo.jpeg().toBuffer());
    return outcome.kind === 'ok' && outcome.isBlank;
  };
  const plain = (width: number, height: number, background = '#8a5a2b') =>
    sharp({ create: { width, height, channels: 3, background } });
  const noisy = (mean: number, sigma: number) =>
    sharp({
      create: { width: 1_600, height: 1_200, channels: 3, background: 'red', noise: { type: 'gaussian', mean, sigma } },
    });
  const drawn = (inner: string) =>
    sharp(
      Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="900">
    ${inner}</svg>`),
    );

  test.each<[string, () => Sharp]>([
    ['of one pixel', () => plain(1, 1)],
    ['of a few pixels, whatever they show', () => picture(64, 48)],
    ['of one line', () => picture(2_000, 8)],
    ['of one colour', () => plain(1_600, 1_200)],
    ['all white', () => plain(640, 480, '#fff')],
    ['all black', () => plain(640, 480, '#000')],
    ['of a covered lens, with its noise', () => noisy(12, 10)],
  ])('%s shows nothing', async (_what, photo) => {
    expect(await isBlank(photo())).toBe(true);
  });

  test.each<[string, () => Sharp | Promise<Sharp>]>([
    ['of a parcel in front of a door', async () => sharp(await drawPhoto())],
    [
      'of a white wall with some shade',
      () =>
        drawn(
          '<defs><linearGradient id="g"><stop stop-color="#f4f4f4"/><stop offset="1" stop-color="#d8d8d8"/></linearGradient></defs><rect width="1200" height="900" fill="url(#g)"/>',
        ),
    ],
    [
      'of a dark street with one lamp',
      () => drawn('<rect width="1200" height="900" fill="#050505"/><circle cx="900" cy="200" r="90" fill="#ffe9b0"/>'),
    ],
    [
      'of two colours alike but for their hue',
      () => drawn('<rect width="1200" height="900" fill="#805050"/><rect width="500" height="900" fill="#508050"/>'),
    ],
    ['that is small, from an old phone', () => picture(160, 120)],
  ])('%s shows something', async (_what, photo) => {
    expect(await isBlank(await photo())).toBe(false);
  });
});
