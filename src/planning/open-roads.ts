import type { ServiceParts } from '../runtime/parts.ts';
import { createRoadTimes, MODEL_TIMES, type RoadTimes } from './road-times.ts';
import { createRouter } from './router.ts';

/** Opens the planner's travel times: by the roads of the router of the settings, else by the model. */
export function openRoadTimes(parts: Pick<ServiceParts, 'config' | 'logger' | 'metrics' | 'closers'>): RoadTimes {
  const { config, logger, metrics, closers } = parts;
  if (!config.routerUrl) return MODEL_TIMES;
  const router = createRouter({ url: config.routerUrl });
  closers.add('router', () => router.close());
  return createRoadTimes({ router, logger, observe: metrics.observeTable });
}
