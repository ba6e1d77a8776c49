import { EARTH_RADIUS_METERS, metersOfChordSquared, type Point, writeVector } from '../geo/point.ts';
import { ARRIVAL_DETOUR } from '../limits.ts';

const vector = new Float64Array(3);

/** A point with its unit vector, so that a distance takes no trigonometry of its ends. */
export class Place {
  readonly point: Point;
  readonly x: number;
  readonly y: number;
  readonly z: number;

  constructor(point: Point) {
    this.point = point;
    writeVector(point.lat, point.lng, vector, 0);
    this.x = vector[0] as number;
    this.y = vector[1] as number;
    this.z = vector[2] as number;
  }

  isAt(other: Place): boolean {
    return this === other || (this.x === other.x && this.y === other.y && this.z === other.z);
  }

  chordSquared(other: Place): number {
    const dx = this.x - other.x;
    const dy = this.y - other.y;
    const dz = this.z - other.z;
    return dx * dx + dy * dy + dz * dz;
  }
}

/** The way by the model: great circle × detour at the vehicle's speed, in milliseconds. */
export function modelTravelMs(from: Place, to: Place, metersPerMinute: number): number {
  const squared = from.chordSquared(to);
  // Below 60 km an arc is its chord to some millionths, and the search asks for little else.
  const meters = squared < 1e-4 ? Math.sqrt(squared) * EARTH_RADIUS_METERS : metersOfChordSquared(squared);
  return (meters * ARRIVAL_DETOUR * 60_000) / metersPerMinute;
}
