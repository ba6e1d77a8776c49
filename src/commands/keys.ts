import type { CliCommand } from '../cli/command.ts';
import { CommandError, type Context } from '../cli/context.ts';
import { type Confirmed, confirm, durationMs, known, requireId, withYes } from '../cli/parts.ts';
import { hashSecret, newId, newSecret } from '../domain/ids.ts';
import { MAX_OVERLAPPING_KEYS } from '../limits.ts';
import type { NewKey } from '../store/accounts/retailers.ts';

/** Longest time for which a rotated key goes on, in seconds: a release of the store's own software. */
const MAX_KEY_OVERLAP_SECONDS = 7 * 86_400;

/** A new key of a store, or of an organization, that says the mode of the service. Only its hash is stored. */
export function newKey(
  { sandbox }: Pick<Context, 'sandbox'>,
  kind: 'api_key' | 'organization_key' = 'api_key',
): { readonly apiKey: string; readonly key: NewKey } {
  const mode = sandbox ? 'test' : 'live';
  const apiKey = kind === 'api_key' ? newSecret(kind, mode) : newSecret(kind, mode);
  return { apiKey, key: { id: newId(), keyHash: hashSecret(apiKey) } };
}

export const withOverlap = (command: CliCommand): CliCommand =>
  command.option('--overlap <time>', 'how long the old key goes on: 30m, 24h, up to 7d; it ends at once by default');

/**
 * Reads the value of `--overlap` in seconds; 0 for none.
 *
 * @throws {CommandError} for one that is no time, or too long
 */
export function readOverlap(value: string | undefined): number {
  if (value === undefined) return 0;
  const seconds = (durationMs(value) ?? 0) / 1_000;
  if (seconds >= 1 && seconds <= MAX_KEY_OVERLAP_SECONDS) return seconds;
  throw new CommandError(`--overlap takes a time like 30m, 24h or 7d, up to ${MAX_KEY_OVERLAP_SECONDS / 86_400} days.`);
}

/** `retailer rotate-key` */
export function addRotateKey(retailer: CliCommand): void {
  withYes(withOverlap(retailer.command('rotate-key <retailer_id>')))
    .description('create a new key of a store, which is shown once, and end its old ones')
    .runs(async (context, [id], { overlap, ...confirmed }: Confirmed & { overlap?: string }) => {
      const retailerId = requireId(id);
      const seconds = readOverlap(overlap);
      const { apiKey, key } = newKey(context);
      if (seconds === 0) {
        const { name } = known(await context.store.countWaitingOf(retailerId), 'store');
        confirm(confirmed, `This ends the keys of “${name}” at once; with --overlap they go on for a time.`);
        known((await context.store.rotateKey(retailerId, key)) || null, 'store');
        return { retailer_id: id, api_key: apiKey };
      }
      const outcome = await context.store.rotateKeyWithOverlap(retailerId, key, seconds);
      if (outcome.kind === 'rotated') {
        return { retailer_id: id, api_key: apiKey, old_keys_until: outcome.oldKeysUntil };
      }
      if (outcome.kind === 'unknown') throw new CommandError('There is no such store.');
      throw new CommandError(
        `${MAX_OVERLAPPING_KEYS} old keys of this store go on already: retailer show says until when. ` +
          'Rotate after that, or without --overlap, which ends them at once.',
      );
    });
}
