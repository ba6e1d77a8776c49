import { speakTracking } from '../../words/tracking.ts';
import { languageOf } from '../../words/words.ts';

/** A time of the clock nearer than this needs no day on the customer's page, also beyond midnight. */
const CLOCK_WITHOUT_DAY_MS = 6 * 3_600_000;

/** The language in which the server wrote the page. */
const language = languageOf([document.documentElement.lang]);

/** Speaks the page's language. */
export const say = speakTracking[language];

/** Where a reader's browser names the language without a country, times are written as in the United States. */
const locale = navigator.languages.find((each) => each.startsWith(`${language}-`)) ?? `${language}-US`;

/** The time in the reader's zone and format, with the day where it is not today. */
export function localTime(time: Date, now: Date): string {
  const sameDay = time.toDateString() === now.toDateString();
  return time.toLocaleString(locale, { ...CLOCK, ...(sameDay ? {} : { month: 'short', day: 'numeric' }) });
}

/**
 * Two times of the clock in the reader's zone and format, such as "3:18 – 3:27 PM". The day is named where they
 * end on another day and not soon: a quarter past midnight needs no day a few minutes before it.
 */
export function localTimes(from: Date, to: Date, now: Date): string {
  const isClear = to.toDateString() === now.toDateString() || to.getTime() - now.getTime() < CLOCK_WITHOUT_DAY_MS;
  const format = new Intl.DateTimeFormat(locale, isClear ? CLOCK : DAY_AND_CLOCK);
  // A range over midnight would be written with both dates.
  const isOneDay = from.toDateString() === to.toDateString();
  return isOneDay || !isClear ? format.formatRange(from, to) : `${format.format(from)} – ${format.format(to)}`;
}

const CLOCK = { hour: 'numeric', minute: '2-digit' } as const;
const DAY_AND_CLOCK = { weekday: 'long', ...CLOCK } as const;
