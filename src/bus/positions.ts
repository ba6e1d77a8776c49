import type { Redis } from 'ioredis';
import type { DriverPosition } from '../domain/driver.ts';
import { isPoint } from '../geo/point.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import { withTimeout } from '../with-timeout.ts';

/** Interval at which positions go to the other API processes. A driver at 50 km/h moves 3 m meanwhile. */
export const POSITION_BROADCAST_MS = 200;
/** Longest wait of a start for Redis before it goes on without. */
const SUBSCRIBE_WAIT_MS = 2_000;
/** Most positions in one message between processes. */
export const MAX_POSITION_OUTBOX = 5_000;

export type PositionBus = Awaited<ReturnType<typeof createPositionBus>>;

const CHANNEL = 'sameday:positions';

/**
 * Carries drivers' positions between API processes over Redis publish/subscribe. It sends the latest position
 * only and may lose one, as the driver's next report makes up for it.
 *
 * @param received called for each position of another process
 */
export async function createPositionBus(
  publisher: Redis,
  subscriber: Redis,
  processId: string,
  received: (position: DriverPosition) => void,
  logger: Logger,
) {
  const pending = new Map<string, DriverPosition>();
  // Only this process's messages begin so, which tells them apart before they are parsed.
  const ours = `{"from":${JSON.stringify(processId)},`;
  subscriber.on('message', (_channel, text) => {
    if (text.startsWith(ours)) return;
    for (const position of readPositions(text)) received(position);
  });
  const subscribe = () =>
    subscriber.subscribe(CHANNEL).catch((error) => {
      logger.warn({ err: errorFields(error) }, 'positions of other processes are not received');
    });
  // The client would subscribe again only where the first attempt was not refused, and leave a refusal to nobody.
  subscriber.on('ready', () => void subscribe());
  // The service takes orders while Redis is away, so a start waits for a bounded time only.
  await withTimeout(subscribe(), SUBSCRIBE_WAIT_MS, () => new Error('Redis did not answer')).catch(() => undefined);
  const flush = () => {
    if (pending.size === 0) return;
    const text = `${ours}"positions":${JSON.stringify([...pending.values()])}}`;
    pending.clear();
    // The client would keep them until Redis is back, when they are old.
    if (publisher.status !== 'ready') return;
    publisher.publish(CHANNEL, text).catch((error) => {
      logger.warn({ err: errorFields(error) }, 'positions could not be shared');
    });
  };
  const timer = setInterval(flush, POSITION_BROADCAST_MS);
  return {
    /** Queues a position for the other API processes; only the newest one of each driver is sent. */
    share(position: DriverPosition) {
      if (pending.size >= MAX_POSITION_OUTBOX && !pending.has(position.driverId)) flush();
      pending.set(position.driverId, position);
    },
    /** Sends what is left. The connections stay open for their owner to close. */
    close() {
      clearInterval(timer);
      flush();
    },
  };
}

/**
 * The positions in another process's message; none where it is malformed, which must not end this process.
 */
function readPositions(text: string): DriverPosition[] {
  try {
    const message = JSON.parse(text) as { positions?: unknown } | null;
    if (!Array.isArray(message?.positions)) return [];
    return message.positions.filter(isPosition);
  } catch {
    return [];
  }
}

function isPosition(value: unknown): value is DriverPosition {
  const { driverId, lat, lng, atMs } = (value ?? {}) as Record<string, unknown>;
  return typeof driverId === 'string' && isPoint(lat, lng) && Number.isFinite(atMs);
}
