import type { Answer, Duty } from './api.ts';
import { nowMs } from './clock.ts';
import { kept } from './store.ts';

/** Pause before a failed change of duty is sent again. */
const RETRY_MS = 3_000;

/** The duty that the driver wants and the service has not confirmed; only the last wish counts. */
export class DutyWish {
  readonly #setDuty: (duty: Duty) => Promise<Answer<unknown>>;
  readonly #taken: (duty: Duty) => void;
  readonly #signedOut: () => void;
  #wanted: Duty | null = kept.wantsOffDuty() ? { onDuty: false, until: null } : null;
  #sending = false;
  #stopped = false;
  #retry: number | undefined;

  constructor(setDuty: (duty: Duty) => Promise<Answer<unknown>>, taken: (duty: Duty) => void, signedOut: () => void) {
    this.#setDuty = setDuty;
    this.#taken = taken;
    this.#signedOut = signedOut;
  }

  get wanted(): boolean | null {
    return this.#wanted?.onDuty ?? null;
  }

  want(duty: Duty): void {
    this.#wanted = duty;
    kept.keepWantedDuty(duty.onDuty);
    this.send();
  }

  /** Sends the wish now, if there is one. */
  send(): void {
    if (!this.#sending && !this.#stopped && this.#wanted !== null) void this.#send(this.#wanted);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#retry);
  }

  async #send(wanted: Duty): Promise<void> {
    clearTimeout(this.#retry);
    this.#sending = true;
    const answer = await this.#setDuty(wanted);
    this.#sending = false;
    if (this.#stopped) return;
    if (answer.kind === 'signed_out') this.#signedOut();
    else if (answer.kind === 'refused' && wanted.until !== null) this.#withoutEnd(wanted, wanted.until);
    else if (answer.kind !== 'ok') this.#retry = window.setTimeout(() => this.send(), RETRY_MS);
    // The driver may have changed the wish meanwhile.
    else if (this.#wanted !== wanted) this.send();
    else this.#confirmed(wanted);
  }

  /** The service does not take this end: it is over before the wish was sent, or the phone's clock is wrong. */
  #withoutEnd(refused: Duty, until: string): void {
    const isOver = Date.parse(until) <= nowMs();
    if (this.#wanted === refused) this.#wanted = isOver ? null : { ...refused, until: null };
    this.send();
  }

  #confirmed(duty: Duty): void {
    this.#wanted = null;
    kept.keepWantedDuty(null);
    this.#taken(duty);
  }
}
