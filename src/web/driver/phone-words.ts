import { PHONE_EN } from '../../words/phone-en.ts';
import { PHONE_ES } from '../../words/phone-es.ts';
import { languageOf, type Speak, speaker } from '../../words/words.ts';

/** Speaks of sign-in links and notices in the phone's language, on the page and in its worker alike. */
export const sayOfPhone: Speak<keyof typeof PHONE_EN> = speaker(
  languageOf(navigator.languages ?? [navigator.language]) === 'es' ? PHONE_ES : PHONE_EN,
);
