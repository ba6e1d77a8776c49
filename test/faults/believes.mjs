// Loaded first into a process of the service: once it has had the right to plan, it believes that it has it for
// ever, asks no more, and says whenever a command of it was refused.
import { register } from 'node:module';

const GULLIBLE = `
export function keepPlannerLease({ store, changed }) {
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
  if (!url.endsWith('/planning/planner-lease.js')) return next(url, context);
  return { format: 'module', shortCircuit: true, source: ${JSON.stringify(GULLIBLE)} };
}`;

register(`data:text/javascript,${encodeURIComponent(HOOKS)}`);
