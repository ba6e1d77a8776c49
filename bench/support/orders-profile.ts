import { openProfiler } from './cpu-profile.ts';
import { type Bench, BURST, check, percent, sendBurst } from './orders-bench.ts';

const MOST_ROWS = 25;

/**
 * Measures where the API spends its time in a burst, by function and by package; the profiler slows it down.
 */
export async function profileSection(bench: Bench): Promise<void> {
  const { stack, options, report } = bench;
  const profiler = openProfiler();
  const started = await stack.start({ ...BURST, env: profiler.env });
  const before = await sendBurst(bench, started, { seconds: options.warmUpSeconds });
  profiler.start(started.apiPid);
  const earlier = started.cpu();
  const result = await sendBurst(bench, started, {});
  const later = started.cpu();
  await stack.halt();
  await check(bench, { ended: () => [] }, [before, result]);
  const perOrder = Object.entries(later).map(([part, seconds]): [string, number] => {
    return [part, ((seconds - (earlier[part] as number)) * 1e6) / result.created];
  });
  report.table(
    `A burst of ${result.perSecond.toFixed(0)} orders/s: core-microseconds an order`,
    ['part', 'µs'],
    perOrder,
  );
  const { busyMicros, byOwner, byFunction } = profiler.read(started.apiPid);
  profiler.remove();
  const head = ['', 'of busy time', 'µs an order'];
  const rows = (times: typeof byOwner) =>
    times.slice(0, MOST_ROWS).map(([name, micros]) => [name, percent(micros / busyMicros), micros / result.created]);
  report.table('The API by package or folder, with what it calls of Node', head, rows(byOwner));
  report.table('The API: self time by function', head, rows(byFunction));
}
