import type { DriverPosition } from '../domain/driver.ts';
import type { PaymentStatus } from '../domain/order.ts';

/** Events of orders and drivers, as this process sees them. A subscriber handles those it needs. */
export type OrderSubscriber = {
  /** An order has another status or driver. `driverId` is the driver who has or had it, null for none. */
  orderChanged?(orderId: string, driverId: string | null): void;
  /** A detail of an order changed: its payment, its text or the point of its dropoff. */
  detailsChanged?(orderId: string): void;
  /** The result of an order's charge is in the database. */
  paymentRecorded?(orderId: string, status: PaymentStatus): void;
  /** The outcome of a write to an order is unknown. */
  outcomeUnknown?(orderId: string): void;
  /** What a driver does is not known: a write had no answer, or could not be read. */
  driverUnknown?(driverId: string): void;
  /** A driver's duty or order may have changed. */
  driverChanged?(driverId: string): void;
  /** A read shows that a driver no longer carries an order that they held in memory. */
  driverFreed?(driverId: string): void;
  /** This process gave a driver an order. Each order is told of by one process alone. */
  orderGiven?(driverId: string): void;
  /** This process took an order from its driver, who did not ask for it. */
  orderTaken?(driverId: string): void;
  /** A driver has another token: what was opened with the one before ends. */
  tokenChanged?(driverId: string): void;
  /** A driver moved; `orderId` is the order they carry. */
  driverMoved?(position: DriverPosition, orderId: string | null): void;
  /** A driver's phone reported a position to this process. */
  positionReported?(position: DriverPosition): void;
  /** What holds a store back may be otherwise than this process believes. */
  storeChanged?(retailerId: string): void;
  /** Notices may have been missed: what is shown has to be read again. */
  everythingChanged?(): void;
};

/** Tells of an event; none has more than two facts. */
type Tell = (first: unknown, second: unknown) => void;

/**
 * Calls the subscribers of an event synchronously, in the order in which they subscribed. A subscriber must
 * not throw. `app/api.ts` lists the subscribers; the change feed and `given-orders.ts` subscribe themselves.
 */
export class OrderEvents implements Required<OrderSubscriber> {
  readonly #subscribers: OrderSubscriber[] = [];
  readonly orderChanged = this.#tell('orderChanged');
  readonly detailsChanged = this.#tell('detailsChanged');
  readonly paymentRecorded = this.#tell('paymentRecorded');
  readonly outcomeUnknown = this.#tell('outcomeUnknown');
  readonly driverUnknown = this.#tell('driverUnknown');
  readonly driverChanged = this.#tell('driverChanged');
  readonly driverFreed = this.#tell('driverFreed');
  readonly orderGiven = this.#tell('orderGiven');
  readonly orderTaken = this.#tell('orderTaken');
  readonly tokenChanged = this.#tell('tokenChanged');
  readonly driverMoved = this.#tell('driverMoved');
  readonly positionReported = this.#tell('positionReported');
  readonly storeChanged = this.#tell('storeChanged');
  readonly everythingChanged = this.#tell('everythingChanged');

  subscribe(subscriber: OrderSubscriber): void {
    this.#subscribers.push(subscriber);
  }

  #tell<Name extends keyof OrderSubscriber>(name: Name): Required<OrderSubscriber>[Name] {
    const tell: Tell = (first, second) => {
      for (const each of this.#subscribers) (each[name] as Tell | undefined)?.(first, second);
    };
    return tell as Required<OrderSubscriber>[Name];
  }
}
