import type { PayoutRow } from './checker.ts';

/** A store's card at Stripe, null where it was taken off, and the card that its row has. */
export type CardState = { readonly retailerId: string; readonly given: string | null; readonly kept: string | null };
/** The end of a dispute at Stripe, and the row that tells of it. */
export type DisputeState = {
  readonly orderId: string;
  readonly ended: 'open' | 'won' | 'lost';
  readonly noted: string | null;
};

/** The last card that a store gave is the one that it is charged on. */
export function wrongCards(cards: readonly CardState[]): string[] {
  return cards.flatMap(({ retailerId, given, kept }) =>
    given === kept ? [] : [`card: store ${retailerId} gave ${given ?? 'none'} and has ${kept ?? 'none'}`],
  );
}

/** Each dispute is known as it ended. It holds the payout of its order, unless it was won. */
export function wrongDisputes(disputes: readonly DisputeState[], payouts: readonly PayoutRow[]): string[] {
  const byOrder = new Map(payouts.map((payout) => [payout.orderId, payout]));
  return disputes.flatMap(({ orderId, ended, noted }) => {
    const payout = byOrder.get(orderId);
    const isHeld = payout?.status === 'held' && payout.reasons.includes('disputed');
    const faults: [boolean, string][] = [
      [noted !== ended, `has a dispute that is ${ended} and counts as ${noted ?? 'none'}`],
      [payout !== undefined && ended !== 'won' && !isHeld, `is disputed and its payout is ${payout?.status}`],
      [ended === 'won' && isHeld, 'has a dispute that was won and holds its payout'],
    ];
    return faults.flatMap(([holds, fault]) => (holds ? [`dispute: order ${orderId} ${fault}`] : []));
  });
}
