import { JOB_HELD_RETRY_MS } from './hold-while-away.ts';
import type { JobHandler } from './job-handler.ts';
import type { JobPace } from './job-pace.ts';

/**
 * A handler whose jobs wait for their turn. When the process stops, a job without a turn goes back to the
 * queue, which costs no attempt.
 *
 * @param isAwaited whether a reply waits for the job of this order, which then waits for no turn
 */
export function inTurn(
  handle: JobHandler,
  pace: Pick<JobPace, 'turn'>,
  isAwaited: (orderId: string) => boolean = () => false,
): JobHandler {
  return async (data) => {
    const mayStart = isAwaited(data.orderId) || (await pace.turn());
    return mayStart ? handle(data) : { kind: 'wait', forMs: JOB_HELD_RETRY_MS };
  };
}
