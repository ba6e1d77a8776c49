import { expect, test } from 'vitest';
import { CliCommand } from '../../src/cli/command.ts';
import { CommandError } from '../../src/cli/context.ts';
import { addDriverCommands } from '../../src/commands/driver.ts';
import { newId } from '../../src/domain/ids.ts';
import { actOn } from '../harness/act.ts';

const ID = newId();
const HOUR_MS = 3_600_000;

/** Runs `driver set-until`; returns what the store was asked to write. */
async function setUntil(time: string): Promise<(Date | null)[]> {
  const written: (Date | null)[] = [];
  const setDutyEnd = async (_id: string, until: Date | null) => written.push(until) > 0;
  const program = new CliCommand('sameday', actOn({ setDutyEnd }), () => async () => undefined);
  addDriverCommands(program);
  await program.parseAsync(['driver', 'set-until', ID, time], { from: 'user' });
  return written;
}

/** A time as clocks show it that are so many hours ahead of UTC, without saying so. */
const shown = (ms: number, aheadHours: number): string =>
  new Date(ms + aheadHours * HOUR_MS).toISOString().slice(0, 19);

test('the end of a duty is the moment that a time with its zone says, in whatever zone the command runs', async () => {
  const ms = Math.floor(Date.now() / 1_000) * 1_000 + 2 * HOUR_MS;
  const forms = [`${shown(ms, 0)}Z`, `${shown(ms, -8)}-08:00`, `${shown(ms, 5)}.000+05:00`];
  for (const form of forms) expect(await setUntil(form)).toEqual([new Date(ms)]);
  expect(await setUntil('none')).toEqual([null]);
});

test('a time without its zone is refused by name, with an example', async () => {
  for (const form of [shown(Date.now() + 2 * HOUR_MS, 0), shown(Date.now() + 2 * HOUR_MS, 0).slice(0, 16)]) {
    await expect(setUntil(form)).rejects.toThrow(
      new CommandError(
        'The time needs its zone: Z for UTC, or an offset, like 2026-11-23T22:00:00Z or 2026-11-23T14:00:00-08:00.',
      ),
    );
  }
});

test.each(['tomorrow', '22:00', '2026-11-23', '23 Nov 2026 22:00', '2020-01-01T00:00:00Z', '2999-01-01T00:00:00Z'])(
  'the end of a duty is not %s, but a time in the next 24 hours',
  async (time) => {
    await expect(setUntil(time)).rejects.toThrow(/^The time is in the next 24 hours, like /);
  },
);
