import type { Command } from './commands.ts';

/** A driver comes on duty, fetches what they have to, and stands then. */
export const comes = (driver: number, spot: number, waitMs = 9_000, forMinutes: number | null = null): Command[] => [
  { kind: 'go', driver, spot, atOnce: true, process: 0, waitMs: 0 },
  { kind: 'habit', driver, habit: 'stalls', process: 0, waitMs: 0 },
  { kind: 'duty', driver, onDuty: true, forMinutes, process: 0, waitMs },
];
/** Something small is ordered that is ready, from the first store to a door near it. */
export const isOrdered = (waitMs: number): Command => ({
  ...{ kind: 'order', store: 0, tier: 'standard', size: 'small', door: 0, readyInMinutes: 0, windowInMinutes: null },
  ...{ process: 0, waitMs },
});
