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
} from './driver-state.ts';
import { type DriverStore, kept } from './driver-store.ts';

export type SessionListener = {
  /** Something that is shown is different. */
  changed(): void;
  newOrder(order: DriverOrder): void;
  /** The driver does not have the order any more, and not because of anything done here. */
  orderLost(order: DriverOrder): void;
  refused(action: Action, message: string): void;
  /** The token is not good any more. */
  signedOut(): void;
  notKept(): void;
};

/** The last order that was brought to an end here, and how. */
export type Finished = { readonly kind: ActionKind; readonly orderId: string };

/** One signed-in driver: what the service says, what the driver did, and how the two come together. */
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
  /** The order of an action that was refused: the driver has been told why, and is not told twice that it is gone. */
  #refusedId: string | null = null;
  #problem: PositionProblem | null = null;
  #positionToldMs: number | null = null;
  #finished: Finished | null = null;
  #stopped = false;

  /** @param state what the service or, without network, the phone's memory says at the start */
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
  /** What the service says, or what the driver wants and the service has not answered yet. */
  get onDuty(): boolean {
    return this.#duty.wanted ?? this.#state?.on_duty ?? false;
  }
  get dutyWaits(): boolean {
    return this.#duty.wanted !== null;
  }
  get problem(): PositionProblem | null {
    return this.#problem;
  }
  /** What the service has confirmed last of what ends an order; null as soon as there is another one. */
  get finished(): Finished | null {
    return this.#finished;
  }
  /** When the last position was told, by `performance.now()`. */
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

  /** Lets go of everything; what was not sent is kept. */
  stop(): void {
    this.#stopped = true;
    this.#link.stop();
    this.#queue.stop();
    this.#position.stop();
    this.#duty.stop();
  }

  /** The network may be back, or the driver looks at the page again. */
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

  /** Something the driver did with the order that is shown. */
  act(kind: ActionKind, detail: { readonly reason?: string; readonly photo?: ArrayBuffer } = {}): Promise<void> {
    const { order } = this.shown;
    if (!order) return Promise.resolve();
    return this.#queue.add({
      id: newActionId(),
      orderId: order.id,
      kind,
      reason: detail.reason ?? null,
      capturedAt: new Date().toISOString(),
      photo: detail.photo ?? null,
    });
  }

  /** Forgets what was not sent. */
  discard(): Promise<void> {
    return this.#queue.clear();
  }

  /** Asks over HTTP, for when the socket does not tell; what that tells meanwhile is newer. */
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
    const order = notBefore(told.order, this.#progress);
    this.#state = { on_duty: told.on_duty, order };
    kept.keepState(this.#state);
    this.#followPosition();
    if (before && before.id !== order?.id && !this.#endedHere(before.id)) this.#listener.orderLost(before);
    if (order) this.#finished = null;
    if (order && order.id !== before?.id) this.#listener.newOrder(order);
    if (order?.id === this.#refusedId) this.#refusedId = null;
    this.#listener.changed();
  }

  /** The end of an order was this phone's doing, or the answer to what it did says what became of it. */
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

  /** The driver goes on elsewhere. What was done here is still sent: nobody else knows of it. */
  #standAside(): void {
    this.#position.stop();
    this.#duty.stop();
  }

  /** The position is watched on duty and while an order is carried, and never otherwise. */
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
