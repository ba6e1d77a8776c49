const END_OF_IMAGE = 0xd9;
const START_OF_SCAN = 0xda;
/**
 * Whether a byte after 0xff is data (0x00), fill (0xff), or a marker without a length (RST0 to RST7, TEM).
 */
const isBare = (code: number): boolean =>
  code === 0x00 || code === 0x01 || code === 0xff || (code >= 0xd0 && code <= 0xd7);

/**
 * Counts the scans of a JPEG: one, or about ten where it is progressive. Each scan visits every pixel, with
 * as few as thirty bytes for it. What follows the picture, such as a phone's video, is not counted.
 */
export function countScans(jpeg: Buffer): number {
  let scans = 0;
  for (let at = jpeg.indexOf(0xff, 2); at >= 0; ) {
    const code = jpeg[at + 1] ?? END_OF_IMAGE;
    if (code === END_OF_IMAGE) break;
    if (code === START_OF_SCAN) scans++;
    if (code === 0xff) at++;
    else at += isBare(code) ? 2 : 2 + (at + 4 <= jpeg.length ? jpeg.readUInt16BE(at + 2) : 0);
    at = jpeg.indexOf(0xff, at);
  }
  return scans;
}
