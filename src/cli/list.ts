import type { Command } from 'commander';
import { readCaller } from '../config.ts';
import { isId } from '../domain/ids.ts';
import { calendarTime, isCalendarTime } from '../http/input.ts';
import { atMost, MAX_NAMED } from '../limits.ts';
import type { ListSearch, Page, PageRequest, Place } from '../store/pages.ts';
import { CommandError, type Context } from './context.ts';
import { durationMs, integer, oneOf, text, zonedTime } from './parts.ts';
import { withWatch } from './watch.ts';

/** Rows on a page of a list command by default. */
export const LIST_LIMIT = 200;
/** Most rows on a page of a list command. At least LIST_LIMIT. */
export const MAX_LIST_LIMIT = 1_000;

atMost({ LIST_LIMIT }, { MAX_LIST_LIMIT });

/** The options of a list, as they were typed. */
export type ListOptions = {
  readonly limit?: string;
  readonly after?: string;
  readonly status?: string;
  readonly search?: string;
  readonly since?: string;
  readonly until?: string;
};

type Part = {
  /** Its rows in words: `orders`. */
  readonly what: string;
  readonly page: Page;
  /** The command of the same group whose list it is, where that is not the command that was typed. */
  readonly command?: string;
};

/** Pages of lists, to be printed with how many rows follow each and the command for them. */
export class Listed {
  /** What is printed, rows of the pages. */
  readonly shown: unknown;
  readonly #parts: readonly Part[];

  constructor(shown: unknown, parts: readonly Part[]) {
    this.shown = shown;
    this.#parts = parts;
  }

  /** A list that is printed as it is. */
  static rows(what: string, page: Page): Listed {
    return new Listed(page.rows, [{ what, page }]);
  }

  /** How many rows follow, and how to see them; a line for each list that has more. */
  whatFollows(typed: Command): string[] {
    return this.#parts.flatMap(({ what, page: { next, more, isExact }, command }) => {
      if (next === null) return [];
      const found = typed.parent?.commands.find((each) => each.name() === command) ?? typed;
      return [`${isExact ? '' : 'more than '}${more} more ${what}: ${nextCommand(typed, found, placeAsText(next))}`];
    });
  }
}

/**
 * Adds the options of a list.
 *
 * @param statuses values of `--status`; none for a list without it
 * @param searched what `--search` looks at
 */
export function withListOptions<C extends Command>(command: C, statuses: readonly string[], searched: string): C {
  if (statuses.length > 0) command.option('--status <status>', statuses.join(', '));
  return withWatch(command)
    .option('--search <text>', searched)
    .option('--since <time>', 'made at this time or later: 2025-01-31, 2025-01-31T17:05:00Z, or 2h for two hours ago')
    .option('--until <time>', 'made before this time')
    .option('--limit <n>', `rows on a page, up to ${MAX_LIST_LIMIT}`, String(LIST_LIMIT))
    .option('--after <place>', 'the next page; the page before says it')
    .option('--columns <names>', 'only these columns, with commas between');
}

/** @throws {CommandError} naming the option that is wrong */
export function readPageRequest({ limit, after }: ListOptions): PageRequest {
  return {
    limit: integer('--limit', limit ?? String(LIST_LIMIT), 1, MAX_LIST_LIMIT),
    after: after === undefined ? null : readPlace(after),
  };
}

/** @throws {CommandError} naming the option that is wrong */
export function readSearch<Status extends string>(
  { status, search, since, until }: ListOptions,
  statuses: readonly Status[],
): ListSearch<Status> {
  const wanted = status === undefined ? null : oneOf('--status', status, statuses);
  const [from, to] = [readTime('--since', since), readTime('--until', until)];
  if (from && to && from >= to) throw new CommandError('--since must be before --until.');
  return {
    status: wanted,
    since: from,
    until: to,
    text: search === undefined ? null : asSearched(text('--search', search)),
  };
}

/** An id is looked for in the form in which the tables have it. */
const asSearched = (typed: string): string => (isId(typed.toLowerCase()) ? typed.toLowerCase() : typed);

/**
 * The ids that `--store` or `--driver` means: a whole id, or a part of a name.
 *
 * @throws {CommandError} if nobody is meant, or too many are
 */
export async function readNamed(
  { store }: Context,
  table: 'retailers' | 'drivers',
  option: string,
  value: string | undefined,
): Promise<string[] | null> {
  if (value === undefined) return null;
  const ids = await store.findNamed(table, text(option, value));
  const what = table === 'retailers' ? 'store' : 'driver';
  if (ids.length === 0) throw new CommandError(`${option}: no ${what} has this id, or this in the name.`);
  if (ids.length > MAX_NAMED)
    throw new CommandError(`${option}: more than ${MAX_NAMED} ${what}s have this in the name.`);
  return ids;
}

const DATE = /^\d{4}-\d\d-\d\d$/;

function readTime(option: string, value: string | undefined): Date | null {
  if (value === undefined) return null;
  const ms = durationMs(value);
  // A date is its first moment in UTC.
  const time = ms !== null ? ago(ms) : DATE.test(value) ? calendarTime(value) : zonedTime(option, value);
  if (time && isCalendarTime(time)) return time;
  throw new CommandError(`${option} takes a time like 2025-01-31, 2025-01-31T17:05:00Z, or 2h for two hours ago.`);
}

const ago = (ms: number): Date => new Date(Date.now() - ms);

const placeAsText = ({ rank, micros, id }: Place): string => `${rank}.${micros}.${id}`;

function readPlace(value: string): Place {
  const [, rank, micros, id = ''] = /^(\d)\.(\d{1,16})\.([0-9a-f-]{36})$/.exec(value) ?? [];
  if (rank === undefined || micros === undefined || !isId(id)) {
    throw new CommandError('--after takes what the page before printed.');
  }
  return { rank: Number(rank), micros, id };
}

/** A command with the options that were typed for `typed`, as far as it has them, for the page behind a place. */
function nextCommand(typed: Command, command: Command, after: string): string {
  const names: string[] = [];
  for (let at: Command | null = command; at?.parent; at = at.parent) names.unshift(at.name());
  const options = command.options.flatMap((option) => {
    const name = option.attributeName();
    if (name === 'after' || name === 'watch' || typed.getOptionValueSource(name) !== 'cli') return [];
    return option.isBoolean() ? [option.long ?? ''] : [option.long ?? '', quoted(String(typed.getOptionValue(name)))];
  });
  return [programName(), ...names, ...options, '--after', after].join(' ');
}

/** How the program was called: as whoever started it says, or else as a file. */
const programName = (): string => readCaller().command ?? `node ${quoted(process.argv[1] ?? '')}`;

const quoted = (value: string): string =>
  /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
