import type { OrderStatus } from '../domain/order.ts';
import type { TrackedOrder } from '../domain/tracked.ts';
import { speakTracking } from '../words/tracking.ts';
import { stageLabel } from './sentences.ts';
import type { Stage } from './tracking-view.ts';

/** How far along the path each status is. Off the path, the order's times decide. */
const REACHED: Partial<Record<OrderStatus, number>> = {
  pending_dispatch: 0,
  driver_assigned: 1,
  picked_up: 2,
  delivered: 3,
};

/**
 * The steps of an order with their times. An order on its path shows the steps ahead; one that ended
 * undelivered shows the steps it reached and how it ended. The status decides, so a time left over from a
 * released driver shows nothing.
 */
export function stages(order: TrackedOrder): Stage[] {
  return steps(order).map((step) => ({ ...step, label: stageLabel(step, order.status, speakTracking.en) }));
}

function steps(order: TrackedOrder): Omit<Stage, 'label'>[] {
  const path = [
    { id: 'ordered', at: order.createdAt },
    { id: 'driver_assigned', at: order.assignedAt },
    { id: 'picked_up', at: order.pickedUpAt },
    { id: 'delivered', at: order.deliveredAt },
  ] as const;
  if (REACHED[order.status] === undefined) {
    const reached = path.filter(
      (step) => step.at !== null && (step.id !== 'driver_assigned' || order.driverId !== null),
    );
    return [
      ...reached.map((step) => ({ ...step, state: 'done' as const })),
      { id: 'not_delivered', state: 'failed', at: order.endedAt },
    ];
  }
  const last = REACHED[order.status] ?? 0;
  return path.map((step, index) => {
    if (index > last) return { ...step, state: 'upcoming', at: null };
    return { ...step, state: index === last && index < path.length - 1 ? 'current' : 'done' };
  });
}
