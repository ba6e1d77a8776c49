import { isTrackingToken } from '../domain/ids.ts';
import type { TrackedOrder } from '../domain/tracked.ts';
import type { Assets } from '../pages/assets.ts';
import { type PageReply, pageHeaders } from '../pages/page-headers.ts';
import type { TrackingStatus } from './messages.ts';
import { messagePage, type PageFiles, type PageSettings, trackingPage } from './page.ts';
import { isGone, type KnownPosition, trackingView } from './view.ts';

export type TrackingLookup =
  | { readonly kind: 'found'; readonly body: TrackingStatus }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'gone' };

export type TrackingRoutes = {
  /** `GET /track/{token}`: the page; 404, 410 and 503 are plain pages too. Never throws. */
  page(token: string): Promise<PageReply>;
  /** `GET /track/{token}/status`: the view as JSON. Throws where the database can't be asked. */
  status(token: string): Promise<TrackingLookup>;
  /** `GET /assets/{name}`: a browser file; null is a 404. */
  asset(name: string, acceptEncoding: string): PageReply | null;
};

/**
 * What HTTP serves of the tracking page.
 *
 * @param deps.publicUrl where customers reach the service, for the page's security policy
 * @param deps.now the database's clock in milliseconds
 */
export function createTrackingRoutes(deps: {
  readonly findByToken: (token: string) => Promise<TrackedOrder | null>;
  readonly positionOf: (driverId: string) => KnownPosition | null;
  readonly now: () => number;
  readonly failed: (error: unknown) => void;
  readonly assets: Assets;
  readonly settings: PageSettings;
  readonly publicUrl: string | null;
}): TrackingRoutes {
  const { assets, settings } = deps;
  const headers = pageHeaders(settings.tileUrl, deps.publicUrl);
  const files: PageFiles = {
    script: assets.path('track.js'),
    style: assets.path('track.css'),
    icon: assets.path('icon.svg'),
  };

  async function status(token: string): Promise<TrackingLookup> {
    const order = isTrackingToken(token) ? await deps.findByToken(token) : null;
    if (!order) return { kind: 'not_found' };
    const nowMs = deps.now();
    if (isGone(order, nowMs)) return { kind: 'gone' };
    const position = order.driverId === null ? null : deps.positionOf(order.driverId);
    return { kind: 'found', body: { success: true, order: trackingView(order, position, nowMs) } };
  }

  function message(status: number, headline: string, detail: string): PageReply {
    return { status, headers, body: messagePage(headline, detail, settings.sandbox, files, status === 503) };
  }

  async function page(token: string): Promise<PageReply> {
    try {
      const found = await status(token);
      switch (found.kind) {
        case 'found':
          return { status: 200, headers, body: trackingPage(found.body.order, token, settings, files) };
        case 'not_found':
          return message(404, 'This link is not known', 'Please check that the whole link from your text was opened.');
        case 'gone':
          return message(
            410,
            'This link has expired',
            'Its delivery ended some time ago. The store can tell you more.',
          );
      }
    } catch (error) {
      deps.failed(error);
      return message(
        503,
        'We cannot see your order right now',
        'Your delivery goes on. This page tries again by itself.',
      );
    }
  }

  return { page, status, asset: assets.serve };
}
