import { readFileSync, writeFileSync } from 'node:fs';
import sharp from 'sharp';
import { READINESS_DEADLINE_MS } from '../../../src/http/routes/readyz.ts';
import { MAX_PHOTO_BYTES, MAX_PHOTO_PIXELS } from '../../../src/limits.ts';
import { MAX_PHOTO_QUEUE } from '../../../src/photos/photos.ts';
import { driverToken } from '../../harness/stack-world.ts';
import { type Random, shuffled } from '../../harness/world.ts';
import { givenOrder } from '../clients.ts';
import { HIDDEN, type Image, imagesOf } from '../images.ts';
import { announce, ask, askUntilTaken, smallPhoto } from '../phones.ts';
import { inWorld, type Row, repeat } from '../row.ts';
import { keepOn, type World } from '../world.ts';

const DRIVERS_AT_ONCE = 3;
const PROBE_PAUSE_MS = 50;
const MEGABYTE = 1024 * 1024;
/**
 * Memory for one photo of the widest pixels (four of 16 bits) and a copy of it, and every waiting body, in
 * parts and joined.
 */
const MOST_GROWTH_MB = (2 * MAX_PHOTO_PIXELS * 8 + 2 * (MAX_PHOTO_QUEUE + 1) * MAX_PHOTO_BYTES) / MEGABYTE;

type Handovers = {
  readonly world: World;
  readonly random: Random;
  readonly photo: Buffer;
};

export const imageBombs: Row = {
  name: 'image-bombs',
  what: 'a bomb, a disguise, a ruin or an odd photo as the proof of a delivery',
  count: 50,
  run: (count, random) =>
    inWorld({ drivers: 2_000, stores: 10, apis: 1 }, async (world) => {
      const handovers = { world, random, photo: await smallPhoto() };
      const images = shuffled(imagesOf(random), random).slice(0, count);
      const meter = openMeter(world);
      const problems: string[] = [];
      await repeat(images.length, DRIVERS_AT_ONCE, async (i) => {
        const image = images[i] as Image;
        problems.push(...(await handOver(handovers, image).catch(unanswered(image))));
      });
      const { slow, notes } = await meter.stop();
      return { count: images.length, orders: images.length, findings: [...problems, ...slow], notes };
    }),
};

const unanswered = ({ name }: Image) => {
  return (error: Error): string[] => [`photo: ${name} was not answered: ${error.message}`];
};

/** Runs one order whose driver sends this image, and a good one after a refusal. */
async function handOver({ world, random, photo }: Handovers, image: Image): Promise<string[]> {
  const { orderId, trackingToken, key } = await pickedUp(world, random);
  const api = world.apis[0]?.url() as string;
  const url = `${api}/driver/orders/${orderId}/deliver`;
  const deliver = (body: Buffer, type = 'image/jpeg') => askUntilTaken(url, { method: 'POST', key, body, type });
  const bytes = await image.make();
  const { type = 'image/jpeg' } = image;
  const answer = await (bytes.length > MAX_PHOTO_BYTES ? announce(url, key, type, bytes) : deliver(bytes, type));
  const problems: string[] = [];
  if (answer.status !== image.status) problems.push(`was answered with ${answer.status}: ${answer.text}`);
  if (answer.status === 200) {
    problems.push(...(await shown(`${api}/track/${trackingToken}/photo`)));
  } else {
    const { message } = answer.body as { message: string };
    if (!/photo cannot be used: it |larger than|Content-Type must be/.test(message))
      problems.push(`was told "${message}"`);
    const [after] = await world.sql`select status, photo_name from orders where id = ${orderId}`;
    if (after?.status !== 'picked_up' || after.photo_name !== null) problems.push(`left the order ${after?.status}`);
    const good = await deliver(photo);
    if (good.status !== 200) problems.push(`left an order that a good photo does not end: ${good.text}`);
  }
  return problems.map((problem) => `photo: ${image.name} ${problem}`);
}

/** Makes an order and picks it up. */
async function pickedUp(world: World, random: Random) {
  const { orderId, driverId, trackingToken } = await givenOrder(world, random);
  const key = driverToken(driverId);
  await ask(`${world.apis[0]?.url()}/driver/orders/${orderId}/pick-up`, { method: 'POST', key, body: {} });
  return { orderId, trackingToken, key };
}

/** A customer sees a JPEG made by the service, with nothing in it but the picture. */
async function shown(url: string): Promise<string[]> {
  const bytes = Buffer.from(await (await fetch(url)).arrayBuffer());
  const { format, exif, xmp, icc, iptc } = await sharp(bytes).metadata();
  const kept = HIDDEN.filter((secret) => bytes.includes(Buffer.from(secret, 'latin1')));
  return [
    ...(format === 'jpeg' ? [] : [`is shown as ${format}`]),
    ...(exif || xmp || icc || iptc ? ['is shown with what stood beside the picture'] : []),
    ...kept.map((secret) => `is shown with ${JSON.stringify(secret)} in it`),
  ];
}

/** Measures meanwhile how long other requests wait, and the largest memory of the process. */
function openMeter(world: World) {
  const [api] = world.apis;
  const pid = api?.pid() as number;
  const startMb = memoryOf(pid, 'VmRSS');
  forgetPeak(pid);
  let slowestMs = 0;
  let failed = 0;
  const probing = keepOn(world, PROBE_PAUSE_MS, async () => {
    const startedMs = performance.now();
    const answer = await ask(`${api?.url()}/readyz`).catch(() => null);
    if (answer?.status !== 200) failed++;
    slowestMs = Math.max(slowestMs, performance.now() - startedMs);
  });
  return {
    async stop() {
      await probing.stop();
      const grownMb = memoryOf(pid, 'VmHWM') - startMb;
      const told = `${startMb.toFixed(0)} MB before, ${(startMb + grownMb).toFixed(0)} MB at most`;
      return {
        notes: [`Memory: ${told}. Other requests waited ${slowestMs.toFixed(0)} ms at most.`],
        slow: [
          ...(failed > 0 ? [`meanwhile: ${failed} other requests were not answered`] : []),
          ...(slowestMs > READINESS_DEADLINE_MS
            ? [`meanwhile: another request waited ${slowestMs.toFixed(0)} ms`]
            : []),
          ...(grownMb > MOST_GROWTH_MB
            ? [`memory: ${told}, more than ${MOST_GROWTH_MB.toFixed(0)} MB between them`]
            : []),
        ],
      };
    },
  };
}

/** In megabytes on Linux; 0 elsewhere. */
function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  if (process.platform !== 'linux') return 0;
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) / 1024;
}

/** Resets the peak, where the system allows that. */
function forgetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // Otherwise the start counts too, which took less.
  }
}
