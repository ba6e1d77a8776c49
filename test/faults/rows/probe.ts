import type { Random } from '../../harness/world.ts';
import { anyOrder, note, send } from '../clients.ts';
import { keepOn, type World } from '../world.ts';

const PAUSE_MS = 50;

/** Sends orders and readiness checks in turn while something is away; returns a sentence for each refusal. */
export function startProbe(world: World, random: Random, away: string): { stop(): Promise<string[]> } {
  const problems: string[] = [];
  const asking = keepOn(world, PAUSE_MS, async () => {
    const order = anyOrder(world, random, true);
    note(world, order);
    const { status } = await send(world, order, random);
    if (status !== 201) problems.push(`${away}: while it was away an order was answered with ${status}`);
    const ready = await fetch(`${world.apis[0]?.url()}/readyz`).catch(() => null);
    if (ready?.status !== 200) problems.push(`${away}: while it was away readiness was ${ready?.status}`);
  });
  return { stop: () => asking.stop().then(() => problems) };
}
