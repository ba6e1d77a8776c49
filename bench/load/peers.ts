import type { OrderRequest } from '../../test/harness/order-world.ts';
import { findFaults } from '../support/answered.ts';
import { withParseOnly } from '../support/parse-only.ts';
import type { PlainStack } from '../support/plain-stack.ts';
import { measureRate, type PeerFigure, type RateFigure, type Run, warmUpFaults } from './figures.ts';
import type { Sizes } from './sizes.ts';
import type { TimePlan } from './time-plan.ts';

type Parts = Run & {
  readonly sizes: Sizes;
  readonly plan: TimePlan;
  readonly orders: readonly OrderRequest[];
  readonly ours: readonly RateFigure[];
  /** The plain service, or why there is none. */
  readonly plain: PlainStack | string;
};

const BARE = 'bare server';
const PLAIN = 'plain service';

/** Measures the bare server and the plain service, over the same connections, with the same orders. */
export async function measurePeers(parts: Parts): Promise<PeerFigure[]> {
  const { sizes, ours } = parts;
  const own = ours.find(({ connections }) => connections === sizes.peerConnections);
  const beside = (name: string, rate: RateFigure): PeerFigure => {
    return { name, rate, oursIs: (own?.perSecond ?? Number.NaN) / rate.perSecond };
  };
  const bare = beside(BARE, await bareRate(parts));
  if (typeof parts.plain === 'string') return [bare, { name: PLAIN, leftOut: parts.plain }];
  return [bare, beside(PLAIN, await plainRate(parts, parts.plain))];
}

function bareRate(parts: Parts): Promise<RateFigure> {
  parts.say('starting the bare server');
  return withParseOnly(parts.sizes.stores, async (url) => {
    const { before, result, figure } = await measured(parts, 'bare', url);
    parts.blame('bare server', [...warmUpFaults(before), ...result.faults]);
    return figure;
  });
}

/** With its worker, whose handlers only write the row. */
async function plainRate(parts: Parts, plain: PlainStack): Promise<RateFigure> {
  parts.say('starting the plain service');
  const { before, result, figure } = await measured(parts, 'plain', await plain.start(true));
  const lost = await findFaults(plain, [...before.orderIds, ...result.orderIds]);
  parts.blame('plain service', [...warmUpFaults(before), ...result.faults, ...lost]);
  await plain.halt();
  return figure;
}

async function measured(parts: Parts, name: string, url: string) {
  const { sizes, plan, orders } = parts;
  const target = { urls: [url], orders };
  const say = (text: string): void => parts.say(`${name}: ${text}`);
  const run = { ...parts, say };
  // A service that has just been started is slow for seconds; ours has run for longer by now.
  const before = await measureRate(run, target, sizes.peerConnections, plan.take(`${name} warm-up`));
  const taken = await measureRate(run, target, sizes.peerConnections, plan.take(name));
  return { before: before.result, ...taken };
}
