import type { Answer } from './driver-api.ts';
import { kept } from './driver-store.ts';

/** Pause before a failed change of duty is sent again. */
const RETRY_MS = 3_000;

/** The duty that the driver wants and the service has not confirmed; only the last wish counts. */
export class DutyWish {
  readonly #setDuty: (onDuty: boolean) => Promise<Answer<unknown>>;
  readonly #taken: (onDuty: boolean) => void;
  readonly #signedOut: () => void;
  #wanted: boolean | null = kept.wantsOffDuty() ? false : null;
  #sending = false;
  #stopped = false;
  #retry: number | undefined;

  constructor(
    setDuty: (onDuty: boolean) => Promise<Answer<unknown>>,
    taken: (onDuty: boolean) => void,
    signedOut: () => void,
  ) {
    this.#setDuty = setDuty;
    this.#taken = taken;
    this.#signedOut = signedOut;
  }

  get wanted(): boolean | null {
    return this.#wanted;
  }

  want(onDuty: boolean): void {
    this.#wanted = onDuty;
    kept.keepWantedDuty(onDuty);
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

  async #send(wanted: boolean): Promise<void> {
    clearTimeout(this.#retry);
    this.#sending = true;
    const answer = await this.#setDuty(wanted);
    this.#sending = false;
    if (this.#stopped) return;
    if (answer.kind === 'signed_out') this.#signedOut();
    else if (answer.kind === 'failed') this.#retry = window.setTimeout(() => this.send(), RETRY_MS);
    // The driver may have changed the wish meanwhile.
    else if (this.#wanted !== wanted) this.send();
    else this.#confirmed(wanted);
  }

  #confirmed(onDuty: boolean): void {
    this.#wanted = null;
    kept.keepWantedDuty(null);
    this.#taken(onDuty);
  }
}
