import { type Answer, DriverApi, type Duty, type Report } from './api.ts';
import { nowMs } from './clock.ts';
import { DutyWish } from './duty.ts';
import { DriverLink, type LinkState } from './link.ts';
import { Orders, type OrdersListener } from './orders.ts';
import { newActionId } from './phone.ts';
import { fitPhoto } from './photo.ts';
import { type PositionProblem, PositionWatch } from './position.ts';
import { ActionQueue } from './queue.ts';
import type { Choice, Fix } from './route.ts';
import {
  type Action,
  type ActionKind,
  type Day,
  type DriverState,
  isCarried,
  type Progress,
  stateOf,
  type WaitPlace,
} from './state.ts';
import { type DriverStore, kept } from './store.ts';

export type SessionListener = OrdersListener & {
  /** Something on the screen changed. */
  changed(): void;
  /** The token is no longer valid. */
  signedOut(): void;
};

/** The last order that ended on this phone, and how. */
export type Finished = { readonly kind: ActionKind; readonly orderId: string };

/** The phone's last position that was sent. */
export type SentFix = { readonly fix: Fix; readonly takenMs: number };

/** Longest time for which a phone that is heard again tells no position, until what was done before is sent. */
const CATCH_UP_MS = 10_000;

/** One signed-in driver: merges what the service says with what the driver did. */
export class Session {
  /** What the driver did and the service has not answered. */
  readonly queue: ActionQueue;
  /** What the driver carries. */
  readonly orders: Orders;
  readonly token: string;
  readonly #api: DriverApi;
  readonly #link: DriverLink;
  readonly #position: PositionWatch;
  readonly #duty: DutyWish;
  readonly #listener: SessionListener;
  #linkState: LinkState = 'connecting';
  #problem: PositionProblem | null = null;
  #sentFix: SentFix | null = null;
  #finished: Finished | null = null;
  #day: Day | null = null;
  /** When the service heard this phone again; not yet while it does not, whether the phone knows that or not. */
  #heardFromMs = Number.POSITIVE_INFINITY;
  #stopped = false;

