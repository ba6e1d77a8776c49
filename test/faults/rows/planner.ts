import type { Random } from '../../harness/world.ts';
import { type Assignment, plannerOf, untilPlanned, watchAssigners, wrongAssigners } from '../assigners.ts';
import { most, spreadDrivers, tellingDelays, underPlanned } from '../planned.ts';
import { any, inWorld, type Row, type RowResult } from '../row.ts';
import { later, type Process, type World } from '../world.ts';

/** Enough drivers that none of these orders waits for one. */
const TWO = { drivers: 90, stores: 3, env: { LOG_LEVEL: 'info' } };
const ORDERS_PER_SECOND = 6;
/** The promise, of a planner that dies or stands still. */
const TAKEN_OVER_MS = 5_000;
/** The promise, from the signal by which a planner is told to stop. */
const HANDED_OVER_MS = 1_000;
/** The default outside the sandbox: longer than HANDED_OVER_MS, so that the right is left before the process ends. */
const STOP_NOTICE_SECONDS = '2';
/** Time from the takeover to the next order that is due, and to the assignment. */
const NEXT_ORDER_MS = 2_000;
/** Longer than a right to plan holds, and than others take to plan. */
const PAUSED_MS = 6_000;
const WARM_UP_MS = 3_000;
const PAUSE_MS = 2_000;

export const plannerKilled: Row = {
  name: 'planner-killed',
  what: 'the API process that plans is killed, stands still for 6 s, or is told to stop, while planned orders are due',
  count: 30,
  needs: ['redis'],
  run: takeAway,
};

function takeAway(count: number, random: Random): Promise<RowResult> {
  return inWorld({ ...TWO, env: { ...TWO.env, STOP_NOTICE_SECONDS } }, async (world) => {
    const recoveries: number[] = [];
    const handedOver: number[] = [];
    const nexts: number[] = [];
    const { orders, findings, told } = await whilePlanned(world, random, async (assignments) => {
      const found: string[] = [];
      for (let i = 0; i < count; i++) {
        await later(PAUSE_MS * (1 + random()));
        const { epoch } = await untilPlanned(world);
        const planner = await plannerOf(world, epoch);
        const { fault, withinMs } = FAULTS[i % FAULTS.length] as PlannerFault;
        const endRound = await fault(planner, world);
        const gone = await takenOver(world, assignments, epoch);
        recoveries.push(gone.tookMs);
        if (fault === stop) handedOver.push(gone.tookMs);
        nexts.push(gone.nextMs);
        found.push(...lateTakeovers(gone, withinMs), ...(await endRound()));
      }
      return found;
    });
    const notes = [
      `the next planned order was assigned ${most(nexts)} ms after the fault at most; ${told}`,
      `where the planner was told to stop, another planned ${most(handedOver)} ms later at most`,
    ];
    return { count, orders, findings, recoveries, notes };
  });
}

/** Does something while planned orders come, and looks at who assigned them. */
async function whilePlanned(
  world: World,
  random: Random,
  act: (assignments: readonly Assignment[]) => Promise<string[]>,
): Promise<Pick<RowResult, 'orders' | 'findings'> & { readonly told: string }> {
  await spreadDrivers(world);
  const { assignments } = await watchAssigners(world);
  const { orders, findings } = await underPlanned(world, ORDERS_PER_SECOND, random, async () => {
    await later(WARM_UP_MS);
    return act(assignments);
  });
  const delay = `a driver was told at most ${most(await tellingDelays(world))} ms later than they had to leave`;
  const told = `${delay}; ${assignments.length} assignments`;
  return { orders, findings: [...findings, ...wrongAssigners(assignments)], told };
}

type PlannerFault = {
  /** Returns what brings the process back, which resolves with what it did wrong. */
  readonly fault: (planner: Process, world: World) => Promise<() => Promise<string[]>>;
  /** Longest time from the fault until another process plans. */
  readonly withinMs: number;
};

const FAULTS: readonly PlannerFault[] = [
  { fault: kill, withinMs: TAKEN_OVER_MS },
  { fault: pause, withinMs: TAKEN_OVER_MS },
  { fault: stop, withinMs: HANDED_OVER_MS },
];

