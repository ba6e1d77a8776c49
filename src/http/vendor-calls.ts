/**
 * What became of a call of a vendor. `unchanged`: it came twice, or too late. `ignored`: of no concern here.
 * `failed`: the vendor may call again.
 */
export const VENDOR_CALL_OUTCOMES = ['applied', 'unchanged', 'ignored', 'unsigned', 'failed'] as const;
export type VendorCallOutcome = (typeof VENDOR_CALL_OUTCOMES)[number];

/** Counts a call. `type` is one of a few words, and never what the caller sent. */
export type CountVendorCall = (vendor: 'stripe' | 'twilio', type: string, outcome: VendorCallOutcome) => void;
