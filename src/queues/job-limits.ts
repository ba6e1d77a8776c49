/** Pause of a queue after a vendor's 429. */
export const VENDOR_PAUSE_MS = 1_000;
