import type { CliCommand } from '../cli/command.ts';
import { CommandError, type Context } from '../cli/context.ts';
import { Listed, type ListOptions, readNamed, readPageRequest, readSearch, withListOptions } from '../cli/list.ts';
import { leaveJobs } from '../cli/owed-jobs.ts';
import { type Confirmed, confirm, integer, known, oneOf, withYes } from '../cli/parts.ts';
import { replay } from '../events/webhook-command.ts';
import { MAX_PAYMENT_ATTEMPTS, MAX_PAYMENT_ATTEMPTS_EVER } from '../limits.ts';
import type { FailedJob } from '../store/operator/failed-jobs.ts';
import { QUEUES, type QueueName } from '../store/outbox-rows.ts';

/** `job list|retry|drop` */
export function addJobCommands(program: CliCommand): void {
  const job = program.command('job').description('jobs that failed: charges, refunds, texts, webhooks');
  addList(job);
  withYes(job.command('retry <job_id>'))
    .description('have a failed job done again; nothing is charged, refunded or texted twice by it')
    .runs(async (context, [id], confirmed: Confirmed) => {
      const failed = await requireJob(context, id);
      if (failed.queue === 'charge') confirm(confirmed, 'This charges the card of the store.');
      await RETRIES[failed.queue](context, failed);
      return { job_id: failed.id, queue: failed.queue, order_id: failed.orderId, job: 'owed' };
    });
  withYes(job.command('drop <job_id>'))
    .description('take a failed job off the list and out of the figures; what its order owes stays')
    .runs(async (context, [id], confirmed: Confirmed) => {
      const failed = await requireJob(context, id);
      confirm(confirmed, `This drops a job of ${failed.queue} that failed with ${failed.failureCode}, for good.`);
      known((await context.store.dropFailedJob(failed.id)) || null, 'failed job');
      return { job_id: failed.id, queue: failed.queue, order_id: failed.orderId, job: 'dropped' };
    });
}

function addList(job: CliCommand): void {
  withListOptions(
    job
      .command('list')
      .description('list failed jobs of the last days with what the vendor said, the newest first')
      .option('--queue <queue>', QUEUES.join(', '))
      .option('--store <store>', 'id, or a part of the name'),
    [],
    "the order's id, or a part of the code or of what the vendor said",
  ).runs(async (context, _args, options: ListOptions & { queue?: string; store?: string }) => {
    const search = {
      ...readSearch(options, []),
      status: options.queue === undefined ? null : oneOf('--queue', options.queue, QUEUES),
    };
    const page = readPageRequest(options);
    const retailerIds = await readNamed(context, 'retailers', '--store', options.store);
    return Listed.rows('jobs', await context.store.listFailedJobs({ ...search, retailerIds }, page));
  });
}

async function requireJob({ store }: Context, id: string | undefined): Promise<FailedJob> {
  const jobId = integer('The job', id ?? '', 1, Number.MAX_SAFE_INTEGER);
  return known(await store.findFailedJob(jobId), 'failed job');
}

type Retry = (context: Context, job: FailedJob) => Promise<void>;

const RETRIES: Readonly<Record<QueueName, Retry>> = {
  charge: retryCharge,
  refund: retryRefund,
  sms: retryText,
  text: retryText,
  webhook: retryDelivery,
  event: retryDelivery,
  locate: cannotFail,
  redispatch: cannotFail,
};

async function retryCharge(context: Context, { orderId }: FailedJob): Promise<void> {
  const retried = await context.store.retryCharges({ orderId }, MAX_PAYMENT_ATTEMPTS, MAX_PAYMENT_ATTEMPTS_EVER);
  if (retried.length === 0) throw new CommandError('Its charge is not owed any more, or all its attempts are used up.');
  await leaveJobs(context, retried);
}

async function retryRefund(context: Context, job: FailedJob): Promise<void> {
  const retried = await context.store.retryRefund(job);
  if (!retried) throw new CommandError('Its refund is not owed any more.');
  await leaveJobs(context, [retried]);
}

async function retryText(context: Context, job: FailedJob): Promise<void> {
  if (job.failureCode === 'outcome_unknown') {
    throw new CommandError('The text may have arrived, so it is not sent again.');
  }
  const retried = await context.store.retryText(job);
  if (!retried) throw new CommandError('It is too late for this text, or its order has ended.');
  await leaveJobs(context, [retried]);
}

async function retryDelivery({ store }: Context, { deliveryId }: FailedJob): Promise<void> {
  await replay(store, known(deliveryId, 'delivery'));
}

async function cannotFail(_context: Context, { queue }: FailedJob): Promise<void> {
  throw new CommandError(`A job of ${queue} is not tried again.`);
}
