import { expect, test } from 'vitest';
import { MAX_OPEN_CONNECTIONS, OPEN_FILES_KEPT } from '../../src/limits.ts';
import { connectionsWithin, readLimits } from '../../src/runtime/open-files.ts';
import type { Logger } from '../../src/telemetry.ts';

/** The bound for a limit of open files, and what was logged. */
function boundFor(limits: string | null) {
  const lines: unknown[] = [];
  const nothing = () => undefined;
  const logger: Logger = { debug: nothing, info: nothing, warn: (fields) => lines.push(fields), error: nothing };
  return { connections: connectionsWithin(limits, logger, 'warn'), lines };
}
const limitOf = (files: number | string) =>
  `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${files}       ${files}      files\n`;

test('connections leave files for databases and vendors, and a limit that is too low is said', () => {
  const connections = 20_000 - OPEN_FILES_KEPT;
  expect(boundFor(limitOf(20_000))).toEqual({ connections, lines: [{ open_files: 20_000, connections }] });
  expect(boundFor(limitOf(1_024))).toEqual({ connections: 512, lines: [{ open_files: 1_024, connections: 512 }] });
});

test.each([limitOf(1_048_576), limitOf(MAX_OPEN_CONNECTIONS + OPEN_FILES_KEPT), limitOf('unlimited'), null])(
  'a limit with room for all of them bounds nothing and says nothing',
  (limits) => expect(boundFor(limits)).toEqual({ connections: MAX_OPEN_CONNECTIONS, lines: [] }),
);

test.skipIf(process.platform !== 'linux')('the limit of this process can be read', () => {
  expect(readLimits()).toMatch(/^Max open files +\d+/m);
});
