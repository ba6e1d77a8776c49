import { html } from '../pages/html.ts';
import type { StandInReply, StandInRequest } from './stand-in.ts';
import {
  type Customer,
  customerBody,
  type Session,
  sessionBody,
  sessionOf,
  setupIntentBody,
} from './stripe-objects.ts';
import type { StripeRecords } from './stripe-records.ts';
import { checkSession, invalid, metadataOf, missing } from './stripe-requests.ts';
import { TEST_CARDS } from './test-cards.ts';

/**
 * Customers, and Checkout's pages in setup mode: where a person gives a card, here one of TEST_CARDS. Each is
 * taken; what its bank says to charges is in its name.
 */
export class StripeCards {
  readonly #records: StripeRecords;
  readonly #baseUrl: () => string;

  constructor(records: StripeRecords, baseUrl: () => string) {
    this.#records = records;
    this.#baseUrl = baseUrl;
  }

  /** The answer to a request with a key; undefined where it is about something else. */
  answer(request: StandInRequest): StandInReply | undefined {
    const { method, path } = request;
    if (method === 'POST' && path === '/v1/customers') return this.#createCustomer(request);
    if (method === 'POST' && path === '/v1/checkout/sessions') return this.#createSession(request);
    const [, setupIntent] = /^\/v1\/setup_intents\/(seti_\w+)$/.exec(path) ?? [];
    if (method !== 'GET' || !setupIntent) return undefined;
    const session = this.#records.find('session', sessionOf(setupIntent));
    if (!session) return missing(404, 'setupintent', setupIntent, 'intent');
    const isDetached = this.#records.find('detached', session.paymentMethod ?? '') !== undefined;
    return { status: 200, body: setupIntentBody(session, isDetached) };
  }

  /** The answer to a browser; undefined for an address without a page. */
  page({ method, path, body }: StandInRequest): StandInReply | undefined {
    const [, id] = /^\/c\/pay\/(cs_test_\w+)$/.exec(path) ?? [];
    const session = id ? this.#records.find('session', id) : undefined;
    if (!session) return undefined;
    if (session.paymentMethod) return seeOther(session.successUrl);
    if (method !== 'POST') return { status: 200, body: cardPage(path) };
    const chosen = new URLSearchParams(body).get('card') ?? '';
    if (chosen === 'none') return seeOther(session.cancelUrl);
    if (!Object.hasOwn(TEST_CARDS, chosen)) return { status: 400, body: cardPage(path) };
    this.#give(session, chosen as keyof typeof TEST_CARDS);
    return seeOther(session.successUrl);
  }

  reply(entry: Customer | Session): StandInReply {
    if (entry.type === 'session') return { status: 200, body: sessionBody(entry, this.#baseUrl()) };
    return { status: 200, body: customerBody(entry) };
  }

  #give(session: Session, card: keyof typeof TEST_CARDS): void {
    const name = TEST_CARDS[card].paymentMethod.replace('pm_card_', 'pm_sandbox_');
    const given = { ...session, paymentMethod: this.#records.newId(name) };
    this.#records.write(given);
    this.#records.events.tell('checkout.session.completed', () => sessionBody(given, this.#baseUrl()));
  }

  #createCustomer(request: StandInRequest): StandInReply {
    const form = new URLSearchParams(request.body);
    return this.reply(
      this.#records.write({
        type: 'customer',
        id: this.#records.newId('cus'),
        ...this.#records.marksOf(request),
        name: form.get('name'),
        metadata: metadataOf(form),
        created: this.#records.seconds(),
      }),
    );
  }

  #createSession(request: StandInRequest): StandInReply {
    const form = new URLSearchParams(request.body);
    const wrong = checkSession(form);
    if (wrong) return wrong;
    if (![form.get('success_url'), form.get('cancel_url')].every((url) => /^https?:\/\//.test(url ?? ''))) {
      return invalid('Not a valid URL', 'url_invalid', 'success_url');
    }
    return this.reply(
      this.#records.write({
        type: 'session',
        id: this.#records.newId('cs_test'),
        ...this.#records.marksOf(request),
        customer: form.get('customer') as string,
        metadata: metadataOf(form),
        successUrl: form.get('success_url') as string,
        cancelUrl: form.get('cancel_url') as string,
        created: this.#records.seconds(),
      }),
    );
  }
}

const seeOther = (url: string): StandInReply => ({ status: 303, headers: { Location: url }, body: '' });

const WORDS: Readonly<Record<keyof typeof TEST_CARDS, string>> = {
  ok: 'A card that pays',
  declined: 'A card whose bank declines each charge',
  'needs-auth': 'A card whose bank asks for its holder',
};

function cardPage(path: string): string {
  const cards = Object.entries(WORDS).map(
    ([card, words]) => html`<p><button name="card" value="${card}">${words}</button></p>`,
  );
  return html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Give a card</title></head>
<body>
<h1>Give a card</h1>
<p>This stands in for Stripe’s page, in the sandbox. No card is real.</p>
<form method="post" action="${path}">
${cards}
<p><button name="card" value="none">Give none</button></p>
</form>
</body>
</html>
`.text;
}
