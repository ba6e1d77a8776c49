import type { OrderStatus } from '../../../src/domain/order.ts';
import type { TierId } from '../../../src/domain/tier.ts';
import type { Point } from '../../../src/geo/point.ts';
import type { Step } from './commands.ts';
import type { Credit, Money } from './money.ts';

/** An answer. Of two answers the fields that the model knows must agree. */
export type Answer = {
  readonly kind: string;
  readonly orderId?: string;
  readonly status?: string;
  readonly sequence?: number;
  readonly payment?: string;
};

export type ModelDriver = {
  readonly id: string;
  readonly tierIds: readonly TierId[];
  isActive: boolean;
  onDuty: boolean;
  point: Point;
  /** The result of the first use of each action id. */
  readonly actions: Map<string, { readonly orderId: string; readonly status: OrderStatus; readonly sequence: number }>;
};

export type ModelOrder = {
  readonly id: string;
  readonly storeId: string;
  readonly tierId: TierId;
  readonly says: string;
  readonly createdAs: string;
  /** When it began to wait, by each observer's clock. */
  readonly sinceMs: number;
  /** Since when it counts as waiting, if later, by the tables. */
  fairStartMs: number | null;
  status: OrderStatus;
  driverId: string | null;
  readonly excluded: string[];
  readonly events: string[];
  readonly money: Money;
};

export type ModelStore = {
  readonly id: string;
  isActive: boolean;
  readonly credit: Credit;
  /** By idempotency key: the order that it made, and the one that it cancelled with the reason. */
  readonly made: Map<string, string>;
  readonly cancelled: Map<string, { readonly orderId: string; readonly reason: string }>;
};

/** The statuses before and after a driver's step, and its event. */
export const LEADS: Record<Step, { readonly from: OrderStatus; readonly to: OrderStatus; readonly event: string }> = {
  'pick-up': { from: 'driver_assigned', to: 'picked_up', event: 'picked_up' },
  deliver: { from: 'picked_up', to: 'delivered', event: 'delivered' },
  release: { from: 'driver_assigned', to: 'pending_dispatch', event: 'released' },
  undeliverable: { from: 'picked_up', to: 'undeliverable', event: 'undeliverable' },
  return: { from: 'undeliverable', to: 'returned', event: 'returned' },
};
