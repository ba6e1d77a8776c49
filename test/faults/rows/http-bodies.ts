import type { Random } from '../../harness/world.ts';
import { mutatedOrder } from '../mutations.ts';
import { asText, type Expected, type Judgement, judge } from '../order-rules.ts';
import { any, endedOnes, inWorld, type Row, type RowResult } from '../row.ts';
import { type Answer, jsonPost, KeptConnection, residentMegabytes } from '../wire.ts';
import { later, type World } from '../world.ts';

/** Few drivers, so that most orders wait, and enough stores that no queue is full. */
const SIZES = { drivers: 40, stores: 30, apis: 1, workers: 1 };
const CONNECTIONS = 64;
/** Requests that warm a process up before its memory is measured. */
const WARM_UP = 0.2;
/** Waiting orders are kept in memory; the rest is garbage not yet collected. */
const KILOBYTES_PER_ORDER = 2;
const SLACK_MEGABYTES = 100;
const PAGE = 5_000;
const NO_ID = '00000000-0000-0000-0000-000000000000';

const CODES: Readonly<Record<number, readonly string[]>> = {
  400: ['malformed_json', 'invalid_request'],
  401: ['unauthorized'],
  413: ['payload_too_large'],
};

type Run = { readonly taken: Map<string, Expected>; readonly problems: string[] };

export const mutatedBodies: Row = {
  name: 'mutated-bodies',
  what: 'a body of an order that is mutated in its values, its structure or its bytes',
  count: 200_000,
  run: (count, random) => {
    const act = async (world: World): Promise<RowResult> => {
      const run: Run = { taken: new Map(), problems: [] };
      const pid = world.apis[0]?.pid() as number;
      // The orders go to San Francisco.
      await world.sql`update retailers set lat = 37.76415, lng = -122.41957`;
      const warmUp = Math.round(count * WARM_UP);
      await postMany(world, warmUp, random, run);
      const [beforeMegabytes, ordersBefore] = [residentMegabytes(pid), run.taken.size];
      const startedMs = performance.now();
      await postMany(world, count - warmUp, random, run);
      const seconds = (performance.now() - startedMs) / 1_000;
      await later(2_000);
      const grownMegabytes = residentMegabytes(pid) - beforeMegabytes;
      const allowed = SLACK_MEGABYTES + ((run.taken.size - ordersBefore) * KILOBYTES_PER_ORDER) / 1_024;
      if (grownMegabytes > allowed) run.problems.push(`memory: the API process grew by ${grownMegabytes.toFixed()} MB`);
      run.problems.push(...(await compareTables(world, run.taken)));
      if (!(await world.untilDone())) run.problems.push('jobs: some are still owed');
      const notes = [
        `${Math.round((count - warmUp) / seconds)} bodies a second, ${run.taken.size} of them orders`,
        `the API process held ${beforeMegabytes.toFixed()} MB after ${warmUp} bodies and ${grownMegabytes.toFixed()} MB more in the end`,
      ];
      return { count, orders: run.taken.size, findings: run.problems, notes };
    };
    return inWorld(SIZES, act, endedOnes);
  },
};

async function postMany(world: World, count: number, random: Random, run: Run): Promise<void> {
  let left = count;
  async function work(): Promise<void> {
    const connection = new KeptConnection(world.apis[0]?.url() as string);
    while (left > 0) {
      left--;
      const store = any(world.stores, random);
      const body = mutatedOrder(store.id, random);
      const answer = await connection.ask(jsonPost('/orders/create', store.apiKey, body));
      const problem = compare(judge(body, store.id), answer, run);
      if (problem !== null) run.problems.push(`answer: ${problem}, for ${body.subarray(0, 600).toString('latin1')}`);
    }
    connection.close();
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
}

/** What is wrong with an answer, or null; records the order that it names. */
function compare(judged: Judgement, answer: Answer | null, { taken }: Run): string | null {
  if (!answer) return 'the connection ended without one';
  const { status } = answer;
  const isOpen = judged.open.size > 0 && status === 400;
  if (status !== judged.status && !(isOpen && judged.status === 201)) return `${status} instead of ${judged.status}`;
  const body = JSON.parse(answer.body) as Record<string, unknown>;
  if (status !== 201) return compareRefusal(status, body, judged);
  const { id } = (body.order ?? {}) as { id?: string };
  if (id === undefined || taken.has(id)) return 'a 201 that names no order of its own';
  taken.set(id, judged.expected as Expected);
  return null;
}

function compareRefusal(status: number, body: Record<string, unknown>, { bad, open }: Judgement): string | null {
  const error = (body.error ?? {}) as {
    code?: string;
    retryable?: unknown;
    fields?: { field: string; message: string }[];
  };
  const hasForm =
    body.success === false &&
    typeof body.message === 'string' &&
    typeof body.request_id === 'string' &&
    error.retryable === false &&
    CODES[status]?.includes(error.code ?? '');
  if (!hasForm || !Array.isArray(error.fields)) return `an error of another form, ${JSON.stringify(body)}`;
  const named = error.fields.map(({ field }) => field);
  const isRight = named.every((field) => bad.has(field) || open.has(field)) && [...bad].every((f) => named.includes(f));
  return isRight ? null : `it names ${named} and not ${[...bad]}`;
}

/** Every order answered with 201 is in the tables as sent, and no other is. */
async function compareTables({ sql }: World, taken: ReadonlyMap<string, Expected>): Promise<string[]> {
  const problems: string[] = [];
  let found = 0;
  for (let last = NO_ID; ; ) {
    const rows = await sql<(Expected & { readonly id: string })[]>`
      select o.id, o.retailer_id as retailer, c.name, c.email, c.phone, c.sms_opt_in as "smsOptIn", o.pickup_address as pickup,
        d.line1, d.line2, d.city, d.state, d.zip, o.delivery_tier as tier
      from orders o join customers c on c.id = o.customer_id join dropoff_addresses d on d.id = o.dropoff_address_id
      where o.status <> 'void' and o.id > ${last} order by o.id limit ${PAGE}`;
    for (const row of rows) {
      const expected = taken.get(row.id);
      if (!expected) problems.push(`tables: order ${row.id} was never acknowledged`);
      else if (asText(expected) !== asText(row)) problems.push(`tables: ${asText(row)} instead of ${asText(expected)}`);
    }
    found += rows.length;
    const end = rows.at(-1);
    if (!end) break;
    last = end.id;
  }
  if (found !== taken.size) problems.push(`tables: ${found} orders, ${taken.size} were acknowledged`);
  return problems;
}
