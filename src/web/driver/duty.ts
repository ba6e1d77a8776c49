import type { Answer, Duty } from './api.ts';
import { nowMs } from './clock.ts';
import { retryPauseMs } from './lane.ts';

export type DutyParts = {
  /** Keeps since when the driver wants to be off duty, in ms since 1970, for the next page. */
  readonly kept: { offDutySinceMs(): number | null; keepOffDutySince(ms: number | null): void };
  setDuty(duty: Duty): Promise<Answer<unknown>>;
  /** Whether the service counts this phone as the driver's. */
  isLive(): boolean;
  /** The service confirmed the wish. */
  taken(duty: Duty): void;
  /** The service does not take the wish, so that the driver's duty stays what it is. */
  dropped(): void;
  signedOut(): void;
};

/**
 * Age from which a wish is old: six hours. The driver may work with another phone by then, so that an old one to go
 * off duty waits until this phone is theirs. An old one to go on duty is dropped, as they may have gone home.
 */
const WISH_MS = 6 * 3_600_000;

/**
 * The duty that the driver wants and the service has not confirmed; only the last wish counts. What cannot be
 * sent is tried again with growing pauses.
 */
export class DutyWish {
  readonly #parts: DutyParts;
  readonly #random: () => number;
  #wanted: Duty | null;
  #sinceMs: number;
  #failures = 0;
  #sending = false;
  #stopped = false;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(parts: DutyParts, random: () => number = Math.random) {
    this.#parts = parts;
    this.#random = random;
    const sinceMs = parts.kept.offDutySinceMs();
    this.#wanted = sinceMs === null ? null : { onDuty: false, until: null };
    this.#sinceMs = sinceMs ?? 0;
  }

  get wanted(): boolean | null {
    return this.#wanted?.onDuty ?? null;
  }

  want(duty: Duty): void {
    this.#wanted = duty;
    this.#sinceMs = nowMs();
    this.#parts.kept.keepOffDutySince(duty.onDuty ? null : this.#sinceMs);
    this.send();
  }

  /** Sends the wish now, if there is one, and resets the pauses. */
  send(): void {
    this.#failures = 0;
    this.#go();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#retry);
  }

  #go(): void {
    if (this.#sending || this.#stopped || this.#wanted === null) return;
    const isOld = nowMs() - this.#sinceMs > WISH_MS;
    if (isOld && this.#wanted.onDuty) this.#drop();
    else if (!isOld || this.#parts.isLive()) void this.#send(this.#wanted);
  }

  async #send(wanted: Duty): Promise<void> {
    clearTimeout(this.#retry);
    this.#sending = true;
    const answer = await this.#parts.setDuty(wanted);
    this.#sending = false;
    if (this.#stopped) return;
    if (answer.kind === 'signed_out') this.#parts.signedOut();
    else if (answer.kind === 'failed') this.#goLater();
    // The driver may have changed the wish meanwhile.
    else if (this.#wanted !== wanted) this.send();
    else if (answer.kind === 'refused') this.#refused(wanted);
    else this.#confirmed(wanted);
  }

  #goLater(): void {
    this.#retry = setTimeout(() => this.#go(), retryPauseMs(this.#failures, this.#random()));
    this.#failures += 1;
  }

  /** An end that is refused is over before the wish was sent, or the phone's clock is wrong. */
  #refused({ onDuty, until }: Duty): void {
    if (until !== null && Date.parse(until) > nowMs()) {
      this.#wanted = { onDuty, until: null };
      this.send();
      return;
    }
    this.#drop();
  }

  #drop(): void {
    this.#forget();
    this.#parts.dropped();
  }

  #confirmed(duty: Duty): void {
    this.#forget();
    this.#parts.taken(duty);
  }

  #forget(): void {
    this.#wanted = null;
    this.#parts.kept.keepOffDutySince(null);
  }
}
