import { WebSocket } from 'ws';
import type { Scenario } from '../domain/scenario.ts';
import { distanceMeters, type Point } from '../geo/point.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import { around, drawPhoto, seededRandom, speedOf } from './simulated-world.ts';

/** Interval at which a simulated driver moves and reports. */
const SIMULATED_TICK_MS = 1_000;
/** Shortest time from the assignment to the end of a simulated order. Above MIN_DELIVERY_MS. */
const SIMULATED_DELIVERY_MS = 35_000;
/** Pause before a simulated driver whose socket closed connects again. */
const SIMULATED_RETRY_MS = 2_000;
/** Longest request of a simulated driver. */
const SIMULATED_REQUEST_MS = 10_000;

/** What a simulated driver reads of the order it is given. */
type GivenOrder = {
  readonly id: string;
  readonly status: string;
  readonly pickup: Point;
  readonly dropoff: { readonly line1: string; readonly city: string; readonly state: string; readonly zip: string };
};

type Step = 'pick-up' | 'deliver' | 'release' | 'undeliverable' | 'return';

type Mishap = Exclude<Scenario['driver'], 'none'>;

/** Mishaps: every eighth order is released and every twelfth is undeliverable, but not the first ones. */
function createMishaps(): () => Mishap {
  let given = 0;
  return () => {
    given += 1;
    if (given % 8 === 3) return 'gives_back';
    return given % 12 === 6 ? 'undeliverable' : null;
  };
}

/** What all simulated drivers share. */
type World = {
  readonly baseUrl: string;
  /** The point around which they roam, within about two kilometers. */
  readonly home: Point;
  /** Finds an address, as the map on a phone does; null where it is unknown. */
  readonly locate: (address: string) => Promise<Point | null>;
  /** What the store asked the order's driver to do; null where it asked for nothing. */
  readonly scenarioOf: (orderId: string) => Promise<Scenario['driver']>;
  readonly logger: Logger;
  /** Interval at which they move, report and act. */
  readonly tickMs?: number;
  /** Factor on their speed in the demo; above 1 their payouts are held. */
  readonly haste?: number;
};

/**
 * Starts drivers that are plain clients of the service: each opens the drivers' WebSocket, goes on duty,
 * reports its position, and picks up, delivers with a photo, releases and returns orders over HTTP, as a
 * driver's phone does.
 *
 * @returns `close`, which stops them and leaves their duty as it is
 */
export async function startSimulatedDrivers(world: World, tokens: readonly string[]): Promise<{ close(): void }> {
  const photo = await drawPhoto();
  const nextMishap = createMishaps();
  const drivers = tokens.map((token, index) => new SimulatedDriver(world, token, index, photo, nextMishap));
  const timer = setInterval(() => {
    for (const driver of drivers) driver.tick();
  }, world.tickMs ?? SIMULATED_TICK_MS);
  return {
    close() {
      clearInterval(timer);
      for (const driver of drivers) driver.close();
    },
  };
}

class SimulatedDriver {
  readonly #world: World;
  readonly #token: string;
  readonly #photo: Buffer;
  readonly #nextMishap: () => Mishap;
  readonly #random: () => number;
  #socket: WebSocket | null = null;
  #retryAtMs = 0;
  #position: Point;
  #wanderTo: Point;
  /** Where they were asked to wait, and stay until an order comes. */
  #waitAt: Point | null = null;
  #leg: { readonly to: Point; readonly metersPerSecond: number } | null = null;
  #order: GivenOrder | null = null;
  /** Simulated time since the order was given. */
  #carriedMs = 0;
  #door: Point | null = null;
  #mishap: Mishap = null;
  /** The last action, which keeps its id and its time when it is sent again. */
  #action = { id: '', capturedAt: '', answered: false };
  #acting = false;
  #signedIn = false;
  #closed = false;

  constructor(world: World, token: string, index: number, photo: Buffer, nextMishap: () => Mishap) {
    this.#world = world;
    this.#token = token;
    this.#photo = photo;
    this.#nextMishap = nextMishap;
    this.#random = seededRandom(index + 1);
    this.#position = around(world.home, 2_000, this.#random);
    this.#wanderTo = around(world.home, 2_000, this.#random);
  }

