import { RADIANS } from './point.ts';

/**
 * A box in degrees, x for longitude and y for latitude. It may reach beyond ±180 degrees of longitude (by
 * less than 360), so that a box across the antimeridian is one piece.
 */
export type Box = { readonly minX: number; readonly minY: number; readonly maxX: number; readonly maxY: number };

/** 0.1 mm on the ground: more than the rounding error below, and too little to matter. */
const PADDING_DEGREES = 1e-9;

/**
 * A box that holds every place within `chord` (0 to 2) of the given one. A circle reaches its greatest
 * longitude where a meridian touches it, `sin Δλ = sin ρ / cos φ`; a circle that reaches a pole has all
 * longitudes (J. P. Matuschek, "Finding Points Within a Distance of a Latitude/Longitude Using Bounding
 * Coordinates").
 */
export function boxAround(lat: number, lng: number, chord: number): Box {
  const angle = 2 * Math.asin(Math.min(1, chord / 2));
  const angleDegrees = angle / RADIANS + PADDING_DEGREES;
  const minY = lat - angleDegrees;
  const maxY = lat + angleDegrees;
  if (minY <= -90 || maxY >= 90) return { minX: -180, minY: Math.max(-90, minY), maxX: 180, maxY: Math.min(90, maxY) };
  const half = Math.asin(Math.min(1, Math.sin(angle) / Math.cos(lat * RADIANS))) / RADIANS + PADDING_DEGREES;
  return { minX: lng - half, minY, maxX: lng + half, maxY };
}

/**
 * A lower bound of the chord from a place to any place in a box; 0 inside the box. `cosLat` is the cosine of
 * the place's latitude.
 *
 * The haversine formula, `hav θ = hav Δφ + cos φ₁ · cos φ₂ · hav Δλ`, with each term at its least over the
 * box: the gap in latitude, the gap in longitude the shorter way around, and the cosine of the box's latitude
 * farthest from the equator. The bound holds at the poles and across the antimeridian; for a tall box it is a
 * little less than the exact distance, which V. Agafonkin's geokdbush computes. The innermost loop of a
 * search calls this, so sine and cosine are truncated Taylor series, which never exceed them.
 */
export function chordToBox(lat: number, lng: number, cosLat: number, box: Box): number {
  const { minX, minY, maxX, maxY } = box;
  const latGap = lat < minY ? minY - lat : lat > maxY ? lat - maxY : 0;
  const sinLat = sineFromBelow(latGap * HALF_RADIANS);
  let lngGap = 0;
  if (lng < minX) lngGap = Math.min(minX - lng, lng + 360 - maxX);
  else if (lng > maxX) lngGap = Math.min(lng - maxX, minX + 360 - lng);
  if (lngGap <= 0) return 2 * sinLat;
  const sinLng = sineFromBelow(lngGap * HALF_RADIANS);
  return 2 * Math.sqrt(sinLat * sinLat + cosLat * cosineFromBelow(Math.max(-minY, maxY) * RADIANS) * sinLng * sinLng);
}
const HALF_RADIANS = RADIANS / 2;

/** At most sin x, for x from 0 to π/2. */
function sineFromBelow(x: number): number {
  const squared = x * x;
  return x * (1 - (squared / 6) * (1 - (squared / 20) * (1 - squared / 42)));
}

/** At most cos x and at least 0, for x from 0 to π/2. */
function cosineFromBelow(x: number): number {
  const squared = x * x;
  return Math.max(0, 1 - (squared / 2) * (1 - (squared / 12) * (1 - squared / 30)));
}
