import { POSITION_BROADCAST_MS } from '../../../src/bus/positions.ts';
import { STORE_ADDRESS } from '../../harness/order-world.ts';
import { orderBody } from '../../harness/service.ts';
import { storeOf } from '../../harness/store.ts';
import { OVERSEAS_DROPOFF } from '../../harness/towns.ts';
import type { Random } from '../../harness/world.ts';
import { askUntilTaken, TOO_MANY } from '../phones.ts';
import { any } from '../row.ts';
import { later, type World } from '../world.ts';
import type { Model } from './model.ts';
import type { Answer } from './nouns.ts';
import type { System } from './system.ts';

const OPERATOR = 'faults';
/** Longer than the interval of the sweeps, which correct a notice that was read too early. */
const CONVERGE_MS = 20_000;

type Asked = {
  readonly method?: string;
  readonly secret: string;
  readonly body?: object | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
};
type Heard = { readonly status: number; readonly replayed: boolean; readonly body: Reply };
type Reply = {
  readonly message?: string;
  readonly order?: { readonly id?: string; readonly status?: string };
  readonly error?: { readonly code: string };
};

const notOverHttp = async (): Promise<never> => {
  throw new Error('this is no request');
};

/**
 * The built service over HTTP, each request at any of its API processes; the operator acts by the command
 * line's statements. Models of the sequences that ended well are kept for a comparison once nothing is
 * running any more.
 */
export function overHttp(
  world: World,
  random: Random,
  photo: Uint8Array,
): System & { readonly ended: Model[]; readonly convergedMs: number[] } {
  const { sql } = world;
  const ended: Model[] = [];
  const convergedMs: number[] = [];

  async function askAny(path: string, { secret, ...asked }: Asked): Promise<Heard> {
    // A driver may send so many requests a second.
    const url = `${any(world.apis, random).url()}${path}`;
    const sent = { method: 'POST', key: secret, body: {}, ...asked };
    const { status, headers, body } = await askUntilTaken(url, sent, TOO_MANY);
    return { status, replayed: headers.get('idempotent-replayed') === 'true', body: body as Reply };
  }

  const keyed = (key: string | null) => (key === null ? {} : { headers: { 'idempotency-key': key } });

  return {
    ended,
    convergedMs,
    isExact: false,
    convergeMs: CONVERGE_MS,
    converged: (ms) => void convergedMs.push(ms),
    async create({ retailerId, apiKey }, { tierId, key, body: says }) {
      const customer = { name: `Says ${says}`, email: 'jordan@example.com', phone: '+14155550100', sms_opt_in: false };
      const body = orderBody(retailerId, {
        customer,
        pickup_address: STORE_ADDRESS,
        dropoff_address: OVERSEAS_DROPOFF,
        delivery_tier: tierId,
      });
      const heard = await askAny('/orders/create', { secret: apiKey, body, ...keyed(key) });
      if (heard.status !== 201) return refusalOf(heard);
      const { id, status } = heard.body.order as { id: string; status: string };
      return { kind: heard.replayed ? 'replayed' : 'created', orderId: id, status };
    },
    async cancel({ apiKey }, orderId, reason, key) {
      const heard = await askAny(`/orders/${orderId}/cancel`, { secret: apiKey, body: { reason }, ...keyed(key) });
      if (heard.status !== 200) return refusalOf(heard);
      if (heard.replayed) return { kind: 'replayed' };
      return { kind: heard.body.message?.includes('before') ? 'already' : 'cancelled' };
    },
    cancelByOperator: async (orderId) =>
      (await storeOf(sql, OPERATOR).cancelOrder(orderId, 'operator', 'other')) !== null,
    async returnByOperator(orderId) {
      await storeOf(sql, OPERATOR).giveUpForDriver(orderId);
      return (await storeOf(sql, OPERATOR).returnForDriver(orderId)) !== null;
    },
    nudge: (orderId) => storeOf(sql, OPERATOR).nudgeOrder(orderId),
    async setDuty({ token }, onDuty) {
      const heard = await askAny('/driver/duty', { method: 'PUT', secret: token, body: { on_duty: onDuty } });
      return heard.status === 200 ? { kind: 'done' } : refusalOf(heard);
    },
    async move({ token }, { lat, lng }) {
      await askAny('/driver/location', { secret: token, body: { lat, lng } });
      // Until then another process may assign an order by the driver's last position.
      await later(3 * POSITION_BROADCAST_MS);
    },
    async step(step, { token }, orderId, actionId) {
      const stamp: Record<string, string> = actionId === null ? {} : { action_id: actionId };
      const reason = step === 'release' ? 'vehicle' : 'refused';
      const hasReason = step === 'release' || step === 'undeliverable';
      const isDelivery = step === 'deliver';
      const query = isDelivery && actionId !== null ? `?${new URLSearchParams(stamp)}` : '';
      const body = isDelivery ? photo : { ...stamp, ...(hasReason ? { reason } : {}) };
      const heard = await askAny(`/driver/orders/${orderId}/${step}${query}`, { secret: token, body });
      return heard.status === 200 ? { kind: 'done', status: heard.body.order?.status as string } : refusalOf(heard);
    },
    expire: notOverHttp,
    suspend: notOverHttp,
    deactivate: notOverHttp,
    sweep: notOverHttp,
    charge: notOverHttp,
    refund: notOverHttp,
    memoryDiffers: () => null,
    async conclude(model) {
      ended.push(model);
      return null;
    },
  };
}

/** A refusal in the model's words; an unknown one by its status and code. */
function refusalOf({ status, body: { error, message = '' } }: Heard): Answer {
  switch (error?.code) {
    case 'unauthorized':
    case 'not_found':
      return { kind: error.code };
    case 'idempotency_key_reused':
      return { kind: 'key_reused', orderId: /order (\S+),/.exec(message)?.[1] as string };
    case 'illegal_transition':
      return { kind: 'illegal', status: /order is (\w+)/.exec(message)?.[1] as string };
    default:
      return { kind: `${status} ${error?.code}` };
  }
}
