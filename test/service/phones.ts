import { expect } from 'vitest';
import { WebSocket } from 'ws';
import type { Point } from '../../src/geo/point.ts';
import type { Running } from '../harness/service.ts';
import { ask, type Driver } from './clients.ts';

export type Step = 'pick-up' | 'deliver' | 'release' | 'undeliverable' | 'return';
export type Carried = { readonly id: string; readonly status: string; readonly sequence: number };

const REASONS: Partial<Record<Step, string>> = { release: 'vehicle', undeliverable: 'nobody_home' };

/** A service that is killed and started again, and those who wait for it meanwhile. */
export class Restarting {
  readonly #start: () => Promise<Running>;
  #running: Promise<Running>;
  #started: (service: Running) => void = () => undefined;

  constructor(start: () => Promise<Running>) {
    this.#start = start;
    this.#running = start();
  }

  /** The service; while it is down, the one that comes. */
  up(): Promise<Running> {
    return this.#running;
  }

  async kill(): Promise<void> {
    const service = await this.#running;
    this.#running = new Promise((resolve) => {
      this.#started = resolve;
    });
    await service.stop('SIGKILL');
  }

  async startAgain(): Promise<void> {
    this.#started(await this.#start());
    await this.#running;
  }
}

/**
 * A driver's phone that works by itself: it hears of its order on the live socket, does what `next` says, and sends every
 * action under the same id until there is an answer, whatever dies meanwhile.
 */
export class Phone {
  readonly driver: Driver;
  readonly #service: Restarting;
  readonly #at: Point;
  readonly #photo: Uint8Array;
  readonly #next: (order: Carried, driverId: string) => Step | null;
  readonly #answered = new Set<string>();
  #socket: WebSocket | null = null;
  #working = false;
  /** What it was told last; undefined since the socket was opened. */
  told: Carried | null | undefined;
  /** Answers of the service that were no success; there are to be none. */
  readonly refused: string[] = [];

  constructor(
    service: Restarting,
    driver: Driver,
    at: Point,
    photo: Uint8Array,
    next: (order: Carried, driverId: string) => Step | null,
  ) {
    this.driver = driver;
    this.#service = service;
    this.#at = at;
    this.#photo = photo;
    this.#next = next;
  }

  /** Opens the live socket, says where it is, and resolves when it was told its state. */
  async connect(): Promise<void> {
    const { url } = await this.#service.up();
    this.told = undefined;
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/driver/live`);
    this.#socket = socket;
    const send = (message: object) => socket.send(JSON.stringify(message));
    socket.on('error', () => undefined);
    socket.on('open', () => send({ type: 'hello', token: this.driver.token }));
    socket.on('message', (data) => {
      const message = JSON.parse(String(data)) as { type: string; order?: Carried | null };
      if (message.type !== 'state' || this.#socket !== socket) return;
      if (this.told === undefined) send({ type: 'position', ...this.#at, captured_at: new Date().toISOString() });
      this.told = message.order ?? null;
      void this.work();
    });
    await expect.poll(() => this.told, { interval: 20 }).toBeDefined();
  }

  close(): void {
    this.#socket?.terminate();
  }

  /** Does what is to be done now; what comes of it is heard on the socket. */
  async work(): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    for (;;) {
      const order = this.told;
      const step = order ? this.#next(order, this.driver.id) : null;
      const actionId = `${order?.id}.${step}`;
      if (!order || !step || this.#answered.has(actionId)) break;
      await this.#send(order.id, step, actionId);
      this.#answered.add(actionId);
    }
    this.#working = false;
  }

  async #send(orderId: string, step: Step, actionId: string): Promise<void> {
    const stamp = { action_id: actionId, captured_at: new Date().toISOString() };
    for (;;) {
      const service = await this.#service.up();
      const answer = await this.#try(service, orderId, step, stamp).catch(() => null);
      if (answer === null || answer.status >= 500 || answer.status === 429) continue;
      if (answer.status !== 200) this.refused.push(`${step}: ${answer.status} ${answer.text}`);
      return;
    }
  }

  #try(service: Running, orderId: string, step: Step, stamp: Record<string, string>) {
    const path = `/driver/orders/${orderId}/${step}`;
    const key = this.driver.token;
    if (step !== 'deliver') {
      const reason = REASONS[step];
      return ask(service, path, { method: 'POST', key, body: { ...stamp, ...(reason ? { reason } : {}) } });
    }
    return ask(service, `${path}?${new URLSearchParams(stamp)}`, {
      method: 'POST',
      key,
      body: this.#photo,
      headers: { 'content-type': 'image/jpeg' },
    });
  }
}