const BELIEVES = new URL('../../test/faults/believes.mjs', import.meta.url).href;
/** Longer than a right to plan holds, so that another process has it and the first one plans on. */
const BOTH_PLAN_MS = 8_000;

export const plannerTwo: Row = {
  name: 'planner-two',
  what: 'two API processes believe that they may plan: the right is taken from one, or one never asks again',
  count: 20,
  needs: ['redis'],
  run: (count, random) =>
    inWorld(TWO, async (world) => {
      let refused = 0;
      const { orders, findings, told } = await whilePlanned(world, random, async () => {
        for (let i = 0; i < count; i++) {
          await later(PAUSE_MS * random());
          if (i % 2 === 0) refused += await believe(world, any(world.apis, random));
          else await raiseEpoch(world);
        }
        const nothing = 'row: no command of a process without the right was refused, so nothing was tested';
        return refused === 0 ? [nothing] : [];
      });
      return { count, orders, findings, notes: [`${refused} commands were refused; ${told}`] };
    }),
};

/** The one that plans learns of it when it asks again, up to a second later, or when a command is refused. */
async function raiseEpoch(world: World): Promise<void> {
  const { epoch } = await untilPlanned(world);
  await world.sql`update planner_leases set epoch = epoch + 1, holder = 'nobody', expires_at = now()`;
  await untilPlanned(world, epoch + 1);
}

/** Starts a process again as one that plans for ever once it may; returns how many of its commands were refused. */
async function believe(world: World, api: Process): Promise<number> {
  await api.stop();
  await api.start({ NODE_OPTIONS: `--import=${BELIEVES}` });
  while (!api.output().includes('this process plans')) {
    const { epoch } = await untilPlanned(world);
    // It asks far more often than the others. An assignment that began just before is refused, too: its `now()` is
    // older than that of this statement.
    await world.sql`update planner_leases set holder = 'nobody', expires_at = '-infinity'`;
    await untilPlanned(world, epoch);
  }
  await later(BOTH_PLAN_MS);
  const refused = api.output().match(/a command was refused/g)?.length ?? 0;
  await api.stop();
  await api.start();
  return refused;
}

async function kill(planner: Process): Promise<() => Promise<string[]>> {
  await planner.kill();
  return async () => {
    await planner.start();
    return [];
  };
}

/** It does not know that it stood still, and goes on where it was. */
async function pause(planner: Process, { untilReady }: World): Promise<() => Promise<string[]>> {
  const pid = planner.pid();
  process.kill(pid, 'SIGSTOP');
  const goesOn = later(PAUSED_MS).then(() => process.kill(pid, 'SIGCONT'));
  return async () => {
    await goesOn;
    await untilReady([planner]);
    return [];
  };
}

/** Its end is not awaited: the time of the promise is from the signal, in the midst of the notice. */
async function stop(planner: Process): Promise<() => Promise<string[]>> {
  const stopped = planner.stop();
  return async () => {
    const code = await stopped;
    await planner.start();
    return code === 0 ? [] : [`planner: one that was told to stop ended with ${code}`];
  };
}

type Takeover = { readonly tookMs: number; readonly nextMs: number };

/** Waits until another process plans, and until it has assigned an order. */
async function takenOver(world: World, assignments: readonly Assignment[], epoch: number): Promise<Takeover> {
  const startedMs = performance.now();
  const after = await untilPlanned(world, epoch);
  const tookMs = performance.now() - startedMs;
  while (!assignments.some((each) => each.epoch >= after.epoch)) {
    if (performance.now() - startedMs > 4 * TAKEN_OVER_MS) break;
    await later(10);
  }
  return { tookMs, nextMs: performance.now() - startedMs };
}

function lateTakeovers({ tookMs, nextMs }: Takeover, withinMs: number): string[] {
  const promised = withinMs + NEXT_ORDER_MS;
  return [
    ...(tookMs > withinMs ? [`planner: another planned after ${tookMs.toFixed(0)} ms, not ${withinMs}`] : []),
    ...(nextMs > promised
      ? [`planner: the next order was assigned after ${nextMs.toFixed(0)} ms, not ${promised}`]
      : []),
  ];
}