  /** @param state from the service or, without a network, from the phone's storage */
  constructor(token: string, state: DriverState | null, store: DriverStore, listener: SessionListener) {
    this.token = token;
    this.#listener = listener;
    this.#api = new DriverApi(token);
    this.#link = new DriverLink(token, {
      told: (told) => this.#take(told),
      state: (linkState) => this.#linkChanged(linkState),
      refused: () => void this.refresh(),
      blocked: () => void this.refresh(),
    });
    const sending = { send: this.#api.act.bind(this.#api), shrink: fitPhoto };
    const queued = {
      changed: () => listener.changed(),
      done: (action: Action, progress: Progress) => this.#answered(action, progress),
      refused: (action: Action) => this.#refused(action),
      signedOut: () => listener.signedOut(),
    };
    this.queue = new ActionQueue(store, sending, queued, state?.driver_id ?? null);
    this.orders = new Orders(state, this.queue, listener);
    this.#duty = new DutyWish({
      kept,
      setDuty: (duty) => this.#api.setDuty(duty),
      isLive: () => this.#link.live,
      taken: ({ onDuty, until }) =>
        this.#take({ ...this.orders.state, on_duty: onDuty, on_duty_until: until, wait_at: null }),
      dropped: () => this.#take(this.orders.state),
      signedOut: () => listener.signedOut(),
    });
    this.#position = new PositionWatch({
      position: (report, fix, takenMs) => this.#report(report, { fix, takenMs }),
      problem: (problem) => this.#positionProblem(problem),
    });
  }

  get linkState(): LinkState {
    return this.#linkState;
  }
  /** The duty that the driver wants, or else the one that the service states. */
  get onDuty(): boolean {
    return this.#duty.wanted ?? this.orders.state.on_duty;
  }
  /** Where the driver is asked to wait for an order; null where they are not, or want to go off duty. */
  get waitAt(): WaitPlace | null {
    return this.onDuty ? this.orders.state.wait_at : null;
  }
  get dutyWaits(): boolean {
    return this.#duty.wanted !== null;
  }
  get problem(): PositionProblem | null {
    return this.#problem;
  }
  /** The last end of an order that the service confirmed; null once there is another order. */
  get finished(): Finished | null {
    return this.#finished;
  }
  get sentFix(): SentFix | null {
    return this.#sentFix;
  }
  /** What the driver did today; null where the service did not say. */
  get day(): Day | null {
    return this.#day;
  }

  async start(): Promise<void> {
    await this.queue.start();
    if (this.#stopped) return;
    this.#link.start();
    this.#followPosition();
    this.#duty.send();
    void this.readDay();
  }

  /** Stops everything; unsent actions are kept. */
  stop(): void {
    this.#stopped = true;
    this.#link.stop();
    this.queue.stop();
    this.#position.stop();
    this.#duty.stop();
  }

  /** Tries at once: the network may be back, or the page is visible again. */
  wake(): void {
    if (this.#stopped) return;
    // A hidden page was silent. Where no socket is open, it is not heard again yet.
    this.#heardFromMs = this.#link.live ? performance.now() : Number.POSITIVE_INFINITY;
    this.#link.resume();
    this.queue.wake();
    this.#position.ask();
    this.#duty.send();
    void this.readDay();
  }

  wentOffline(): void {
    this.#heardFromMs = Number.POSITIVE_INFINITY;
    this.queue.interrupt();
    this.#link.wentOffline();
  }

  setDuty(duty: Duty): void {
    // The service forgets the end with the duty. One that it has not heard of yet is the one that is known here.
    if (duty.onDuty) kept.keepEndOfDuty(duty.until);
    else if (!this.dutyWaits) kept.keepEndOfDuty(this.orders.state.on_duty_until);
    this.#duty.want(duty);
    this.#followPosition();
    this.#listener.changed();
  }

  /** Takes orders again after the last one, until the time that the driver said before, where that is still ahead. */
  takeMore(): void {
    const until = kept.endOfDuty();
    this.setDuty({ onDuty: true, until: Date.parse(until ?? '') > nowMs() ? until : null });
  }

  /** Notes that the driver is at a door, so that their route stays what it is until the handover is over. */
  arrive(orderId: string): void {
    this.orders.arrive(orderId);
    this.#listener.changed();
  }

  /** The driver is not at the door after all. */
  leaveDoor(): void {
    this.orders.leaveDoor();
    this.#listener.changed();
  }

  /** Makes a stop the next one. */
  choose(choice: Choice): void {
    this.orders.choose(choice);
    this.#listener.changed();
  }

  /** Queues an action on each of these orders. */
  async act(
    kind: ActionKind,
    orderIds: readonly string[],
    detail: { readonly reason?: string; readonly photo?: ArrayBuffer | null } = {},
  ): Promise<void> {
    const capturedAt = new Date(nowMs()).toISOString();
    const { reason = null, photo = null } = detail;
    const { orders } = this.orders.shown;
    const stored = orderIds.map((orderId) => {
      const storeName = orders.find(({ id }) => id === orderId)?.store_name ?? null;
      return this.queue.add({ id: newActionId(), orderId, storeName, kind, reason, capturedAt, photo });
    });
    this.orders.acted(orderIds);
    await Promise.all(stored);
  }

  /** Reads the state over HTTP, for when the socket is silent; a state from the socket meanwhile is newer. */
  async refresh(): Promise<void> {
    if (this.#replaced) return;
    const answer = await this.#api.state();
    if (this.#heard(answer) && !this.#link.live) this.#take(stateOf(answer.value));
  }

  /** Reads what the driver did today. A service of before does not say. */
  async readDay(): Promise<void> {
    const answer = await this.#api.day();
    if (answer.kind !== 'ok' || this.#stopped) return;
    this.#day = answer.value.day;
    this.#listener.changed();
  }

  #heard<Value>(answer: Answer<Value>): answer is { kind: 'ok'; value: Value } {
    if (this.#stopped) return false;
    if (answer.kind === 'signed_out') this.#listener.signedOut();
    // Where no socket opens, only this tells.
    if (answer.kind === 'failed' && !this.#link.live) this.#heardFromMs = Number.POSITIVE_INFINITY;
    if (answer.kind === 'ok' && this.#heardFromMs === Number.POSITIVE_INFINITY) {
      this.#heardFromMs = performance.now();
      this.queue.wake();
    }
    return answer.kind === 'ok';
  }

  #take(told: DriverState): void {
    this.queue.isOf(told.driver_id);
    this.orders.take(told);
    this.#followPosition();
    if (this.orders.state.orders.length > 0) this.#finished = null;
    this.#listener.changed();
  }

  #answered({ kind, orderId }: Action, progress: Progress): void {
    this.orders.answered(progress);
    if (this.#replaced) return;
    this.#position.ask();
    this.#take(this.orders.state);
    if (!isCarried(progress.status)) {
      this.#finished = { kind, orderId };
      void this.readDay();
    }
    if (!this.#link.live) void this.refresh();
  }

  #refused(action: Action): void {
    this.orders.refused(action);
    if (!this.#link.live) void this.refresh();
  }

  #linkChanged(linkState: LinkState): void {
    if (this.#linkState === 'live') this.#heardFromMs = Number.POSITIVE_INFINITY;
    this.#linkState = linkState;
    if (linkState === 'live') {
      this.#heardFromMs = performance.now();
      this.queue.wake();
      this.#position.ask();
      this.#duty.send();
    }
    if (linkState === 'replaced') this.#standAside();
    this.#listener.changed();
  }

  get #replaced(): boolean {
    return this.#linkState === 'replaced';
  }

  /**
   * The driver goes on with another phone. Actions on this one are still sent, as no one else knows of them.
   */
  #standAside(): void {
    this.#position.stop();
    this.#duty.stop();
    this.orders.standAside();
  }

  /** Watches the position on duty and while an order is carried, and never otherwise. */
  #followPosition(): void {
    if (this.#stopped || this.#replaced) return;
    if (window.isSecureContext && (this.onDuty || this.orders.shown.orders.length > 0)) this.#position.start();
    else {
      this.#position.stop();
      this.#sentFix = null;
      this.#problem = null;
    }
  }

  /**
   * Whoever was silent may have lost an order that they fetched meanwhile. It is theirs again once the service hears
   * of that, as long as they have room: so it hears that first, and of their position, which brings new orders, then.
   */
  get #isCatchingUp(): boolean {
    const owes = this.queue.waiting.some(({ photo }) => photo === null);
    return owes && performance.now() - this.#heardFromMs < CATCH_UP_MS;
  }

  #report(report: Report, sent: SentFix): void {
    if (this.#isCatchingUp) return;
    if (this.#link.report(report)) this.#reported(sent);
    else if (navigator.onLine) void this.#api.report(report).then((taken) => taken && this.#reported(sent));
  }

  #reported(sent: SentFix): void {
    this.#sentFix = sent;
    this.#listener.changed();
  }

  #positionProblem(problem: PositionProblem | null): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#listener.changed();
  }
}
