import { afterEach, expect, test, vi } from 'vitest';
import { PLANNER_LOOK_MS } from '../../src/limits.ts';
import { Planner } from '../../src/planner/planner.ts';
import { driver, MINUTE, NOW, order, PlannedWorld, pass } from './planned-world.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test.each(['estimate', 'due', 'putOrder'] as const)(
  'a bug in %s costs the plan alone, which is made anew',
  async (name) => {
    const unhandled: unknown[] = [];
    const hear = (error: unknown) => void unhandled.push(error);
    process.on('unhandledRejection', hear);
    const broken = vi.spyOn(Planner.prototype, name).mockImplementationOnce(() => {
      throw new Error('a bug');
    });
    const world = await PlannedWorld.open();
    world.matcher.putDriver(driver('d'));
    world.matcher.wait(order('later', { readyAtMs: NOW + 60 * MINUTE }));
    await pass(5 * PLANNER_LOOK_MS);
    expect(broken.mock.results.map(({ type }) => type)).toContain('throw');
    expect(world.noted.map(({ orderId }) => orderId)).toEqual(['later']);
    await pass(60 * MINUTE);
    expect(world.gave()[0]).toBe('later to d');
    await world.close();
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', hear);
    expect(unhandled).toEqual([]);
  },
);
