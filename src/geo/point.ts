/** A place on Earth in degrees: latitude −90 to 90, longitude −180 to 180 (WGS 84, read as a sphere). */
export type Point = { readonly lat: number; readonly lng: number };

/** Mean radius of the Earth (IUGG, R₁). */
export const EARTH_RADIUS_METERS = 6_371_008.8;

export const RADIANS = Math.PI / 180;

/** Whether two values are a place on Earth: finite numbers within the ranges of `Point`. */
export function isPoint(lat: unknown, lng: unknown): boolean {
  return typeof lat === 'number' && typeof lng === 'number' && Math.abs(lat) <= 90 && Math.abs(lng) <= 180;
}

/**
 * The great-circle distance in meters.
 *
 * All distances have this definition. A place is a unit vector; the squared chord between two of them is four
 * times the haversine of their angle, `hav θ = sin²(θ/2)` (R. W. Sinnott, "Virtues of the Haversine", Sky &
 * Telescope 68, 1984), so the haversine formula becomes `2R·asin(chord/2)`. Chords compare like distances and
 * need no trigonometry, and equal chords are equal distances to the last bit. The result differs from that of
 * the formula over angles by some nanometers at most (the vectors' last bit), and by centimeters near the
 * antipode, where both lose half their digits.
 */
export function distanceMeters(a: Point, b: Point): number {
  writeVector(a.lat, a.lng, pair, 0);
  writeVector(b.lat, b.lng, pair, 3);
  return metersOfChordSquared(chordSquared(pair, 0, pair, 3));
}
const pair = new Float64Array(6);

/**
 * Writes the unit vector of a place to `out[at]` … `out[at + 2]`. A place has one vector: a pole has any
 * longitude, and the longitudes −180 and 180 are the same.
 */
export function writeVector(lat: number, lng: number, out: Float64Array, at: number): void {
  const latRadians = lat * RADIANS;
  const lngRadians = (lng === -180 ? 180 : lng) * RADIANS;
  const fromAxis = Math.abs(lat) === 90 ? 0 : Math.cos(latRadians);
  out[at] = fromAxis * Math.cos(lngRadians);
  out[at + 1] = fromAxis * Math.sin(lngRadians);
  out[at + 2] = Math.sin(latRadians);
}

/** The squared chord between the unit vectors at `a[i]` and `b[j]`, 0 to 4. Loops inline it in this order. */
export function chordSquared(a: Float64Array, i: number, b: Float64Array, j: number): number {
  const dx = (a[i] as number) - (b[j] as number);
  const dy = (a[i + 1] as number) - (b[j + 1] as number);
  const dz = (a[i + 2] as number) - (b[j + 2] as number);
  return dx * dx + dy * dy + dz * dz;
}

/** The length of a great circle's arc in meters from its squared chord. */
export function metersOfChordSquared(squared: number): number {
  return 2 * EARTH_RADIUS_METERS * Math.asin(Math.min(1, Math.sqrt(squared) / 2));
}

/** The chord (0 to 2) of a distance in meters; 2, the antipode, for anything longer. */
export function chordOfMeters(meters: number): number {
  const half = meters / (2 * EARTH_RADIUS_METERS);
  return half >= Math.PI / 2 ? 2 : 2 * Math.sin(Math.max(0, half));
}
