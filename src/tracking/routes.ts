import type { ChangeDropoff } from '../dispatch/change-dropoff.ts';
import { ServiceError } from '../domain/errors.ts';
import { networkOf } from '../domain/network.ts';
import type { TrackedOrder } from '../domain/tracked.ts';
import { asAvailable } from '../http/outcomes.ts';
import { photoReply } from '../http/photo-reply.ts';
import { type Matcher, positionOf } from '../matcher/matcher.ts';
import type { Assets } from '../pages/assets.ts';
import { pageHeaders } from '../pages/page-headers.ts';
import { RELOAD_SOURCE } from '../pages/reload.ts';
import { sharedReads } from '../shared-read.ts';
import type { Store } from '../store/store.ts';
import { json } from '../transport/reply.ts';
import { anyone, type Reply, type RequestHead, type Route } from '../transport/route.ts';
import { acceptedLanguages, type Language, languageOf } from '../words/words.ts';
import { dropoffRoute } from './dropoff-route.ts';
import { createLinkReader, linkedOrder } from './link.ts';
import type { TrackingStatus } from './messages.ts';
import { getTracking, getTrackingPhoto } from './operations.ts';
import { type Notice, noticePage, type PageFiles, type PageSettings, trackingPage } from './page.ts';
import { trackingView } from './view.ts';

/** The photos of handovers, by tracking token, for a client of a network. */
export type HandoverPhotos = { find(token: string, network: string): Promise<Buffer | null> };

/**
 * What a customer's browser asks for: the page, its status as JSON, the photo of the handover, the notes for
 * the door, and the files of the pages.
 *
 * @param parts.publicUrl where customers reach the service, for the page's security policy
 * @param parts.now the database's clock in milliseconds
 * @param parts.failed called for each lookup that failed and was answered with a page
 */
export function trackingRoutes(parts: {
  readonly store: Pick<Store, 'findTrackedByToken'>;
  readonly matcher: Pick<Matcher, 'driver'>;
  readonly photos: HandoverPhotos;
  readonly changeDropoff: ChangeDropoff;
  readonly assets: Assets;
  readonly settings: PageSettings;
  readonly publicUrl: string | null;
  readonly now: () => number;
  readonly failed: (error: unknown) => void;
}): Route<null>[] {
  const { store, matcher, photos, assets, settings, now } = parts;
  const headers = { ...pageHeaders(settings.tileUrl, parts.publicUrl, RELOAD_SOURCE), Vary: 'Accept-Language' };
  const files: PageFiles = {
    script: assets.path('track.js'),
    style: assets.path('track.css'),
    icon: assets.path('icon.svg'),
  };

  const readAnew = createLinkReader(store, now);
  const read = sharedReads(readAnew);
  const viewOf = (order: TrackedOrder) => trackingView(order, positionOf(matcher, order.driverId), now());

  function message(status: number, notice: Notice, language: Language): Reply {
    return { status, headers, body: noticePage(notice, language, settings.sandbox, files) };
  }

  /** 404, 410 and 503 are plain pages too. Never throws. */
  async function page(token: string, head: RequestHead): Promise<Reply> {
    const language = languageOf(acceptedLanguages(head.header('accept-language') ?? ''));
    try {
      const found = await read(token);
      switch (found.kind) {
        case 'found':
          return { status: 200, headers, body: trackingPage(viewOf(found.order), token, language, settings, files) };
        case 'not_found':
          return message(404, 'unknown_link', language);
        case 'gone':
          return message(410, 'expired_link', language);
      }
    } catch (error) {
      parts.failed(error);
      return message(503, 'away', language);
    }
  }

  async function status(token: string): Promise<Reply> {
    const body: TrackingStatus = { success: true, order: viewOf(linkedOrder(await asAvailable(read(token)))) };
    return json(200, body);
  }

  async function photo(token: string, head: RequestHead): Promise<Reply> {
    const network = networkOf(head.remoteAddress());
    linkedOrder(await asAvailable(read(token)));
    return photoReply(photos.find(token, network), 'There is no photo.', { 'Referrer-Policy': 'no-referrer' });
  }

  function asset(name: string, head: RequestHead): Reply {
    const file = assets.serve(name, head.header('accept-encoding') ?? '');
    if (!file) throw new ServiceError('not_found', 'There is no such file.');
    return file;
  }

  return [
    get('/track/:token', page),
    { ...get('/track/:token/status', status), operation: getTracking },
    { ...get('/track/:token/photo', photo), operation: getTrackingPhoto },
    dropoffRoute({ read: readAnew, viewOf, changeDropoff: parts.changeDropoff }),
    get('/assets/:name', asset),
  ];
}

/** A route that anybody may ask, with one parameter. */
function get(pattern: string, answer: (parameter: string, head: RequestHead) => Promise<Reply> | Reply): Route<null> {
  return { method: 'get', pattern, authenticate: anyone, handle: ({ head }) => answer(head.params[0] ?? '', head) };
}
