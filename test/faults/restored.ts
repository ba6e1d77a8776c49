export type Restoration = {
  /** When clients heard of the orders that they have, by id, on the clock of `killedMs`. */
  readonly acknowledgedMs: ReadonlyMap<string, number>;
  readonly backedUpMs: number;
  readonly killedMs: number;
  /** Ids of the restored orders, and their customers' names, of which each order has its own. */
  readonly orders: readonly { readonly id: string; readonly customer: string }[];
  /** Time from the creation of the newest of them to the kill. */
  readonly newestAgeMs: number;
};

/** The acknowledged orders that are not there. */
export const missingOf = ({ acknowledgedMs, orders }: Restoration): string[] => {
  const there = new Set(orders.map(({ id }) => id));
  return [...acknowledgedMs.keys()].filter((id) => !there.has(id));
};

/**
 * Broken promises of a restored database, one sentence each.
 *
 * @param mayLoseMs age at the kill up to which an order may be missing
 */
export function findUnrestored(restoration: Restoration, mayLoseMs: number): string[] {
  const { acknowledgedMs, backedUpMs, killedMs, orders, newestAgeMs } = restoration;
  const isOld = (ms: number): boolean => ms < killedMs - mayLoseMs;
  const [older, newest] = [mayLoseMs, newestAgeMs].map((ms) => (ms / 1_000).toFixed(1));
  const lost = missingOf(restoration).filter((id) => isOld(acknowledgedMs.get(id) as number)).length;
  // Without such an order the base backup alone would do.
  const isJudged = [...acknowledgedMs.values()].some((ms) => ms > backedUpMs && isOld(ms));
  const twice = orders.length - new Set(orders.map(({ customer }) => customer)).size;
  const findings: [boolean, string][] = [
    [
      lost > 0,
      `${lost} orders acknowledged over ${older} s before the kill are missing; the newest was ${newest} s old`,
    ],
    [!isJudged, `no order was acknowledged after the backup and over ${older} s before the kill`],
    [twice > 0, `${twice} orders are there twice`],
  ];
  return findings.flatMap(([holds, says]) => (holds ? [`restored: ${says}`] : []));
}
