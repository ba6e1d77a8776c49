import { createPositionBus, type PositionBus } from '../bus/positions.ts';
import type { Config } from '../config.ts';
import type { Positions } from '../dispatch/positions.ts';
import type { Closers } from '../runtime/closers.ts';
import type { Logger } from '../telemetry.ts';
import { openRedis } from './queues.ts';

/** Opens the bus of positions on Redis; null without Redis, when there is only one API process. */
export async function openPositionBus(
  config: Config,
  processId: string,
  positions: Pick<Positions, 'receive'>,
  logger: Logger,
  closers: Closers,
): Promise<PositionBus | null> {
  if (!config.redisUrl) return null;
  const publisher = openRedis(config.redisUrl, logger, closers);
  const subscriber = openRedis(config.redisUrl, logger, closers);
  const bus = await createPositionBus(publisher, subscriber, processId, positions.receive, logger);
  closers.add('position bus', () => bus.close());
  return bus;
}
