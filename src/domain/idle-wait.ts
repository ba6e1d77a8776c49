import { distanceMeters, type Point } from '../geo/point.ts';

/** A driver is where they were asked to wait within so many meters: a parking lot is as large. */
export const IDLE_WAIT_METERS = 150;

/** A store's pickup at which idle drivers wait; `name` is null where it is not known. */
export type WaitPlace = Point & { readonly name: string | null };

/** That a driver without an order is asked to wait at a place. They may wait elsewhere. */
export type IdleWait = { readonly driverId: string; readonly place: WaitPlace };

/** Where orders are expected, and how many beside other places. */
export type ExpectedOrders = { readonly point: Point; readonly weight: number };

/** Whether a driver is where they were asked to wait. */
export const isThere = (at: Point | null, place: Point): boolean =>
  at !== null && distanceMeters(at, place) <= IDLE_WAIT_METERS;
