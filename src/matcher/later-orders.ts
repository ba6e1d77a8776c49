import { Tally } from '../domain/tally.ts';
import type { WaitingOrder } from '../domain/waiting-order.ts';

/** An order that waits for its time, from when on it waits for a driver. */
export type LaterOrder = WaitingOrder & { readonly dueMs: number };

/**
 * The orders that wait for their time: a binary heap (J. W. J. Williams, Algorithm 232, CACM 7, 1964) by when
 * they are due, in which each order knows its place, so that any of them can leave. Of orders that are due at
 * the same time any may come first.
 */
export class LaterOrders {
  private readonly heap: LaterOrder[] = [];
  private readonly places = new Map<string, number>();
  private readonly counts = new Tally();

  get size(): number {
    return this.heap.length;
  }

  /** When the first order is due; undefined without orders. */
  get nextDueMs(): number | undefined {
    return this.heap[0]?.dueMs;
  }

  countOf(retailerId: string): number {
    return this.counts.of(retailerId);
  }

  get(orderId: string): LaterOrder | undefined {
    const place = this.places.get(orderId);
    return place === undefined ? undefined : this.heap[place];
  }

  /** The ids of all orders, in any order. */
  ids(): Iterable<string> {
    return this.places.keys();
  }

  /** The ids of a store's orders, in any order; for a store with some, goes through all of them. */
  *idsOf(retailerId: string): Iterable<string> {
    if (this.countOf(retailerId) === 0) return;
    for (const order of this.heap) if (order.retailerId === retailerId) yield order.orderId;
  }

  /** The orders that are due by a time, in any order; costs about as much as there are of them. */
  *dueBy(untilMs: number, place = 0): Iterable<LaterOrder> {
    const order = this.heap[place];
    if (!order || order.dueMs > untilMs) return;
    yield order;
    yield* this.dueBy(untilMs, 2 * place + 1);
    yield* this.dueBy(untilMs, 2 * place + 2);
  }

  /** Inserts an order or replaces it. */
  put(order: LaterOrder): void {
    this.delete(order.orderId);
    this.counts.add(order.retailerId, 1);
    this.heap.push(order);
    this.rise(this.heap.length - 1);
  }

  /** False for an unknown order. */
  delete(orderId: string): boolean {
    const place = this.places.get(orderId);
    if (place === undefined) return false;
    this.counts.add((this.heap[place] as LaterOrder).retailerId, -1);
    this.places.delete(orderId);
    const last = this.heap.pop() as LaterOrder;
    if (last.orderId !== orderId) {
      this.heap[place] = last;
      this.rise(place);
      this.sink(this.places.get(last.orderId) as number);
    }
    return true;
  }

  /** Takes out the order that is due first, if it is due by `nowMs`. */
  takeDue(nowMs: number): LaterOrder | undefined {
    const first = this.heap[0];
    if (!first || first.dueMs > nowMs) return undefined;
    this.delete(first.orderId);
    return first;
  }

  private rise(from: number): void {
    const order = this.heap[from] as LaterOrder;
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if ((this.heap[parent] as LaterOrder).dueMs <= order.dueMs) break;
      this.set(place, this.heap[parent] as LaterOrder);
      place = parent;
    }
    this.set(place, order);
  }

  private sink(from: number): void {
    const order = this.heap[from] as LaterOrder;
    let place = from;
    for (let child = 2 * place + 1; child < this.heap.length; child = 2 * place + 1) {
      const right = this.heap[child + 1];
      if (right && right.dueMs < (this.heap[child] as LaterOrder).dueMs) child++;
      if ((this.heap[child] as LaterOrder).dueMs >= order.dueMs) break;
      this.set(place, this.heap[child] as LaterOrder);
      place = child;
    }
    this.set(place, order);
  }

  private set(place: number, order: LaterOrder): void {
    this.heap[place] = order;
    this.places.set(order.orderId, place);
  }
}
