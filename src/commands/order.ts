import type { CliCommand } from '../cli/command.ts';
import { CommandError } from '../cli/context.ts';
import { Listed, type ListOptions, readNamed, readPageRequest, readSearch, withListOptions } from '../cli/list.ts';
import { leaveJobs } from '../cli/owed-jobs.ts';
import { type Confirmed, confirm, integer, known, oneOf, requireId, withYes } from '../cli/parts.ts';
import { withWatch } from '../cli/watch.ts';
import { CANCEL_REASONS, ORDER_STATUSES } from '../domain/order.ts';
import { DISPATCH_MODES } from '../domain/plan.ts';
import { tellDriver } from '../driver-app/push-command.ts';
import { MAX_PAYMENT_ATTEMPTS, MAX_PAYMENT_ATTEMPTS_EVER, MIN_PROMISE_MINUTES } from '../limits.ts';

/** Longest promise of a tier in minutes: a week. Above DEFAULT_PROMISE_MINUTES. */
const MAX_PROMISE_MINUTES = 7 * 24 * 60;

/** `order list|show|redispatch|cancel|return|charge` */
export function addOrderCommands(program: CliCommand): void {
  const order = program.command('order').description('orders');
  withListOptions(
    order
      .command('list')
      .description(
        'list orders: waiting longest, not handed over, charge refused in the last days, for later, then the newest',
      )
      .option('--store <store>', 'id, or a part of the name')
      .option('--driver <driver>', 'id, or a part of the name'),
    ORDER_STATUSES,
    'a part of the customer’s name, phone, e-mail or address; or the whole id or tracking token',
  ).runs(async (context, _args, options: ListOptions & { store?: string; driver?: string }) => {
    const search = readSearch(options, ORDER_STATUSES);
    const page = readPageRequest(options);
    const retailerIds = await readNamed(context, 'retailers', '--store', options.store);
    const driverIds = await readNamed(context, 'drivers', '--driver', options.driver);
    const wanted = { ...search, retailerIds, driverIds };
    return Listed.rows('orders', await context.store.listOrders(wanted, page, context.config.unpaidOrdersAllowed));
  });
  withWatch(order.command('show <order_id>'))
    .description('show everything on record about an order')
    .runs(async ({ store, config }, [id]) =>
      known(await store.showOrder(requireId(id), config.unpaidOrdersAllowed), 'order'),
    );
  order
    .command('redispatch <order_id>')
    .description('match a waiting order again now')
    .runs(async ({ store }, [id]) => {
      if (!(await store.nudgeOrder(requireId(id)))) throw new CommandError('No such order is waiting.');
      return { order_id: id, redispatch: 'asked' };
    });
  withYes(order.command('cancel <order_id>'))
    .description('cancel an order before its pickup; a charge is refunded')
    .option('--reason <code>', CANCEL_REASONS.join(', '), 'other')
    .runs(async (context, [id], { reason, ...confirmed }: Confirmed & { reason: string }) => {
      const { store } = context;
      const orderId = requireId(id);
      const because = oneOf('--reason', reason, CANCEL_REASONS);
      confirm(confirmed, 'This cancels the order for good; what was charged is given back.');
      const cancelled = await store.cancelOrder(orderId, 'operator', because);
      if (!cancelled) throw new CommandError('There is no such order before its pickup.');
      await leaveJobs(context, [cancelled]);
      await tellDriver(context, cancelled);
      return { order_id: id, status: cancelled.status };
    });
  withYes(order.command('return <order_id>'))
    .description('end an order after its pickup for its driver; the driver is free, no payout is owed')
    .runs(async (context, [id], confirmed: Confirmed) => {
      const { store } = context;
      const orderId = requireId(id);
      confirm(confirmed, 'This ends the order as returned, for good: nothing is paid out, and the fee stays.');
      const givenUp = await store.giveUpForDriver(orderId);
      const returned = await store.returnForDriver(orderId);
      await leaveJobs(context, [givenUp, returned]);
      if (!returned) throw new CommandError('There is no such order that was picked up and not handed over.');
      await tellDriver(context, returned);
      return { order_id: id, status: returned.status };
    });
  addCharge(order);
}

