import { type Answer, DriverApi, type Report } from './driver-api.ts';
import { DutyWish } from './driver-duty.ts';
import { DriverLink, type LinkState } from './driver-link.ts';
import { newActionId } from './driver-phone.ts';
import { type PositionProblem, PositionWatch } from './driver-position.ts';
import { ActionQueue } from './driver-queue.ts';
import {
  type Action,
  type ActionKind,
  type DriverOrder,
  type DriverState,
  isCarried,
  notBefore,
  type Progress,
  type Shown,
  withActions,
  withKnownCustomer,
  withoutCustomer,
} from './driver-state.ts';
import { type DriverStore, kept } from './driver-store.ts';

export type SessionListener = {
  /** Something on the screen changed. */
  changed(): void;
  newOrder(order: DriverOrder): void;
  /** The driver lost the order, and not by an action on this phone. */
  orderLost(order: DriverOrder): void;
  refused(action: Action, message: string): void;
  /** The token is no longer valid. */
  signedOut(): void;
  notKept(): void;
};

/** The last order that ended on this phone, and how. */
export type Finished = { readonly kind: ActionKind; readonly orderId: string };

/** One signed-in driver: merges what the service says with what the driver did. */
export class Session {
  readonly #api: DriverApi;
  readonly #link: DriverLink;
  readonly #queue: ActionQueue;
  readonly #position: PositionWatch;
  readonly #duty: DutyWish;
  readonly #listener: SessionListener;
  #state: DriverState | null;
  #linkState: LinkState = 'connecting';
  #progress: Progress | null = null;
  /** The order of a refused action: the driver knows why, and is not told again that the order is gone. */
  #refusedId: string | null = null;
  #problem: PositionProblem | null = null;
  #positionToldMs: number | null = null;
  #finished: Finished | null = null;
  #stopped = false;

