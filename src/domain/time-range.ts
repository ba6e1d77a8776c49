/** A range of times, ISO 8601 in UTC. */
export type TimeRange = { readonly from: string; readonly to: string };
