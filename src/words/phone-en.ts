import type { Catalogue } from './words.ts';

/** What a driver's phone says beside the page: of a sign-in link, and in notices. */
export const PHONE_EN = {
  linkDead: 'This link does not work any more: it works once, and for 15 minutes. Please ask for a new one.',
  linkLater: 'No answer from the service. Please check your network and load this page again.',
  givenTitle: 'You have a new order',
  givenText: 'Open the page to see it.',
  takenTitle: 'An order is no longer yours',
  takenText: 'Open the page to see what is next.',
} as const satisfies Catalogue;
