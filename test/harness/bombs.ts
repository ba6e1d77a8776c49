import { constants, crc32, deflateSync } from 'node:zlib';

/** Files that are small packed and large unpacked, built here because no encoder makes them. */

/** A chunk of a PNG. */
export function pngChunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, crc] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  crc.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, crc]);
}

const MEGABYTE = 1024 * 1024;

/** Zeros as zlib packs them: a kilobyte for each megabyte, never unpacked here. */
export function packedZeros(megabytes: number): Buffer {
  const part = deflateSync(Buffer.alloc(MEGABYTE), { level: 9, finishFlush: constants.Z_FULL_FLUSH });
  const [head, block] = [part.subarray(0, 2), part.subarray(2)];
  const end = Buffer.from([3, 0]);
  const adler = Buffer.alloc(4);
  adler.writeUInt32BE(((megabytes * MEGABYTE) % 65_521) * 65_536 + 1);
  return Buffer.concat([head, ...Array.from({ length: megabytes }, () => block), end, adler]);
}

export type Png = {
  readonly width: number;
  readonly height: number;
  /** Bits a channel in the header. */
  readonly depth?: 8 | 16;
  /** Color type in the header: 2 is RGB, 6 is RGB with transparency. */
  readonly color?: 2 | 6;
  readonly interlaced?: boolean;
  readonly chunks?: readonly Buffer[];
  /** Megabytes of zeros; by default enough for the picture. */
  readonly megabytes?: number;
};

/** A black PNG; a transparent one for color type 6. */
export function makePng({
  width,
  height,
  depth = 8,
  color = 2,
  interlaced = false,
  chunks = [],
  megabytes,
}: Png): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([depth, color, 0, 0, interlaced ? 1 : 0], 8);
  const bytes = (width * (color === 6 ? 4 : 3) * depth) / 8 + 1;
  // A line of an interlaced picture has up to seven parts, each with a byte of its own.
  const needed = Math.ceil((bytes * height * 1.02) / MEGABYTE) + 1;
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', header),
    ...chunks,
    pngChunk('IDAT', packedZeros(megabytes ?? needed)),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

const segment = (marker: number, data: readonly number[]): Buffer =>
  Buffer.from([0xff, marker, (data.length + 2) >> 8, (data.length + 2) & 0xff, ...data]);

/** Up to 2,646 scans are legal: three colors with 63 frequencies and 14 bits each. */
const FREQUENCIES = 63;
const BITS = 14;

/** A gray progressive JPEG with `passes` further scans that change nothing. Its sides are multiples of 8. */
export function makeProgressiveJpeg(width: number, height: number, passes: number): Buffer {
  const blocks = (width / 8) * (height / 8);
  const side = (pixels: number): number[] => [pixels >> 8, pixels & 0xff];
  const counts = (...used: number[]): number[] => [...used, ...Array<number>(16 - used.length).fill(0)];
  const nothing = unchanged(blocks);
  const passesOver = Array.from({ length: passes }, (_, pass) => {
    const frequency = 1 + (pass % FREQUENCIES);
    const color = 1 + (Math.floor(pass / FREQUENCIES) % 3);
    const bit = BITS - 1 - Math.floor(pass / (FREQUENCIES * 3));
    const precision = bit === BITS - 1 ? bit : ((bit + 1) << 4) | bit;
    return Buffer.concat([segment(0xda, [1, color, 0, frequency, frequency, precision]), nothing]);
  });
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xdb, [0, ...Array<number>(64).fill(16)]),
    segment(0xc2, [8, ...side(height), ...side(width), 3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0]),
    // One code for an unchanged block; two for a run of blocks: 16,384 plus a number of 14 bits, or one.
    segment(0xc4, [0x00, ...counts(1), 0]),
    segment(0xc4, [0x10, ...counts(1, 1), 0xe0, 0x00]),
    segment(0xda, [3, 1, 0, 2, 0, 3, 0, 0, 0, 0]),
    Buffer.alloc(Math.ceil((blocks * 3) / 8)),
    ...passesOver,
    Buffer.from([0xff, 0xd9]),
  ]);
}

/** The blocks of a scan in which nothing changes. */
function unchanged(blocks: number): Buffer {
  let bits = '';
  let left = blocks;
  for (; left >= 16_384; left -= Math.min(left, 32_767)) {
    bits += `0${(Math.min(left, 32_767) - 16_384).toString(2).padStart(14, '0')}`;
  }
  bits = (bits + '10'.repeat(left)).padEnd(Math.ceil((bits.length + left * 2) / 8) * 8, '1');
  const bytes = (bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
  return Buffer.from(bytes.flatMap((byte) => (byte === 0xff ? [byte, 0] : [byte])));
}
