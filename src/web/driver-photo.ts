import { DRIVER_PHOTO_BYTES } from '../limits.ts';

/** Longest side in pixels and JPEG quality, best first. The last one is used whatever its size. */
const TRIES: readonly (readonly [side: number, quality: number])[] = [
  [1_600, 0.8],
  [1_600, 0.65],
  [1_280, 0.7],
  [1_280, 0.55],
  [1_024, 0.6],
  [800, 0.5],
];

/**
 * Turns a picture into a JPEG of about DRIVER_PHOTO_BYTES, upright and without anything else that the file
 * held. Null where the browser cannot read it.
 */
export async function shrinkPhoto(file: Blob): Promise<ArrayBuffer | null> {
  const url = URL.createObjectURL(file);
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    let smallest: Blob | null = null;
    for (const [side, quality] of TRIES) {
      smallest = (await encode(image, side, quality)) ?? smallest;
      if (smallest && smallest.size <= DRIVER_PHOTO_BYTES) break;
    }
    return smallest ? await smallest.arrayBuffer() : null;
  } catch {
    return null;
  } finally {
    URL.revokeObjectURL(url);
  }
}

function encode(image: HTMLImageElement, side: number, quality: number): Promise<Blob | null> {
  const scale = Math.min(1, side / Math.max(image.naturalWidth, image.naturalHeight));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(image.naturalWidth * scale));
  canvas.height = Math.max(1, Math.round(image.naturalHeight * scale));
  const pen = canvas.getContext('2d');
  if (!pen) return Promise.resolve(null);
  // Transparent parts would come out black.
  pen.fillStyle = '#ffffff';
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/jpeg', quality));
}
