import { createServer, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type WebSocket, WebSocketServer } from 'ws';
import { SERVICE_RESTARTS } from '../../src/domain/restart.ts';
import { driverPageRoutes } from '../../src/driver-app/page.ts';
import type { Reply } from '../../src/transport/route.ts';
import type { ActionKind, DriverOrder, Stop, ToldState } from '../../src/web/driver/state.ts';
import { listen } from '../harness/listen.ts';
import { gate, replyOf } from '../http/support.ts';
import { builtAssets } from './built-assets.ts';

const STATUS_AFTER: Record<ActionKind, string> = {
  'pick-up': 'picked_up',
  deliver: 'delivered',
  release: 'pending_dispatch',
  undeliverable: 'undeliverable',
  return: 'returned',
};
const ENDED = new Set(['delivered', 'pending_dispatch', 'returned']);

type State = ToldState & Required<Pick<ToldState, 'orders'>> & { readonly version?: string };

/** The store of the fake's orders. */
export const STORE = { lat: 37.76415, lng: -122.41957 };
/** A degree of latitude is about 111 km. */
export const north = (meters: number) => ({ lat: STORE.lat + meters / 111_195, lng: STORE.lng });

/** An order of the fake's store for a customer of this name. */
export function orderFor(name: string, changes: Partial<DriverOrder> = {}): DriverOrder {
  return {
    id: `01a20380-4f66-7979-af29-${Buffer.from(name.padEnd(6)).subarray(0, 6).toString('hex')}`,
    status: 'driver_assigned',
    sequence: 3,
    delivery_tier: 'standard',
    driver_payout_cents: 550,
    store_name: 'Mission Street Market',
    deliver_by: null,
    items: [{ name: 'Floor lamp', quantity: 1 }],
    pickup: { address: '2000 Mission St, San Francisco, CA 94110', ...STORE, instructions: null },
    dropoff: {
      name,
      phone: '+14155550123',
      line1: '401 Valencia St',
      line2: 'Apt 4',
      city: 'San Francisco',
      state: 'CA',
      zip: '94103',
      instructions: 'Code 1234',
      leave_at_door: true,
    },
    ...changes,
  };
}

/** The stops of orders of one store: one pickup, then each door. */
export function stopsOf(orders: readonly DriverOrder[], doorMeters = 900): Stop[] {
  return [
    { kind: 'pickup', ...STORE, order_ids: orders.map(({ id }) => id) },
    ...orders.map(({ id }, index) => ({
      kind: 'dropoff' as const,
      ...north(doorMeters * (index + 1)),
      order_ids: [id],
    })),
  ];
}

/**
 * The driver's page over a service that says what the test wants, of any number of orders. It takes every
 * action on an order that it has, and 404s the others.
 */
export async function serveDriver() {
  const assets = builtAssets();
  const page = driverPageRoutes({ assets, sandbox: true, publicUrl: null });
  const sockets = new Set<WebSocket>();
  const actions: string[] = [];
  const heard: string[] = [];
  const duties: object[] = [];
  const hellos: { readonly since_ms: number; readonly connection: number }[] = [];
  let held: Promise<void> | null = null;
  let refusal: object | null = null;
  let state: State = { on_duty: true, orders: [], stops: [] };
  let day = { deliveries: 0, returns: 0, earnings_cents: 0, held_cents: 0 };
  const json = (status: number, body: object): Reply => ({
    status,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  const push = () => {
    for (const socket of sockets) socket.send(JSON.stringify({ type: 'state', ...state }));
  };

  function act(orderId: string, kind: ActionKind): Reply {
    const order = state.orders.find(({ id }) => id === orderId);
    if (refusal) return json(409, { success: false, message: 'In English.', error: refusal });
    if (!order) return json(404, { success: false, message: 'There is no such order.', error: { code: 'not_found' } });
    actions.push(`${kind} ${order.dropoff.name ?? order.dropoff.line1}`);
    const after = { ...order, status: STATUS_AFTER[kind], sequence: order.sequence + 1 };
    const orders = state.orders.flatMap((each) => {
      if (each !== order) return [each];
      return ENDED.has(after.status) ? [] : [after];
    });
    state = { ...state, orders };
    setImmediate(push);
    return json(200, { success: true, order: { status: after.status, sequence: after.sequence } });
  }

  async function answer(request: IncomingMessage): Promise<Reply> {
    const [path = ''] = (request.url ?? '').split('?');
    const [, , area, id = '', kind = ''] = path.split('/');
    const body = await buffer(request);
    if (path.startsWith('/assets/')) {
      return assets.serve(path.slice('/assets/'.length), '') ?? { status: 404, body: '' };
    }
    if (area === 'orders' && kind) {
      heard.push(kind);
      await held;
      heard.push('answer');
      return act(id, kind as ActionKind);
    }
    if (area === 'orders') return json(200, { success: true, ...state });
    if (area === 'day') return json(200, { success: true, day });
    if (area === 'location') heard.push('position');
    if (area === 'location') return json(200, { success: true, taken: true });
    if (area === 'duty') {
      const duty = JSON.parse(body.toString()) as { on_duty: boolean; until?: string };
      duties.push(duty);
      state = { ...state, on_duty: duty.on_duty, on_duty_until: duty.until ?? null };
      setImmediate(push);
      return json(200, { success: true, on_duty: duty.on_duty });
    }
    return replyOf(page, path, '');
  }

  const server = createServer((request, response) => {
    void answer(request)
      .catch((): Reply => ({ status: 404, body: '' }))
      .then(({ status, headers = {}, body }) => response.writeHead(status, headers).end(body));
  });
  const upgrades = new WebSocketServer({ server, path: '/driver/live' });
  upgrades.on('connection', (socket) => {
    socket.on('close', () => sockets.delete(socket));
    socket.on('message', (text) => {
      const { type, ...said } = JSON.parse(String(text)) as { type: string } & (typeof hellos)[number];
      if (type === 'position') heard.push(type);
      if (type === 'ping') socket.send('{"type":"pong"}');
      if (type !== 'hello') return;
      hellos.push(said);
      sockets.add(socket);
      socket.send(JSON.stringify({ type: 'state', ...state }));
    });
  });
  const { url, close } = await listen(server);
  return {
    url,
    /** What the service has taken: the action, and whom the order is for. */
    actions,
    duties,
    /** Each hello that the page said. */
    hellos,
    /** What came of positions and actions, and each answer to an action, in this order. */
    heard,
    /** Lets the answers to actions wait until the function that it returns is called. */
    hold(): () => void {
      const { opened, open } = gate();
      held = opened;
      return open;
    },
    /** Tells the page another state. */
    tell(changes: Partial<State>) {
      state = { ...state, ...changes };
      push();
    },
    state: () => state,
    sockets: () => sockets.size,
    /** Closes every socket as a process that stops does. */
    restart(waitMs: number) {
      for (const socket of sockets) socket.close(SERVICE_RESTARTS, String(waitMs));
    },
    /** Refuses every action with this error, until it is null. */
    refuse(error: object | null) {
      refusal = error;
    },
    earn(next: typeof day) {
      day = next;
    },
    async close() {
      upgrades.close();
      await close();
    },
  };
}
