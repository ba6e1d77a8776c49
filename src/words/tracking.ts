import { TRACKING_EN } from './tracking-en.ts';
import { TRACKING_ES } from './tracking-es.ts';
import { type Language, type Speak, speaker } from './words.ts';

export type TrackingKey = keyof typeof TRACKING_EN;
/** Speaks the customer's page in one language. */
export type SpeakTracking = Speak<TrackingKey>;

export const speakTracking: Readonly<Record<Language, SpeakTracking>> = {
  en: speaker<TrackingKey>(TRACKING_EN),
  es: speaker<TrackingKey>(TRACKING_ES),
};
