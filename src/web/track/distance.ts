import { distanceMeters, type Point } from '../../geo/point.ts';
import { say } from './track-words.ts';

const METERS_PER_MILE = 1609.344;

/**
 * How far apart two points are, in miles, as the service's addresses are in the United States. Of a rough
 * position whole miles are said, of an exact one tenths, so that the words tell no more than the points.
 */
export function way(from: Point, to: Point, isRough: boolean): string {
  const step = isRough ? 1 : 0.1;
  const miles = Math.round(distanceMeters(from, to) / METERS_PER_MILE / step) * step;
  if (miles < step) return say('within_miles', { miles: step });
  return say(isRough ? 'about_miles' : 'miles', {
    miles: isRough || miles >= 10 ? Math.round(miles) : miles.toFixed(1),
  });
}
