import type { Point } from '../geo/point.ts';

/** The sources of a dropoff's point, best first. */
export const DROPOFF_POINT_SOURCES = ['geocoder', 'zip_centroid'] as const;
export type DropoffPointSource = (typeof DROPOFF_POINT_SOURCES)[number];

/** A dropoff as a point. The door is within `accuracyMeters` of it, a whole number from 1. */
export type DropoffPoint = {
  readonly point: Point;
  readonly accuracyMeters: number;
  readonly source: DropoffPointSource;
};