  /** One step: connects, moves, reports, and acts where there is something to do. */
  tick(): void {
    if (this.#closed) return;
    if (!this.#socket) {
      if (Date.now() >= this.#retryAtMs) this.#connect();
      return;
    }
    if (!this.#signedIn || this.#isSilent()) return;
    const arrived = this.#driveTo(this.#destination());
    this.#carriedMs += this.#tickMs();
    const { lat, lng } = this.#position;
    this.#socket.send(JSON.stringify({ type: 'position', lat, lng, captured_at: new Date().toISOString() }));
    if (!this.#order && !this.#waitAt && arrived) this.#wanderTo = around(this.#world.home, 2_000, this.#random);
    const step = this.#order && nextStep(this.#order.status, arrived, this.#carriedMs, this.#mishap);
    if (this.#order && step) void this.#act(this.#order.id, step);
  }

  close(): void {
    this.#closed = true;
    this.#socket?.close();
  }

  #connect(): void {
    const socket = new WebSocket(`${this.#world.baseUrl.replace(/^http/, 'ws')}/driver/live`, {
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

  /** The first state confirms the hello; a driver who is off duty then goes on duty. */
  #hear(socket: WebSocket, text: string): void {
    const message = JSON.parse(text) as {
      type: string;
      on_duty?: boolean;
      order?: GivenOrder | null;
      wait_at?: Point | null;
    };
    if (message.type !== 'state') return;
    const order = message.order ?? null;
    this.#waitAt = order ? null : (message.wait_at ?? this.#waitAt);
    if (order && order.id !== this.#order?.id) this.#isGiven(order);
    this.#order = order;
    if (!this.#signedIn && !message.on_duty) socket.send(JSON.stringify({ type: 'duty', on_duty: true }));
    this.#signedIn = true;
  }

  /** Finds the door on the map, or makes one up near the store, the same one for the same order. */
  #isGiven({ id, pickup, dropoff }: GivenOrder): void {
    this.#mishap = this.#nextMishap();
    const isAsked = (asked: Scenario['driver']) => {
      if (asked && asked !== 'none' && this.#order?.id === id) this.#mishap = asked;
    };
    this.#world.scenarioOf(id).then(isAsked, () => undefined);
    this.#carriedMs = 0;
    const random = seededRandom(Number.parseInt(id.slice(-8), 16));
    this.#door = around(pickup, 900, random);
    const address = `${dropoff.line1}, ${dropoff.city}, ${dropoff.state} ${dropoff.zip}`;
    const found = (door: Point | null) => {
      if (door && this.#order?.id === id) this.#door = around(door, 30, random);
    };
    this.#world.locate(address).then(found, () => undefined);
  }

  /** Whether nothing is heard of this driver, who is on the way to a pickup. */
  #isSilent(): boolean {
    return this.#mishap === 'silent' && this.#order?.status === 'driver_assigned';
  }

  #destination(): Point {
    if (this.#order?.status === 'driver_assigned' || this.#order?.status === 'undeliverable') return this.#order.pickup;
    return (this.#order ? this.#door : this.#waitAt) ?? this.#wanderTo;
  }

  /** Simulated time of a tick. */
  #tickMs(): number {
    return (this.#world.tickMs ?? SIMULATED_TICK_MS) * (this.#world.haste ?? 1);
  }

  /** Moves towards a point, slowly with nothing to do; true on arrival. */
  #driveTo(to: Point): boolean {
    const left = distanceMeters(this.#position, to);
    if (this.#leg?.to.lat !== to.lat || this.#leg.to.lng !== to.lng) {
      this.#leg = { to, metersPerSecond: speedOf(left, this.#order !== null || this.#waitAt !== null) };
    }
    const moved = this.#leg.metersPerSecond * (this.#tickMs() / 1_000);
    const part = Math.min(1, moved / Math.max(left, 1));
    this.#position = {
      lat: this.#position.lat + (to.lat - this.#position.lat) * part,
      lng: this.#position.lng + (to.lng - this.#position.lng) * part,
    };
    return part === 1;
  }

  /** Sends an action until it is answered; the state that follows says what is next. */
  async #act(orderId: string, step: Step): Promise<void> {
    const id = `${orderId}.${step}`;
    if (this.#action.id !== id) this.#action = { id, capturedAt: new Date().toISOString(), answered: false };
    // The next one may be due before this one is answered.
    const action = this.#action;
    if (this.#acting || action.answered) return;
    this.#acting = true;
    try {
      const reply = await this.#send(orderId, step);
      await reply.arrayBuffer();
      // A refusal other than 429 and 5xx is final: the same action gets the same answer.
      action.answered = reply.status < 500 && reply.status !== 429;
      if (!reply.ok) this.#world.logger.warn({ orderId, status: reply.status }, 'a simulated driver was refused');
    } catch (error) {
      this.#world.logger.warn({ orderId, err: errorFields(error) }, 'a simulated driver got no answer');
    }
    this.#acting = false;
  }

  #send(orderId: string, step: Step): Promise<Response> {
    const stamp = { action_id: this.#action.id, captured_at: this.#action.capturedAt };
    const isPhoto = step === 'deliver';
    const reason = REASONS[step];
    const query = isPhoto ? `?${new URLSearchParams(stamp)}` : '';
    return fetch(`${this.#world.baseUrl}/driver/orders/${orderId}/${step}${query}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.#token}`,
        'content-type': isPhoto ? 'image/jpeg' : 'application/json',
      },
      body: isPhoto ? new Uint8Array(this.#photo) : JSON.stringify(reason ? { ...stamp, reason } : stamp),
      signal: AbortSignal.timeout(SIMULATED_REQUEST_MS),
    });
  }
}

const REASONS: Partial<Record<Step, string>> = { release: 'vehicle', undeliverable: 'nobody_home' };

/** The driver's next action; null on the way. */
function nextStep(status: string, arrived: boolean, carriedMs: number, mishap: Mishap): Step | null {
  if (status === 'driver_assigned' && mishap === 'gives_back') return 'release';
  if (!arrived) return null;
  if (status === 'driver_assigned') return 'pick-up';
  if (status === 'picked_up' && mishap === 'undeliverable') return 'undeliverable';
  if (carriedMs < SIMULATED_DELIVERY_MS) return null;
  if (status === 'picked_up') return 'deliver';
  return status === 'undeliverable' ? 'return' : null;
}
