import { byId, show } from '../shared/dom.ts';
import { leadNowhere, leadTo } from './directions.ts';
import { type Fix, wayMeters } from './route.ts';
import type { WaitPlace } from './state.ts';
import { distanceWords, type Say, waitPlaceWords } from './words.ts';

/** Shows the way to where the driver is asked to wait; nothing where they are not asked. */
export function renderWait(say: Say, place: WaitPlace | null, fix: Fix | null): void {
  const meters = place && wayMeters(fix, place);
  show('wait-distance', meters === null ? null : say('waitDistance', { distance: distanceWords(say, meters) }));
  byId('wait').hidden = place === null;
  const link = byId<HTMLAnchorElement>('wait-directions');
  if (place) leadTo(say, link, `${place.lat},${place.lng}`, waitPlaceWords(say, place));
  else leadNowhere(link);
}
