import type { Point } from '../../src/geo/point.ts';
import { offset, placesOf, seeded } from '../../test/harness/world.ts';

const SEED = 20_250_917;
/** Distance of a car in town in the fifth of a second between two reports, at 14 m/s. */
const STEP_METERS = 2.8;
/** Spreads headings evenly, whatever the number of drivers. */
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));

/** The point of driver `index` after this many steps, to the sixth decimal as phones send it. */
export type Drive = (index: number, step: number) => Point;

/** Drivers in towns, each driving straight on, so that no two reports of a driver are equal. */
export function driveOf(drivers: number): Drive {
  const place = placesOf('cities', seeded(SEED));
  const homes = Array.from({ length: drivers }, place);
  return (index, step) => {
    const meters = STEP_METERS * step;
    const heading = index * GOLDEN_ANGLE;
    const { lat, lng } = offset(homes[index] as Point, meters * Math.cos(heading), meters * Math.sin(heading));
    return { lat: Number(lat.toFixed(6)), lng: Number(lng.toFixed(6)) };
  };
}
