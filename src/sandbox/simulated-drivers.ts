import sharp from 'sharp';
import { WebSocket } from 'ws';
import type { Point } from '../geo/point.ts';
import { distanceMeters } from '../geo/point.ts';
import {
  SIMULATED_REQUEST_MS,
  SIMULATED_RETRY_MS,
  SIMULATED_SPEED_METERS_PER_SECOND,
  SIMULATED_TICK_MS,
} from '../limits.ts';
import { errorFields, type Logger } from '../telemetry.ts';

/** What a simulated driver reads of the order it is given. */
type GivenOrder = { id: string; status: string; pickup: { lat: number; lng: number } };

/**
 * Drivers that are nothing but clients of the service: each opens the drivers' WebSocket, goes on duty, reports where it
 * is, and drives, picks up and delivers with a photo over HTTP, as a phone would.
 *
 * @param home where they roam, within about two kilometers
 * @returns a function that stops them and leaves their duty as it is
 */
export async function startSimulatedDrivers(
  baseUrl: string,
  tokens: readonly string[],
  home: Point,
  logger: Logger,
): Promise<{ close(): void }> {
  const photo = await drawPhoto();
  const drivers = tokens.map((token, index) => new SimulatedDriver(baseUrl, token, index, home, photo, logger));
  const timer = setInterval(() => {
    for (const driver of drivers) driver.tick();
  }, SIMULATED_TICK_MS);
  return {
    close() {
      clearInterval(timer);
      for (const driver of drivers) driver.close();
    },
  };
}

class SimulatedDriver {
  readonly #baseUrl: string;
  readonly #token: string;
  readonly #home: Point;
  readonly #photo: Buffer;
  readonly #logger: Logger;
  readonly #random: () => number;
  #socket: WebSocket | null = null;
  #retryAtMs = 0;
  #position: Point;
  #wanderTo: Point;
  #order: GivenOrder | null = null;
  #acting = false;
  #signedIn = false;
  #closed = false;

  constructor(baseUrl: string, token: string, index: number, home: Point, photo: Buffer, logger: Logger) {
    this.#baseUrl = baseUrl;
    this.#token = token;
    this.#home = home;
    this.#photo = photo;
    this.#logger = logger;
    this.#random = seededRandom(index + 1);
    this.#position = around(home, 2_000, this.#random);
    this.#wanderTo = around(home, 2_000, this.#random);
  }

  /** One step: stay connected, move, report, and act on arrival. */
  tick(): void {
    if (this.#closed) return;
    if (!this.#socket) {
      if (Date.now() >= this.#retryAtMs) this.#connect();
      return;
    }
    if (!this.#signedIn) return;
    const arrived = this.#moveTo(this.#destination());
    const { lat, lng } = this.#position;
    this.#socket.send(JSON.stringify({ type: 'position', lat, lng, captured_at: new Date().toISOString() }));
    if (arrived) this.#arrive();
  }

  close(): void {
    this.#closed = true;
    this.#socket?.close();
  }

  #connect(): void {
    const socket = new WebSocket(`${this.#baseUrl.replace(/^http/, 'ws')}/driver/live`, {
      handshakeTimeout: SIMULATED_REQUEST_MS,
    });
    this.#socket = socket;
    this.#retryAtMs = Date.now() + SIMULATED_RETRY_MS;
    this.#signedIn = false;
    socket.on('open', () => socket.send(JSON.stringify({ type: 'hello', token: this.#token })));
    socket.on('message', (data) => this.#hear(socket, String(data)));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (this.#socket === socket) this.#socket = null;
    });
  }

  /** The first state says that the hello was taken; a driver who is off duty then goes on duty. */
  #hear(socket: WebSocket, text: string): void {
    const message = JSON.parse(text) as { type: string; on_duty?: boolean; order?: GivenOrder | null };
    if (message.type !== 'state') return;
    this.#order = message.order ?? null;
    if (!this.#signedIn && !message.on_duty) socket.send(JSON.stringify({ type: 'duty', on_duty: true }));
    this.#signedIn = true;
  }

  #destination(): Point {
    if (this.#order?.status === 'driver_assigned') return this.#order.pickup;
    if (this.#order?.status === 'picked_up') return this.#dropoff(this.#order);
    return this.#wanderTo;
  }

  /** The service does not know the dropoff's point, so the simulation makes one up, the same for the same order. */
  #dropoff(order: GivenOrder): Point {
    return around(order.pickup, 900, seededRandom(Number.parseInt(order.id.slice(-8), 16)));
  }

  #moveTo(target: Point): boolean {
    const left = distanceMeters(this.#position, target);
    const speed = this.#order ? SIMULATED_SPEED_METERS_PER_SECOND : SIMULATED_SPEED_METERS_PER_SECOND / 8;
    const part = Math.min(1, (speed * SIMULATED_TICK_MS) / 1000 / Math.max(left, 1));
    this.#position = {
      lat: this.#position.lat + (target.lat - this.#position.lat) * part,
      lng: this.#position.lng + (target.lng - this.#position.lng) * part,
    };
    return part === 1;
  }

  #arrive(): void {
    if (!this.#order) {
      this.#wanderTo = around(this.#home, 2_000, this.#random);
    } else if (!this.#acting) {
      this.#acting = true;
      void this.#act(this.#order).finally(() => {
        this.#acting = false;
      });
    }
  }

  async #act({ id, status }: GivenOrder): Promise<void> {
    const pickUp = status === 'driver_assigned';
    try {
      const reply = await fetch(`${this.#baseUrl}/driver/orders/${id}/${pickUp ? 'pick-up' : 'deliver'}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${this.#token}`,
          'content-type': pickUp ? 'application/json' : 'image/jpeg',
        },
        body: pickUp ? '{}' : new Uint8Array(this.#photo),
        signal: AbortSignal.timeout(SIMULATED_REQUEST_MS),
      });
      await reply.arrayBuffer();
      if (!reply.ok) this.#logger.warn({ orderId: id, status: reply.status }, 'a simulated driver was refused');
    } catch (error) {
      this.#logger.warn({ orderId: id, err: errorFields(error) }, 'a simulated driver got no answer');
    }
  }
}

/** A point within `meters` of another, more often near than far. */
function around(center: Point, meters: number, random: () => number): Point {
  const angle = random() * 2 * Math.PI;
  const degrees = (random() * meters) / 111_195;
  return {
    lat: center.lat + degrees * Math.cos(angle),
    lng: center.lng + (degrees * Math.sin(angle)) / Math.cos((center.lat * Math.PI) / 180),
  };
}

/** Marsaglia's xorshift32 (Journal of Statistical Software 8/14, 2003): the same walk at every start. */
function seededRandom(seed: number): () => number {
  let state = seed | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** The photo of a handover: a parcel in front of a door. */
function drawPhoto(): Promise<Buffer> {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="960" height="720">
    <rect width="960" height="720" fill="#c9b79c"/><rect y="560" width="960" height="160" fill="#8d8478"/>
    <rect x="330" y="90" width="300" height="490" rx="6" fill="#2f5d50"/><circle cx="595" cy="350" r="14" fill="#d8b25c"/>
    <rect x="250" y="575" width="420" height="42" rx="8" fill="#5b4a3b"/>
    <rect x="400" y="450" width="210" height="150" fill="#c8965a"/><rect x="490" y="450" width="30" height="150" fill="#e8d2a8"/>
  </svg>`;
  return sharp(Buffer.from(svg)).jpeg({ quality: 80 }).toBuffer();
}
