import { below, MAX_PHOTO_BYTES } from '../../limits.ts';

/** Size in bytes to which a driver's page shrinks a photo for slow links. Below MAX_PHOTO_BYTES. */
const DRIVER_PHOTO_BYTES = 300 * 1024;

/* @__PURE__ */ below({ DRIVER_PHOTO_BYTES }, { MAX_PHOTO_BYTES });

/** Longest side in pixels and JPEG quality, best first; the last two for a network that lets little through. */
const TRIES: readonly (readonly [side: number, quality: number])[] = [
  [1_600, 0.8],
  [1_600, 0.65],
  [1_280, 0.7],
  [1_280, 0.55],
  [1_024, 0.6],
  [800, 0.5],
  [640, 0.45],
  [480, 0.4],
];
/** A photo is made no smaller than about this: 2 s at 10 KB/s, and still one by which a door is known. */
const LEAST_PHOTO_BYTES = 20 * 1024;

/** The same photo in about `mostBytes`; null where that would be too little to see, or cannot be done. */
export async function fitPhoto(photo: ArrayBuffer, mostBytes: number): Promise<ArrayBuffer | null> {
  const most = Math.max(LEAST_PHOTO_BYTES, mostBytes);
  if (photo.byteLength <= most) return null;
  const smaller = await shrinkPhoto(new Blob([photo], { type: 'image/jpeg' }), most);
  return smaller && smaller.byteLength < photo.byteLength ? smaller : null;
}

/**
 * Turns a picture into a JPEG of at most `mostBytes`, or as small as it is made, upright and without anything else
 * that the file held. Null where the browser cannot read it.
 */
export async function shrinkPhoto(file: Blob, mostBytes = DRIVER_PHOTO_BYTES): Promise<ArrayBuffer | null> {
  const url = URL.createObjectURL(file);
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    let smallest: Blob | null = null;
    for (const [side, quality] of TRIES) {
      smallest = (await encode(image, side, quality)) ?? smallest;
      if (smallest && smallest.size <= mostBytes) break;
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