/** `order charge` */
function addCharge(order: CliCommand): void {
  withYes(order.command('charge <order_id>'))
    .description('try a failed charge again, on the card that its store has now')
    .runs(async (context, [id], confirmed: Confirmed) => {
      const orderId = requireId(id);
      confirm(confirmed, 'This charges the card of the store.');
      const which = { orderId };
      const [retried] = await context.store.retryCharges(which, MAX_PAYMENT_ATTEMPTS, MAX_PAYMENT_ATTEMPTS_EVER);
      if (!retried) throw new CommandError('There is no such order whose charge failed and is still owed.');
      await leaveJobs(context, [retried]);
      return { order_id: orderId, payment_status: 'processing' };
    });
}

const TIER_OPTIONS = {
  feeCents: ['--fee-cents <n>', 50, 1_000_000],
  payoutCents: ['--payout-cents <n>', 0, 1_000_000],
  radiusMeters: ['--radius-meters <n>', 1, 20_100_000],
  radiusGrowthMetersPerMinute: ['--radius-growth-meters-per-minute <n>', 0, 1_000_000],
  maxRadiusMeters: ['--max-radius-meters <n>', 1, 20_100_000],
  maxDistanceMeters: ['--max-distance-meters <n>', 1, 20_100_000],
  weight: ['--weight <n>', 1, 1000],
  maxWaitSeconds: ['--max-wait-seconds <n>', 1, 604_800],
  promiseMinutes: ['--promise-minutes <n>', MIN_PROMISE_MINUTES, MAX_PROMISE_MINUTES],
} as const;

/** `tier list|set` */
export function addTierCommands(program: CliCommand): void {
  const tier = program.command('tier').description('tiers: fees, radii, distances, weights and waits');
  tier
    .command('list')
    .description('list the tiers')
    .runs(async ({ store }) => [...(await store.loadTiers()).values()].map(toWire));
  const set = withYes(tier.command('set <tier>')).description(
    'change a tier; existing orders keep their fee, and when they expire',
  );
  for (const [flags] of Object.values(TIER_OPTIONS)) set.option(flags);
  set.option('--dispatch-mode <mode>', 'planned, or nearest: waiting orders go to whoever is free first');
  set.runs(async ({ store }, [id = ''], { yes, ...options }: Confirmed & Record<string, string>) => {
    const tiers = await store.loadTiers();
    const before = tiers.get(id);
    if (!before) throw new CommandError(`The tier is one of ${[...tiers.keys()].join(', ')}.`);
    const changes = {
      ...Object.fromEntries(
        Object.entries(TIER_OPTIONS)
          .filter(([name]) => options[name] !== undefined)
          .map(([name, [flags, min, max]]) => [name, integer(flags, options[name] ?? '', min, max)]),
      ),
      ...(options.dispatchMode === undefined
        ? {}
        : { dispatchMode: oneOf('--dispatch-mode', options.dispatchMode, DISPATCH_MODES) }),
    };
    if (Object.keys(changes).length === 0) throw new CommandError('Name what to change; see --help.');
    const after = { ...before, ...changes };
    if (after.maxRadiusMeters < after.radiusMeters) {
      throw new CommandError('--max-radius-meters must not be smaller than --radius-meters.');
    }
    if (after.payoutCents - after.feeCents > Math.max(0, before.payoutCents - before.feeCents)) {
      const loss = `its payout of ${after.payoutCents} cents is above its fee of ${after.feeCents} cents`;
      confirm({ yes }, `With this each order of the tier costs you money: ${loss}.`);
    }
    await store.setTier(id, changes);
    return toWire(known((await store.loadTiers()).get(id) ?? null, 'tier'));
  });
}

/** `stats` */
export function addStatsCommand(program: CliCommand): void {
  withWatch(program.command('stats'))
    .description('show figures of orders, deliveries, payments, texts, webhooks, drivers and queues')
    .runs(async ({ store, sandbox, config }) => ({
      mode: sandbox ? 'sandbox' : 'live',
      ...(await store.readStats(config.unpaidOrdersAllowed)),
      ...(await store.readDeliveryStats()),
      queues: (await store.readBacklog()).map(({ queue, owed, oldestSeconds, failed }) => ({
        queue,
        owed,
        oldest_seconds: Math.round(oldestSeconds),
        failed,
      })),
    }));
}

const toWire = (tier: object) =>
  Object.fromEntries(
    Object.entries(tier).map(([name, value]) => [name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), value]),
  );
