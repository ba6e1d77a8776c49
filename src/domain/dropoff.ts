import type { Point } from '../geo/point.ts';

/** The sources of a dropoff's point, best first. */
export type DropoffPointSource = 'geocoder' | 'zip_centroid';

/** A dropoff as a point. The door is within `accuracyMeters` of it, a whole number from 1. */
export type DropoffPoint = {
  readonly point: Point;
  readonly accuracyMeters: number;
  readonly source: DropoffPointSource;
};
