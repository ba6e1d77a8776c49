import { SCENARIO_PHONES } from '../domain/scenario.ts';
import { readOptOut } from '../texts/twilio-calls.ts';
import { type Ledger, openLedger } from './ledger.ts';
import {
  type CallCounts,
  LatestRecords,
  type StandIn,
  type StandInReply,
  type StandInRequest,
  startStandIn,
  type VendorApi,
} from './stand-in.ts';
import { loopbackOnly, type Reach, TwilioCalls } from './twilio-calls.ts';
import {
  type Answer,
  credentials,
  endOf,
  inboundForm,
  isCallback,
  type Message,
  messageBody,
  messagesPage,
  newSid,
  numbersBody,
  readAnswer,
  refusal,
  statusForm,
} from './twilio-forms.ts';

/** Time from a text to the news that its phone has it, at the stand-in for Twilio. */
const STAND_IN_DELIVERS_MS = 300;

/** Twilio names the number itself, which `{to}` stands for. */
const NO_PHONE = "The 'To' number {to} is not a valid phone number.";
/** Twilio's magic numbers, to which a text fails as it can to real numbers. */
const REFUSED: Readonly<Record<string, readonly [code: number, message: string]>> = {
  '+15005550001': [21211, NO_PHONE],
  '+15005550002': [21612, 'The number cannot be reached from this sender.'],
  '+15005550003': [21408, 'Permission to send an SMS has not been enabled for the region.'],
  '+15005550004': [21610, 'The recipient has unsubscribed.'],
  '+15005550009': [21614, 'The number cannot receive SMS.'],
};

/** Twilio's magic senders, which fail as real numbers can. */
const REFUSED_SENDERS: Readonly<Record<string, readonly [code: number, message: string]>> = {
  '+15005550001': [21212, "The 'From' number is not a valid phone number."],
  '+15005550007': [21606, "The 'From' phone number is not owned by the account or sends no SMS."],
  '+15005550008': [21611, "The queue of the 'From' number is full."],
};

const PATH = /^\/2010-04-01\/Accounts\/(AC\w+)\/(?:SMS\/)?(Messages|IncomingPhoneNumbers|ShortCodes)\.json$/;

/** A phone that a text does not reach, which turns out after Twilio took it. */
const UNREACHED: Readonly<Record<string, number>> = { [SCENARIO_PHONES.undelivered]: 30003 };
/** A phone for which Twilio only fails. */
const UNANSWERED: string = SCENARIO_PHONES.unknown_outcome;

/** How the stand-in calls back, for tests. */
export type CallOrder = {
  /** Times that each call is made. */
  readonly times?: number;
  /** What is told before the end; `sent` by default. Twilio may tell `queued` and `sending`, too. */
  readonly stages?: readonly string[];
  /** Twilio's code for a text that does not reach its phone; null for one that does. */
  readonly codeOf?: (text: { readonly to: string; readonly body: string }) => number | null;
  /** Where the calls lead from now on. */
  readonly reach?: Reach;
  /** Time by which a call is made later, so that calls overtake each other. */
  readonly delayMs?: () => number;
  /** Interval of the calls; STAND_IN_CALL_MS by default. */
  readonly everyMs?: number;
};

export type TwilioStandIn = StandIn & {
  orderCalls(order: CallOrder): void;
  /**
   * Passes a customer's message on to the service, the same as `POST /_control/inbound` in JSON. From STOP on texts to
   * that phone are refused, until START.
   *
   * @returns false where no text has named the address of the service
   */
  receive(answer: Answer): boolean;
  calls(): CallCounts;
};

type Options = {
  ledgerFile: string;
  port?: number;
  authToken?: string;
  /** Most messages that it remembers; MAX_STAND_IN_RECORDS by default. */
  maxRecords?: number;
  reach?: Reach;
};

