import type { CliCommand } from '../cli/command.ts';
import { CommandError, type Context } from '../cli/context.ts';
import { type Output, Worded } from '../cli/output.ts';
import { type Confirmed, confirm, known, requireId, withYes } from '../cli/parts.ts';
import { hashSecret, newSecret } from '../domain/ids.ts';
import { below, POSITION_FRESH_MS } from '../limits.ts';

/** Interval in seconds at which a tracking app is told to report. Two are below POSITION_FRESH_MS. */
export const TRACKER_INTERVAL_SECONDS = 20;
/** Meters after which it is told to report sooner: a car makes them in about 4 s. */
const TRACKER_DISTANCE_METERS = 50;
/** Time for which a sign-in link holds: a text is read, or a code is scanned, within it. */
export const SIGN_IN_LINK_SECONDS = 15 * 60;

below({ '2 × TRACKER_INTERVAL_SECONDS in ms': 2 * TRACKER_INTERVAL_SECONDS * 1_000 }, { POSITION_FRESH_MS });

const NO_DRIVER = 'active driver';
type Printed = { readonly json?: boolean };

/** `driver sign-in-link|traccar-link` */
export function addPhoneLinks(driver: CliCommand): void {
  driver
    .command('sign-in-link <driver_id>')
    .description('print a link, and its QR, that signs a phone in once; it holds for 15 minutes')
    .runs(async (context, [id], { json }: Printed) => {
      const driverId = requireId(id);
      const base = addressOf(context);
      const code = newSecret('sign_in_code');
      const kept = await context.store.keepSignInCode(driverId, hashSecret(code), SIGN_IN_LINK_SECONDS);
      const { expiresAt } = known(kept, NO_DRIVER);
      const link = `${base}/driver#sign-in=${code}`;
      context.output.tell(
        'Whoever opens this link first is signed in as the driver: send it to them alone. The phone that is',
      );
      context.output.tell('signed in now is signed out at that moment. A link of before does not work any more.');
      if (!base.startsWith('https:')) context.output.tell('Without https a phone gives no position: set BASE_URL.');
      if (!json) await draw(context.output, link);
      return new Worded({ driver_id: driverId, sign_in_link: link, expires_at: expiresAt }, link);
    });
  withYes(driver.command('traccar-link <driver_id>'))
    .description('print the link, and its QR, that sets up Traccar Client on a phone; the one before ends')
    .option('--revoke', 'only end the one before')
    .runs(async (context, [id], options: Printed & Confirmed & { revoke?: boolean }) => {
      const { json, revoke } = options;
      const driverId = requireId(id);
      const hasOne = known(await context.store.driverHasTracker(driverId), NO_DRIVER);
      if (hasOne) confirm(options, 'This ends the link that the driver has: the app behind it reports no more.');
      if (revoke) {
        known((await context.store.setDriverTracker(driverId, null)) || null, NO_DRIVER);
        return { driver_id: driverId, device_identifier: null };
      }
      const server = `${addressOf(context)}/driver/traccar`;
      const identifier = newSecret('tracker');
      known((await context.store.setDriverTracker(driverId, hashSecret(identifier))) || null, NO_DRIVER);
      const link = traccarLink(server, identifier);
      context.output.tell(
        'Open the link on a phone that has Traccar Client, or scan the QR with it; then switch it on.',
      );
      context.output.tell(`By hand: server URL ${server}, device identifier ${identifier}`);
      if (!json) await draw(context.output, link);
      const shown = { driver_id: driverId, link, server_url: server, device_identifier: identifier };
      return new Worded(shown, link);
    });
}

/**
 * The link that Traccar Client takes, tapped or scanned (`ConfigurationService` of github.com/traccar/traccar-client).
 * Its own settings report every five minutes, and not at all while the phone lies still.
 */
function traccarLink(server: string, identifier: string): string {
  const settings = new URLSearchParams({
    url: server,
    id: identifier,
    accuracy: 'high',
    interval: String(TRACKER_INTERVAL_SECONDS),
    distance: String(TRACKER_DISTANCE_METERS),
    heartbeat: '60',
    stop_detection: 'false',
    buffer: 'true',
  });
  return `org.traccar.client://config?${settings}`;
}

/** Where drivers reach the service, without a slash at the end. */
function addressOf({ config, urls }: Context): string {
  const base = config.baseUrl ?? urls.api;
  if (!base) throw new CommandError('Set BASE_URL as for the service: the link leads to it.');
  return base;
}

/** Draws a text as a QR, light on dark, out of the way of the result. */
async function draw(output: Output, text: string): Promise<void> {
  // Loading it takes as long as a small command.
  const { renderUnicodeCompact } = await import('uqr');
  output.tell(renderUnicodeCompact(text, { border: 2 }));
}
