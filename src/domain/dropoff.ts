import type { Point } from '../geo/point.ts';

/** Where a dropoff's point came from, best first. */
export type DropoffPointSource = 'geocoder' | 'zip_centroid';

/** A dropoff as a point; the door is within `accuracyMeters` (whole, at least 1) of it. */
export type DropoffPoint = {
  readonly point: Point;
  readonly accuracyMeters: number;
  readonly source: DropoffPointSource;
};
