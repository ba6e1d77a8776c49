import type { AdmissionControl } from './admission.ts';

/**
 * Starts the orders of a batch together once each has had a turn of its own, so that they share a commit. They
 * stand in line `atOnce` at a time: whoever comes meanwhile waits behind so many of them and not behind all.
 *
 * @param store whose orders they are
 * @param refused the result of an order that gets no turn
 * @returns the results in the order of `orders`
 */
export async function startInTurns<Order, Result>(
  admission: Pick<AdmissionControl, 'enter'>,
  store: string,
  orders: readonly Order[],
  atOnce: number,
  start: (order: Order) => Promise<Result>,
  refused: (order: Order) => Result,
): Promise<Result[]> {
  const admitted: boolean[] = [];
  for (let at = 0; at < orders.length; at += atOnce) {
    const turns = orders.slice(at, at + atOnce).map(() => admission.enter(store));
    admitted.push(...turns.map((turn) => turn !== null));
    await Promise.all(turns.filter((turn) => turn !== null));
  }
  return Promise.all(orders.map((order, index) => (admitted[index] ? start(order) : refused(order))));
}
