// Loaded first into a process of the service: once it has had the right to plan, it believes that it has it for
// ever, asks no more, and says whenever a command of it was refused. The build is a bundle, so the function is
// replaced in the file that has it.
import { register } from 'node:module';

const HONEST = 'function keepPlannerLease(';

const GULLIBLE = `
function keepPlannerLease({ store, changed }) {
  let held = null;
  const timer = setInterval(() => void store.takeLease('all', 3_000).then(believe, () => undefined), 20);
  function believe(lease) {
    if (lease === null || held !== null) return;
    clearInterval(timer);
    held = lease;
    changed(held);
  }
  return {
    current: () => held,
    lost: () => void process.stdout.write('a command was refused\\n'),
    close: async () => clearInterval(timer),
  };
}`;

const HOOKS = `
export async function load(url, context, next) {
  const loaded = await next(url, context);
  if (loaded.format !== 'module' || !url.includes('/dist/')) return loaded;
  const source = String(loaded.source);
  if (!source.includes(${JSON.stringify(HONEST)})) return loaded;
  const honest = source.replace(${JSON.stringify(HONEST)}, 'function honestLease(');
  return { ...loaded, source: honest + ${JSON.stringify(GULLIBLE)} };
}`;

register(`data:text/javascript,${encodeURIComponent(HOOKS)}`);
