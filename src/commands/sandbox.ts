import type { CliCommand } from '../cli/command.ts';
import { CommandError, type Context } from '../cli/context.ts';
import { MAX_COMMIT_RETRIES } from '../limits.ts';
import { classifyFailure } from '../postgres/failures.ts';

/** `sandbox reset` */
export function addSandboxCommands(program: CliCommand): void {
  const sandbox = program.command('sandbox').description('the sandbox');
  sandbox
    .command('reset')
    .description('remove all orders, also while the service runs; stores, keys, drivers, tiers and cards stay')
    .option('--yes', 'needed where DATABASE_URL names the database')
    .runs(async (context, _args, { yes }: { yes?: boolean }) => {
      refuseUnlessMeant(context, yes === true);
      return { orders_removed: await reset(context) };
    });
}

function refuseUnlessMeant({ sandbox, config }: Context, yes: boolean): void {
  if (!sandbox) {
    throw new CommandError('Only a sandbox is reset. DATABASE_URL is set, and SANDBOX=1 is not.');
  }
  if (config.databaseUrl && !yes) {
    throw new CommandError(
      'This removes every order from the database of DATABASE_URL. Add --yes if it is a sandbox’s.',
    );
  }
}

/**
 * Queues in Redis come first: emptied later, they would lose the jobs of orders that were made since. Jobs
 * that come into them meanwhile find no order, and end.
 */
async function reset({ store, redisUrl }: Context): Promise<number> {
  if (redisUrl) await emptyRedis(redisUrl);
  for (let retriesLeft = MAX_COMMIT_RETRIES; ; retriesLeft--) {
    try {
      return await store.removeAllOrders();
    } catch (error) {
      // A deadlock with a statement of the running service.
      if (retriesLeft === 0 || classifyFailure(error) !== 'retry') throw error;
    }
  }
}

async function emptyRedis(url: string): Promise<void> {
  // Loading BullMQ takes as long as a whole command.
  const { emptyRedisQueues } = await import('../sandbox/empty-queues.ts');
  try {
    await emptyRedisQueues(url);
  } catch {
    throw new CommandError('The queues in Redis could not be emptied, and no order was removed. Is Redis running?');
  }
}
