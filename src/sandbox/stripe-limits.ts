/** Requests a second that Stripe takes: in all, of each endpoint, and of a search. */
export type StripeRates = { readonly all: number; readonly endpoint: number; readonly search: number };

/** Of an account without an increase. Source: Stripe's page of rate limits. */
export const STRIPE_RATES = {
  live: { all: 100, endpoint: 25, search: 20 },
  test: { all: 25, endpoint: 25, search: 20 },
} as const satisfies Record<string, StripeRates>;

type Call = { readonly method: string; readonly path: string };

/** Counts requests by the second; says by which of Stripe's names one is refused. */
export function createStripeLimits(
  { all, endpoint, search }: StripeRates,
  nowMs: () => number,
): (call: Call) => 'global-rate' | 'endpoint-rate' | undefined {
  let second = 0;
  const taken = new Map<string, number>();
  return ({ method, path }) => {
    const now = Math.floor(nowMs() / 1_000);
    if (now !== second) taken.clear();
    second = now;
    const name = `${method} ${path.replaceAll(/\/(?:pi|re|seti|cus|cs|du)_[^/]+/g, '/{id}')}`;
    const ofEndpoint = (taken.get(name) ?? 0) + 1;
    const ofAll = (taken.get('all') ?? 0) + 1;
    if (ofAll > all) return 'global-rate';
    if (ofEndpoint > (path.endsWith('/search') ? search : endpoint)) return 'endpoint-rate';
    taken.set(name, ofEndpoint).set('all', ofAll);
    return undefined;
  };
}
