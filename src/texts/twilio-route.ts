import type { OrderEvents } from '../dispatch/order-events.ts';
import { ServiceError } from '../domain/errors.ts';
import { asAvailable } from '../http/outcomes.ts';
import { atMost, MAX_UNAUTHENTICATED_BODY_BYTES } from '../limits.ts';
import type { Store } from '../store/store.ts';
import type { Reply, RequestHead, Route } from '../transport/route.ts';
import {
  isSignatureForm,
  isSignedByTwilio,
  readOptOut,
  readStatus,
  readTwilioForm,
  TWILIO_INBOUND_PATH,
  TWILIO_STATUS_PATH,
  type TwilioForm,
} from './twilio-calls.ts';

/**
 * Largest callback of Twilio in bytes. A text of 1,600 characters, each escaped as nine, has 15 KB. At most
 * MAX_UNAUTHENTICATED_BODY_BYTES, as its sender is known only by its last byte.
 */
export const MAX_TWILIO_CALL_BYTES = 24 * 1024;

atMost({ MAX_TWILIO_CALL_BYTES }, { MAX_UNAUTHENTICATED_BODY_BYTES });

type Parts = {
  /** With which Twilio signs. */
  readonly authToken: string;
  /** The addresses of this service under which Twilio may know it, without a slash at the end. */
  readonly addressesOf: (head: RequestHead) => readonly string[];
  readonly store: Pick<Store, 'recordTextReport' | 'setOptOut'>;
  readonly events: Pick<OrderEvents, 'detailsChanged'>;
  /** Told whether carriers take texts of the sending number. */
  readonly senderSeen: (works: boolean) => Promise<unknown>;
  /** Counts each call by its type and what became of it. */
  readonly observe: (vendor: 'twilio', type: CallType, outcome: CallOutcome | 'unsigned' | 'failed') => void;
};

type CallType = 'status' | 'inbound';
/** What became of a signed call: of one that came twice or late nothing, and `ignored` is of no concern here. */
type CallOutcome = 'done' | 'unchanged' | 'ignored';
type Act = (query: URLSearchParams, form: TwilioForm) => Promise<CallOutcome>;

/**
 * `POST /twilio/status`: what became of a text. `POST /twilio/inbound`: a customer's answer, of which STOP and
 * START count. Both answer with nothing to say to the customer.
 */
export function twilioRoutes(parts: Parts): Route<string>[] {
  const { store, events } = parts;
  return [
    signedRoute(parts, TWILIO_STATUS_PATH, 'status', async (query, form) => {
      const report = readStatus(query, form);
      if (!report) return 'ignored';
      if (report.status === 'delivered' || report.status === 'sender_refused')
        await parts.senderSeen(report.status === 'delivered');
      if (!(await store.recordTextReport(report))) return 'unchanged';
      events.detailsChanged(report.orderId);
      return 'done';
    }),
    signedRoute(parts, TWILIO_INBOUND_PATH, 'inbound', async (_query, form) => {
      const wish = readOptOut(form);
      if (!wish) return 'ignored';
      return (await store.setOptOut(wish.phone, wish.optedOut, wish.sid)) ? 'done' : 'unchanged';
    }),
  ];
}

const EMPTY: Reply = {
  status: 200,
  headers: { 'Content-Type': 'text/xml; charset=utf-8' },
  body: '<?xml version="1.0" encoding="UTF-8"?><Response></Response>',
};

/** A route for calls that Twilio signed. Without a signature its body is not taken. */
function signedRoute(parts: Parts, pattern: string, type: CallType, act: Act): Route<string> {
  function refuse(): never {
    parts.observe('twilio', type, 'unsigned');
    throw new ServiceError('unauthorized', 'This address is for Twilio, whose calls are signed.');
  }
  return {
    method: 'post',
    pattern,
    authenticate(head) {
      const signature = head.header('x-twilio-signature');
      return isSignatureForm(signature) ? signature : refuse();
    },
    body: { contentTypes: ['application/x-www-form-urlencoded'], maxBytes: MAX_TWILIO_CALL_BYTES },
    async handle({ head, principal: signature, body }) {
      const form = readTwilioForm(body);
      const search = head.query.size > 0 ? `?${head.query}` : '';
      const urls = parts.addressesOf(head).map((address) => `${address}${head.path}${search}`);
      if (!form || !isSignedByTwilio(parts.authToken, signature, urls, form)) return refuse();
      let outcome: CallOutcome | 'failed' = 'failed';
      try {
        outcome = await asAvailable(act(head.query, form));
      } finally {
        parts.observe('twilio', type, outcome);
      }
      return EMPTY;
    },
  };
}
