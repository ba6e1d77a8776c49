import type { Redis } from 'ioredis';
import { isPoint } from '../geo/point.ts';
import { MAX_POSITION_OUTBOX, POSITION_BROADCAST_MS, SUBSCRIBE_WAIT_MS } from '../limits.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import { withTimeout } from '../with-timeout.ts';

export type SharedPosition = {
  readonly driverId: string;
  readonly lat: number;
  readonly lng: number;
  readonly atMs: number;
};

export type PositionBus = {
  /** Queues a position for the other API processes; only the newest of each driver is sent. */
  share(position: SharedPosition): void;
  /** Sends what is left; the connections are their owner's to close. */
  close(): void;
};

const CHANNEL = 'sameday:positions';

/**
 * Carries driver positions between API processes over Redis publish/subscribe. Latest-only and lossy on purpose: the
 * next report of the same driver makes up for a lost one.
 *
 * @param received called for each position of another process
 */
export async function createPositionBus(
  publisher: Redis,
  subscriber: Redis,
  origin: string,
  received: (position: SharedPosition) => void,
  logger: Logger,
): Promise<PositionBus> {
  const pending = new Map<string, SharedPosition>();
  // Every message of ours begins so and no other does: what comes back to us is known before it is parsed.
  const ours = `{"from":${JSON.stringify(origin)},`;
  subscriber.on('message', (_channel, text) => {
    if (text.startsWith(ours)) return;
    for (const position of readPositions(text)) received(position);
  });
  const subscribe = () =>
    subscriber.subscribe(CHANNEL).catch((error) => {
      logger.warn({ err: errorFields(error) }, 'positions of other processes are not heard');
    });
  // The client subscribes by itself when Redis is back, but only if it ever had: not where Redis refused it at first.
  subscriber.on('ready', () => void subscribe());
  // While Redis is away orders are taken all the same.
  await withTimeout(subscribe(), SUBSCRIBE_WAIT_MS, () => new Error('Redis did not answer')).catch(() => undefined);
  const flush = () => {
    if (pending.size === 0) return;
    const text = `${ours}"positions":${JSON.stringify([...pending.values()])}}`;
    pending.clear();
    // The client would keep them all until Redis is back; by then they are old.
    if (publisher.status !== 'ready') return;
    publisher.publish(CHANNEL, text).catch((error) => {
      logger.warn({ err: errorFields(error) }, 'positions could not be shared');
    });
  };
  const timer = setInterval(flush, POSITION_BROADCAST_MS);
  return {
    share(position) {
      if (pending.size >= MAX_POSITION_OUTBOX && !pending.has(position.driverId)) flush();
      pending.set(position.driverId, position);
    },
    close() {
      clearInterval(timer);
      flush();
    },
  };
}

/** The positions of another process's message; none where it is no such message: it would end this process. */
function readPositions(text: string): SharedPosition[] {
  try {
    const message = JSON.parse(text) as { positions?: unknown } | null;
    if (!Array.isArray(message?.positions)) return [];
    return message.positions.filter(isPosition);
  } catch {
    return [];
  }
}

function isPosition(value: unknown): value is SharedPosition {
  const { driverId, lat, lng, atMs } = (value ?? {}) as Record<string, unknown>;
  return typeof driverId === 'string' && isPoint(lat, lng) && Number.isFinite(atMs);
}
