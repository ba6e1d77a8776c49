import type { createReportPosition } from '../dispatch/positions.ts';

/** A driver whose token was good. */
export type Driver = { readonly driverId: string };

/** Where reported positions go. */
export type PositionReports = Pick<ReturnType<typeof createReportPosition>, 'report'>;
