import { DRIVER_EN, type DriverText } from '../../words/driver-en.ts';
import { DRIVER_ES } from '../../words/driver-es.ts';
import { LANGUAGES, languageOf, speaker } from '../../words/words.ts';
import { MARKUP_VALUES, type Say } from './words.ts';

const language = languageOf(navigator.languages ?? [navigator.language]);

/** Speaks the phone's language. */
export const say: Say = speaker<DriverText>(language === 'es' ? DRIVER_ES : DRIVER_EN);

/** Puts the phone's language into the markup, which is one file for everybody, in the first language. */
export function translateMarkup(): void {
  if (language === LANGUAGES[0]) return;
  document.documentElement.lang = language;
  document.title = say('title');
  for (const element of document.querySelectorAll<HTMLElement>('[data-say], [data-say-title], [data-say-alt]')) {
    const { say: text, sayTitle: title, sayAlt: alt } = element.dataset;
    if (text) element.textContent = say(text as DriverText, MARKUP_VALUES);
    if (title) element.title = say(title as DriverText);
    if (alt) element.setAttribute('alt', say(alt as DriverText));
  }
}
