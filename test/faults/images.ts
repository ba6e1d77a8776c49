import { deflateSync, gzipSync } from 'node:zlib';
import sharp from 'sharp';
import { MAX_PHOTO_BYTES } from '../../src/limits.ts';
import { makePng, makeProgressiveJpeg, packedZeros, pngChunk } from '../harness/bombs.ts';
import type { Random } from '../harness/world.ts';

/** A file sent as the photo of a handover, and the only correct answer. */
export type Image = {
  readonly name: string;
  readonly status: 200 | 413 | 415 | 422;
  /** Its Content-Type, `image/jpeg` by default. */
  readonly type?: string;
  make(): Buffer | Promise<Buffer>;
};

/** A text hidden in the good ones, which must not reach a customer. */
export const HIDDEN = ['SecretCamera', 'GPS', 'hidden-xmp', '<script>', 'PK\x03\x04', '%PDF'];

const MAGIC = { jpeg: '\xff\xd8\xff\xe0', png: '\x89PNG\r\n\x1a\n', webp: 'RIFF\x10\x00\x00\x00WEBPVP8 ' };
const SCRIPT = '<html><script>document.title = "ran"</script></html>';
const LAUGHS = `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a "${'ha'.repeat(500)}">${Array.from(
  { length: 9 },
  (_, i) => `<!ENTITY a${i} "${`&a${i === 0 ? '' : i - 1};`.repeat(10)}">`,
).join('')}]><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text>&a8;</text></svg>`;

const latin = (text: string): Buffer => Buffer.from(text, 'latin1');
const behind = async (image: Promise<Buffer> | Buffer, text: string) => Buffer.concat([await image, latin(text)]);
const flat = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: '#8a5a2b' } });
const text = (key: string): Buffer => pngChunk('iTXt', Buffer.concat([latin(`${key}\0\x01\0\0\0`), packedZeros(800)]));

/** A photo as phones make them, with place, camera and more hidden data. */
const withSecrets = () =>
  flat(320, 240)
    .withExif({
      IFD0: { Make: 'SecretCamera', Orientation: '6' },
      IFD3: { GPSLatitude: '40/1 44/1 54/1', GPSLatitudeRef: 'N', GPSLongitude: '73/1 59/1 9/1', GPSLongitudeRef: 'W' },
    })
    .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/">hidden-xmp</x:xmpmeta>');

/** Pixels that do not compress, several pictures of them below each other where told. */
function noise(random: Random, side: number, pictures = 1) {
  const bytes = Buffer.from(Array.from({ length: side * side * pictures * 3 }, () => random() * 256));
  const raw = { width: side, height: side * pictures, channels: 3, pageHeight: side } as const;
  return sharp(bytes, { raw });
}

const refused = (name: string, make: Image['make'], type?: string): Image => {
  return { name, status: 422, make, ...(type === undefined ? {} : { type }) };
};
const taken = (name: string, make: Image['make'], type?: string): Image => ({
  ...refused(name, make, type),
  status: 200,
});
const disguised = (name: string, content: string | Buffer, type?: string): Image =>
  refused(name, () => (typeof content === 'string' ? latin(content) : content), type);