/**
 * Starts the part of Twilio's API that this service uses, with its record in `ledgerFile`: create a message,
 * list messages by `To` and `DateSent>`. Creating is not idempotent, as at Twilio, so no failure repeats. Nobody is
 * texted.
 * `authToken` is the only token that is accepted; without it any token is. What becomes of a message goes to
 * its `StatusCallback`, where `reach` leads. Faults and ledger: see stand-in.ts.
 */
export async function startTwilioStandIn(options: Options): Promise<TwilioStandIn> {
  const api = new TwilioApi(options);
  const standIn = await startStandIn(api, options.port);
  return {
    ...standIn,
    orderCalls: (order) => api.orderCalls(order),
    receive: (answer) => api.receive(answer),
    calls: () => api.calls(),
  };
}

/** Whole seconds that Twilio takes. */
const isValidity = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 36_000;

/** The account has every number but those that Twilio refuses as senders. */
function numbersOf({ query }: StandInRequest, accountSid: string, list: string): StandInReply {
  const number = query.get('PhoneNumber') ?? query.get('ShortCode');
  const numbers = number === null || number in REFUSED_SENDERS ? [] : [number];
  return { status: 200, body: numbersBody(list, numbers, accountSid, Date.now()) };
}

class TwilioApi implements VendorApi {
  readonly #ledger: Ledger<Message>;
  readonly #messages: LatestRecords<Message>;
  readonly #authToken: string | undefined;
  readonly #calls: TwilioCalls;
  /** What became of messages that did not arrive, by their sid. */
  readonly #codes = new LatestRecords<number>();
  /** Phones that answered STOP. */
  readonly #stopped = new LatestRecords<true>();
  #order: CallOrder = {};
  /** Of the last message with a callback: where the service is, and how it is spoken to. */
  #service: { readonly origin: string; readonly token: string; readonly message: Message } | undefined;

  constructor({ ledgerFile, authToken, maxRecords, reach }: Options) {
    this.#calls = new TwilioCalls(reach ?? loopbackOnly);
    this.#messages = new LatestRecords(maxRecords);
    this.#ledger = openLedger<Message>(ledgerFile, (message) => this.#messages.set(message.sid, message));
    this.#authToken = authToken;
  }