  /** @param state from the service or, without a network, from the phone's storage */
  constructor(token: string, state: DriverState | null, store: DriverStore, listener: SessionListener) {
    this.#listener = listener;
    this.#state = state;
    this.#api = new DriverApi(token);
    this.#link = new DriverLink(token, {
      told: (told) => this.#take(told),
      state: (linkState) => this.#linkChanged(linkState),
      refused: () => void this.refresh(),
      blocked: () => void this.refresh(),
    });
    this.#queue = new ActionQueue(store, (action, signal) => this.#api.act(action, signal), {
      changed: () => listener.changed(),
      done: (action, progress) => this.#answered(action, progress),
      refused: (action, message) => this.#refused(action, message),
      signedOut: () => listener.signedOut(),
      notKept: () => listener.notKept(),
    });
    this.#duty = new DutyWish(
      (onDuty) => this.#api.setDuty(onDuty),
      (onDuty) => this.#take({ on_duty: onDuty, order: this.#state?.order ?? null }),
      () => listener.signedOut(),
    );
    this.#position = new PositionWatch({
      position: (report) => this.#report(report),
      problem: (problem) => this.#positionProblem(problem),
    });
  }

  get linkState(): LinkState {
    return this.#linkState;
  }
  get waiting(): readonly Action[] {
    return this.#queue.waiting;
  }
  get shown(): Shown {
    return withActions(this.#state?.order ?? null, this.#queue.waiting);
  }
  /** The duty that the driver wants, or else the one that the service states. */
  get onDuty(): boolean {
    return this.#duty.wanted ?? this.#state?.on_duty ?? false;
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
  /** When the last position was reported, by `performance.now()`. */
  get positionToldMs(): number | null {
    return this.#positionToldMs;
  }

  async start(): Promise<void> {
    await this.#queue.start();
    if (this.#stopped) return;
    this.#link.start();
    this.#followPosition();
    this.#duty.send();
  }

  /** Stops everything; unsent actions are kept. */
  stop(): void {
    this.#stopped = true;
    this.#link.stop();
    this.#queue.stop();
    this.#position.stop();
    this.#duty.stop();
  }

  /** Tries at once: the network may be back, or the page is visible again. */
  wake(): void {
    if (this.#stopped) return;
    this.#link.resume();
    this.#queue.wake();
    this.#position.ask();
    this.#duty.send();
  }

  wentOffline(): void {
    this.#queue.interrupt();
    this.#link.wentOffline();
  }

  setDuty(onDuty: boolean): void {
    this.#duty.want(onDuty);
    this.#followPosition();
    this.#listener.changed();
  }

  /** Queues an action on the order that is shown. */
  act(kind: ActionKind, detail: { readonly reason?: string; readonly photo?: ArrayBuffer } = {}): Promise<void> {
    const { order } = this.shown;
    if (!order) return Promise.resolve();
    const stored = this.#queue.add({
      id: newActionId(),
      orderId: order.id,
      kind,
      reason: detail.reason ?? null,
      capturedAt: new Date().toISOString(),
      photo: detail.photo ?? null,
    });
    this.#keep();
    return stored;
  }

  /** Keeps the state for the next page; the customer only while the driver has their order on this phone. */
  #keep(): void {
    if (!this.#state) return;
    const isOver = this.#replaced || this.shown.ended !== null;
    kept.keepState(isOver ? withoutCustomer(this.#state) : this.#state);
  }

  /** Drops unsent actions. */
  discard(): Promise<void> {
    return this.#queue.clear();
  }

  /** Reads the state over HTTP, for when the socket is silent; a state from the socket meanwhile is newer. */
  async refresh(): Promise<void> {
    if (this.#replaced) return;
    const answer = await this.#api.state();
    if (this.#heard(answer) && !this.#link.live) this.#take(answer.value);
  }

  #heard<Value>(answer: Answer<Value>): answer is { kind: 'ok'; value: Value } {
    if (this.#stopped) return false;
    if (answer.kind === 'signed_out') this.#listener.signedOut();
    return answer.kind === 'ok';
  }

  #take(told: DriverState): void {
    const before = this.#state?.order ?? null;
    const order = withKnownCustomer(notBefore(told.order, this.#progress), before);
    this.#state = { on_duty: told.on_duty, order };
    this.#keep();
    this.#followPosition();
    if (before && before.id !== order?.id && !this.#endedHere(before.id)) this.#listener.orderLost(before);
    if (order) this.#finished = null;
    if (order && order.id !== before?.id) this.#listener.newOrder(order);
    if (order?.id === this.#refusedId) this.#refusedId = null;
    this.#listener.changed();
  }

  /** Whether an order ended by an action on this phone, or by the answer to one. */
  #endedHere(orderId: string): boolean {
    const { orderId: answeredId, status = '' } = this.#progress ?? {};
    if (orderId === this.#refusedId || (orderId === answeredId && !isCarried(status))) return true;
    return this.#queue.waiting.some((action) => action.orderId === orderId);
  }

  #answered({ kind, orderId }: Action, progress: Progress): void {
    this.#progress = progress;
    if (this.#replaced) return;
    if (this.#state) this.#take(this.#state);
    if (!isCarried(progress.status)) this.#finished = { kind, orderId };
    if (!this.#link.live) void this.refresh();
  }

  #refused(action: Action, message: string): void {
    this.#refusedId = action.orderId;
    this.#keep();
    this.#listener.refused(action, message);
    if (!this.#link.live) void this.refresh();
  }

  #linkChanged(linkState: LinkState): void {
    this.#linkState = linkState;
    if (linkState === 'live') {
      this.#queue.wake();
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
    this.#keep();
  }

  /** Watches the position on duty and while an order is carried, and never otherwise. */
  #followPosition(): void {
    if (this.#stopped || this.#replaced) return;
    if (window.isSecureContext && (this.onDuty || this.shown.order)) this.#position.start();
    else {
      this.#position.stop();
      this.#positionToldMs = null;
      this.#problem = null;
    }
  }

  #report(report: Report): void {
    if (this.#link.report(report)) this.#reported();
    else if (navigator.onLine) void this.#api.report(report).then((taken) => taken && this.#reported());
  }

  #reported(): void {
    this.#positionToldMs = performance.now();
    this.#listener.changed();
  }

  #positionProblem(problem: PositionProblem | null): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#listener.changed();
  }
}
