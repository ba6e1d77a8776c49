import { mapsLink } from './phone.ts';
import type { Say } from './words.ts';

/**
 * Lets a link lead to a place in the phone's maps.
 *
 * @param place an address, or a latitude and a longitude with a comma between
 * @param name what the place is called
 */
export function leadTo(say: Say, link: HTMLAnchorElement, place: string, name: string): void {
  link.href = mapsLink(place, navigator);
  // A new window for the web's maps; for the phone's own it would stay empty.
  link.target = link.protocol === 'geo:' ? '_self' : '_blank';
  link.setAttribute('aria-label', say('directionsTo', { place: name }));
}

export function leadNowhere(link: HTMLAnchorElement): void {
  link.removeAttribute('href');
  link.removeAttribute('aria-label');
}
