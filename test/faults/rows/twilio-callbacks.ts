import type { Random } from '../../harness/world.ts';
import { any } from '../row.ts';
import type { World } from '../world.ts';

/** The address under which the service's texts are signed; see `openWorld`. */
const SIGNED_ADDRESS = 'http://sameday.test';
/** Longest delay of a call, so that calls overtake each other. */
const DELAY_MS = 800;
/** Texts to phones that end in this digit do not arrive. */
const UNREACHED = '7';

/**
 * Texts of the load, of which Twilio tells what became of them, each call twice; some do not arrive. Further
 * phones answer STOP.
 */
export async function openTwilio({ twilio, sql, apis }: World, random: Random) {
  const stopped: string[] = [];
  twilio.orderCalls({
    times: 2,
    everyMs: 2,
    delayMs: () => random() * DELAY_MS,
    codeOf: ({ to }) => (to.endsWith(UNREACHED) ? 30003 : null),
    reach: (url) => url.replace(SIGNED_ADDRESS, any(apis, random).url()),
  });

  async function wrongTexts(): Promise<string[]> {
    const untold = await sql`
      select o.id, o.sms_status from orders o join customers c on c.id = o.customer_id
      where o.sms_status = 'sent' or (o.sms_status = 'delivered' and right(c.phone, 1) = ${UNREACHED})
        or (o.sms_status = 'undelivered' and right(c.phone, 1) <> ${UNREACHED})`;
    const twice = await sql`
      select distinct order_id from order_events where type in ('sms_delivered', 'sms_undelivered', 'sms_sent')
      group by order_id, type having count(*) > 1`;
    return [
      ...untold.map(
        ({ id, sms_status }) => `callback: the text of order ${id} is ${sms_status}, and Twilio told otherwise`,
      ),
      ...twice.map(({ order_id }) => `callback: what became of the text of order ${order_id} is there twice`),
    ];
  }

  async function lostStops(): Promise<string[]> {
    const [kept] = await sql`
      select count(*)::int as n from text_opt_outs where opted_out and phone_hash in (
        select encode(sha256(convert_to(phone, 'UTF8')), 'hex') from unnest(${stopped}::text[]) as stopped(phone))`;
    const lost = stopped.length - (kept?.n ?? 0);
    return lost === 0 ? [] : [`callback: ${lost} of ${stopped.length} phones that answered STOP are not on the list`];
  }

  return {
    async act() {
      const phone = `+1212555${1_000 + stopped.length}`;
      if (twilio.receive({ from: phone, body: 'STOP' })) stopped.push(phone);
    },
    finish: () => undefined,
    deliveries: () => twilio.calls(),
    broken: async () => [...(await wrongTexts()), ...(await lostStops())],
  };
}
