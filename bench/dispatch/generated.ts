import { seeded } from '../../test/harness/world.ts';
import type { Courier, Instance, Ordered, Place } from './instance.ts';

const KILOMETER = 1_000;

/**
 * A generated day of the shape of MDRPLIB's: a noon and an evening rush, stores of which a few have most orders,
 * doors around them, 16 ± 8 minutes of preparation, and couriers in shifts of two to four hours.
 */
export function generatedInstance(seed: number): Instance {
  const random = seeded(seed);
  const somewhere = (spread: number, around: Place = { x: 8 * KILOMETER, y: 8 * KILOMETER }): Place => ({
    x: Math.round(around.x + spread * (random() + random() - 1)),
    y: Math.round(around.y + spread * (random() + random() - 1)),
  });
  const stores = Array.from({ length: 60 }, (_, i) => ({ id: `r${i + 1}`, place: somewhere(6 * KILOMETER) }));
  const rush = () => Math.round((random() < 0.4 ? 720 : 1_110) + 150 * (random() + random() - 1));
  const orders = Array.from({ length: 500 }, (_, i): Ordered => {
    const store = stores[Math.floor(stores.length * random() ** 2)] as (typeof stores)[0];
    const placedAt = rush();
    const readyAt = placedAt + 8 + Math.round(16 * random());
    const dropoff = somewhere(4 * KILOMETER, store.place);
    return { id: `o${i + 1}`, store: store.id, pickup: store.place, dropoff, placedAt, readyAt };
  });
  const couriers = Array.from({ length: 90 }, (_, i): Courier => {
    const onAt = Math.round((i % 5 < 2 ? 570 : 930) + 90 * random());
    return {
      id: `c${i + 1}`,
      start: somewhere(6 * KILOMETER),
      onAt,
      offAt: onAt + 240 + 60 * Math.floor(3 * random()),
    };
  });
  const handling = { metersPerMinute: 320, pickupMinutes: 4, dropoffMinutes: 4 };
  return { name: `generated ${seed}`, ...handling, orders, couriers };
}