  async answer(request: StandInRequest, pause: () => Promise<void>): Promise<StandInReply> {
    await pause();
    const [, accountSid, list] = PATH.exec(request.path) ?? [];
    if (!accountSid || !list) return refusal(404, 20404, 'The requested resource was not found');
    if (!this.#isAuthentic(request, accountSid)) return refusal(401, 20003, 'Authenticate');
    if (list !== 'Messages') return numbersOf(request, accountSid, list);
    if (request.method === 'POST') return this.#create(request, accountSid);
    if (request.method === 'GET') return this.#list(request, accountSid);
    return refusal(405, 20004, 'Method not allowed');
  }

  failure(status: number): StandInReply {
    if (status === 429) return refusal(429, 20429, 'Too Many Requests');
    return refusal(status, 20500, 'An internal server error has occurred');
  }

  entries(): readonly Message[] {
    return [...this.#messages.values()];
  }

  close(): void {
    this.#calls.close();
    this.#ledger.close();
  }

  orderCalls(order: CallOrder): void {
    this.#order = { ...this.#order, ...order };
    this.#calls.order(order);
  }

  calls(): CallCounts {
    return this.#calls.counts();
  }

  control({ method, path, body }: StandInRequest): StandInReply | null {
    if (method !== 'POST' || path !== '/_control/inbound') return null;
    const answer = readAnswer(body);
    if (!answer) return { status: 400, body: { message: 'not a message' } };
    return { status: this.receive(answer) ? 200 : 409, body: { received: answer.body } };
  }

  receive(answer: Answer): boolean {
    if (!this.#service) return false;
    const { origin, token, message } = this.#service;
    const form = inboundForm(message, answer, newSid());
    const wish = readOptOut(form);
    if (wish?.optedOut) this.#stopped.set(answer.from, true);
    else if (wish) this.#stopped.delete(answer.from);
    this.#call(`${origin}/twilio/inbound`, form, token, 0);
    return true;
  }

  /** The news of a message: sent, and what its phone says. */
  #tell(message: Message, url: string, token: string): void {
    const { origin } = URL.canParse(url) ? new URL(url) : { origin: '' };
    this.#service = { origin, token, message };
    const code = this.#codeOf(message);
    const end = endOf(code);
    const stages = end === 'failed' ? [] : (this.#order.stages ?? ['sent']);
    for (const stage of stages) this.#call(url, statusForm(message, stage, null), token, 0);
    this.#call(url, statusForm(message, end, code), token, STAND_IN_DELIVERS_MS);
  }

  readonly #codeOf = ({ sid }: Message): number | null => this.#codes.get(sid) ?? null;

  #call(url: string, form: Readonly<Record<string, string>>, token: string, afterMs: number): void {
    for (let n = 0; n < (this.#order.times ?? 1); n++) {
      this.#calls.add(url, form, token, afterMs + (this.#order.delayMs?.() ?? 0));
    }
  }

  #isAuthentic(request: StandInRequest, accountSid: string): boolean {
    const { user, password } = credentials(request);
    if (user !== accountSid || password === '') return false;
    return this.#authToken === undefined || password === this.#authToken;
  }

  #create(request: StandInRequest, accountSid: string): StandInReply {
    const form = new URLSearchParams(request.body);
    const to = form.get('To') ?? '';
    const from = form.get('From') ?? '';
    const body = form.get('Body') ?? '';
    if (to === '') return refusal(400, 21604, "A 'To' phone number is required.");
    if (from === '') return refusal(400, 21603, "A 'From' phone number is required.");
    if (!/^(\+[1-9]\d{6,14}|\d{3,8})$/.test(from))
      return refusal(400, 21212, "The 'From' number is not a valid number.");
    if (body === '') return refusal(400, 21602, 'Message body is required.');
    if (body.length > 1_600) return refusal(400, 21617, 'The concatenated message body exceeds 1600 characters.');
    const refused = REFUSED_SENDERS[from] ?? REFUSED[to];
    if (refused) return refusal(400, refused[0], refused[1].replace('{to}', to));
    const validity = form.get('ValidityPeriod');
    if (validity !== null && !isValidity(validity)) return refusal(400, 21330, 'The ValidityPeriod is out of range.');
    const statusCallback = form.get('StatusCallback');
    if (statusCallback && !isCallback(statusCallback))
      return refusal(400, 21609, 'The StatusCallback URL is not valid.');
    if (to === UNANSWERED) return this.failure(503);
    if (this.#stopped.has(to)) return refusal(400, 21610, 'The recipient has unsubscribed.');
    if (!/^\+[1-9]\d{6,14}$/.test(to)) return refusal(400, 21211, NO_PHONE.replace('{to}', to));
    const message: Message = {
      sid: newSid(),
      accountSid,
      to,
      from,
      body,
      atMs: Date.now(),
      ...(validity === null ? {} : { validityPeriod: Number(validity) }),
    };
    this.#ledger.append(message);
    this.#messages.set(message.sid, message);
    const code = this.#order.codeOf?.(message) ?? UNREACHED[to] ?? null;
    if (code !== null) this.#codes.set(message.sid, code);
    if (statusCallback) this.#tell(message, statusCallback, credentials(request).password);
    return { status: 201, body: { ...messageBody(message, null), status: 'queued', date_sent: null } };
  }

  #list(request: StandInRequest, accountSid: string): StandInReply {
    const { query } = request;
    const to = query.get('To');
    const since = Date.parse(query.get('DateSent>') ?? '');
    const messages = this.entries()
      .filter((message) => message.accountSid === accountSid)
      .filter((message) => to === null || message.to === to)
      .filter((message) => Number.isNaN(since) || message.atMs >= since)
      .reverse();
    return { status: 200, body: messagesPage(messages, this.#codeOf, request) };
  }
}