/** Fifty files: bombs, disguises, damaged ones and good ones. */
export function imagesOf(random: Random): Image[] {
  const cut = (format: 'jpeg' | 'png' | 'webp'): Image =>
    refused(`${format} cut short`, async () => {
      const whole = await noise(random, 120).toFormat(format).toBuffer();
      return whole.subarray(0, Math.floor(whole.length * (0.03 + 0.9 * random())));
    });
  return [
    refused('png of four gigapixels', () => makePng({ width: 65_535, height: 65_535, megabytes: 1 })),
    refused('png of 2.5 gigapixels, all of them', () => makePng({ width: 50_000, height: 50_000, megabytes: 7_160 })),
    refused('png of one line of 24 megapixels', () => makePng({ width: 24_000_000, height: 1, depth: 16, color: 6 })),
    refused('png of one column of 24 megapixels', () => makePng({ width: 1, height: 24_000_000, depth: 16, color: 6 })),
    refused('png with a width of nothing', () => makePng({ width: 0, height: 8 })),
    refused('jpeg of four gigapixels', async () => {
      const small = await flat(8, 8).jpeg().toBuffer();
      return small.fill(0xfe, small.indexOf('ffc0', 'hex') + 5, small.indexOf('ffc0', 'hex') + 9);
    }),
    refused('jpeg of 2,600 passes', () => makeProgressiveJpeg(6_000, 4_000, 2_600)),
    refused('webp of 24.6 megapixels', () => flat(16_383, 1_500).webp({ effort: 0 }).toBuffer()),
    refused('gif of 300 pictures', () => noise(random, 16, 300).gif({ effort: 1 }).toBuffer(), 'image/png'),
    refused('svg of a billion laughs', () => latin(LAUGHS), 'image/png'),
    refused('avif', () => flat(64, 64).avif({ effort: 0 }).toBuffer()),
    refused('tiff', () => flat(64, 64).tiff().toBuffer()),
    { name: 'a byte too many', status: 413, make: () => Buffer.alloc(MAX_PHOTO_BYTES + 1, 0xff) },
    disguised('nothing', ''),
    disguised('as much of nothing as fits', Buffer.alloc(MAX_PHOTO_BYTES)),
    disguised('html', SCRIPT),
    disguised('javascript', 'fetch("/driver/orders")'),
    disguised('svg', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'),
    disguised('zip', 'PK\x03\x04'.padEnd(400, '\0')),
    disguised('program of Windows', 'MZ'.padEnd(400, '\0')),
    disguised('program of Linux', '\x7fELF'.padEnd(400, '\0')),
    disguised('pdf', '%PDF-1.7\n'),
    disguised('video', '\0\0\0\x18ftypisom'.padEnd(400, '\0')),
    disguised('gzip', gzipSync(Buffer.alloc(50_000_000))),
    disguised('zlib', deflateSync(Buffer.alloc(50_000_000))),
    disguised('html behind the first bytes of a jpeg', MAGIC.jpeg + SCRIPT),
    disguised('svg behind the first bytes of a png', MAGIC.png + LAUGHS, 'image/png'),
    disguised('html behind the first bytes of a webp', MAGIC.webp + SCRIPT, 'image/webp'),
    ...['image/gif', 'image/svg+xml', 'text/html', 'application/octet-stream'].map(
      (type): Image => ({
        name: `a good photo as ${type}`,
        status: 415,
        type,
        make: () => flat(8, 8).jpeg().toBuffer(),
      }),
    ),
    ...Array.from({ length: 3 }, () => (['jpeg', 'png', 'webp'] as const).map(cut)).flat(),
    taken('jpeg with its place', () => withSecrets().jpeg().toBuffer()),
    taken('webp with its place, as jpeg', () => withSecrets().webp().toBuffer()),
    taken('zip behind a jpeg', () => behind(withSecrets().jpeg().toBuffer(), 'PK\x03\x04'.padEnd(400, '\0') + SCRIPT)),
    taken('pdf and html behind a png', () => behind(flat(64, 64).png().toBuffer(), `%PDF-1.7 ${SCRIPT}`), 'image/png'),
    taken('png of 24 megapixels, as wide as they come', () =>
      makePng({ width: 6_000, height: 4_000, depth: 16, color: 6, interlaced: true }),
    ),
    taken('png with six gigabytes of comments', () =>
      makePng({ width: 8, height: 8, chunks: 'abcdefgh'.split('').map(text) }),
    ),
    taken('jpeg of 24 megapixels in 90 passes', () => makeProgressiveJpeg(6_000, 4_000, 90)),
    taken('jpeg of 24 megapixels', () => flat(6_000, 4_000).jpeg().toBuffer()),
    taken('webp of 100 pictures', () => noise(random, 32, 100).webp({ effort: 0 }).toBuffer(), 'image/webp'),
  ];
}
