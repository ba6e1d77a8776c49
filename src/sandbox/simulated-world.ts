import sharp from 'sharp';
import type { Point } from '../geo/point.ts';

/** Speed of a simulated driver: a motorway's, so that a demonstration takes a minute. */
const SIMULATED_SPEED_METERS_PER_SECOND = 25;
/** Time in which a simulated driver wants to make a leg; for a longer way they hurry. */
const SIMULATED_LEG_MS = 60_000;
/** Speed of one who hurries. Below PLAUSIBLE_METERS_PER_SECOND, so that no payout is held for it. */
const SIMULATED_TOP_METERS_PER_SECOND = 38;

/** A random point within `meters` of another, more often near than far. */
export function around(center: Point, meters: number, random: () => number): Point {
  const angle = random() * 2 * Math.PI;
  const degrees = (random() * meters) / 111_195;
  return {
    lat: center.lat + degrees * Math.cos(angle),
    lng: center.lng + (degrees * Math.sin(angle)) / Math.cos((center.lat * Math.PI) / 180),
  };
}

/** Speed of a simulated driver on a leg, in meters per second; with nothing to do they stroll. */
export function speedOf(legMeters: number, hasAim: boolean): number {
  if (!hasAim) return SIMULATED_SPEED_METERS_PER_SECOND / 8;
  const inTime = legMeters / (SIMULATED_LEG_MS / 1_000);
  return Math.min(SIMULATED_TOP_METERS_PER_SECOND, Math.max(SIMULATED_SPEED_METERS_PER_SECOND, inTime));
}

/** Marsaglia's xorshift32 (Journal of Statistical Software 8/14, 2003): numbers from 0 to 1, by the seed. */
export function seededRandom(seed: number): () => number {
  let state = seed | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** Draws the photo of a handover: a parcel in front of a door. */
export function drawPhoto(): Promise<Buffer> {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="960" height="720">
    <rect width="960" height="720" fill="#c9b79c"/><rect y="560" width="960" height="160" fill="#8d8478"/>
    <rect x="330" y="90" width="300" height="490" rx="6" fill="#2f5d50"/><circle cx="595" cy="350" r="14" fill="#d8b25c"/>
    <rect x="250" y="575" width="420" height="42" rx="8" fill="#5b4a3b"/>
    <rect x="400" y="450" width="210" height="150" fill="#c8965a"/><rect x="490" y="450" width="30" height="150" fill="#e8d2a8"/>
  </svg>`;
  return sharp(Buffer.from(svg)).jpeg({ quality: 80 }).toBuffer();
}
