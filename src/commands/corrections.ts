import type { CliCommand } from '../cli/command.ts';
import { CommandError, type Context } from '../cli/context.ts';
import { type Confirmed, confirm, known, requireId, text, withYes } from '../cli/parts.ts';
import { isPhone } from '../domain/phone.ts';
import { readTiers } from './driver-tiers.ts';
import { isCenter, locateStore, type PlaceOptions, warnOfCenter, withPlace } from './new-store.ts';

type DriverOptions = { readonly name?: string; readonly phone?: string; readonly tiers?: string };
type StoreOptions = Confirmed & PlaceOptions & { readonly name?: string; readonly address?: string };

/** `driver set` */
export function addDriverCorrection(driver: CliCommand): void {
  driver
    .command('set <driver_id>')
    .description("correct a driver's name, phone or tiers; what is not named stays")
    .option('--name <name>')
    .option('--phone <phone>', 'E.164, like +14155550123')
    .option('--tiers <tiers>', 'tiers that the driver is qualified for, with commas between')
    .runs(async (context, [id], { name, phone, tiers }: DriverOptions) => {
      const driverId = requireId(id);
      refuseNothing(name ?? phone ?? tiers);
      if (phone !== undefined && !isPhone(phone)) {
        throw new CommandError('--phone takes E.164 form, like +14155550123.');
      }
      const changes = {
        name: name === undefined ? null : text('--name', name),
        phone: phone ?? null,
        tierIds: tiers === undefined ? null : await readTiers(context, tiers),
      };
      known((await context.store.correctDriver(driverId, changes)) || null, 'driver');
      return known(await context.store.showDriver(driverId), 'driver');
    });
}

/** `retailer set` */
export function addStoreCorrection(retailer: CliCommand): void {
  withYes(withPlace(retailer.command('set <retailer_id>')))
    .description("correct a store's name, or its address and place; orders already created keep theirs")
    .option('--name <name>')
    .option('--address <address>', 'as one line; its place is looked up unless it is given')
    .runs(async (context, [id], options: StoreOptions) => {
      const retailerId = requireId(id);
      const { name, address, lat, lng } = options;
      refuseNothing(name ?? address ?? lat ?? lng);
      const moved = address ?? lat ?? lng;
      const place = moved === undefined ? null : await locateStore(context, address ?? '', options);
      if (place?.source === 'zip_centroid') await refuseLoss(context, retailerId, options);
      const changes = {
        name: name === undefined ? null : text('--name', name),
        address: address === undefined ? null : text('--address', address),
        point: place?.point ?? null,
      };
      known((await context.store.correctRetailer(retailerId, changes)) || null, 'store');
      return known(await context.store.showRetailer(retailerId, context.config.unpaidOrdersAllowed), 'store');
    });
}

/** An exact point is not exchanged for the center of a ZIP code, unless that is meant. */
async function refuseLoss(context: Context, retailerId: string, confirmed: Confirmed): Promise<void> {
  const { store, config } = context;
  const { address, lat, lng } = known(await store.showRetailer(retailerId, config.unpaidOrdersAllowed), 'store');
  const point = { lat: Number(lat), lng: Number(lng) };
  if (!isCenter(context, String(address), point)) {
    confirm(
      confirmed,
      'This puts the center of the ZIP code, which may be kilometers off, in place of an exact point. ' +
        'Better give --lat and --lng, those of before where the store has not moved.',
    );
  }
  warnOfCenter(context);
}

function refuseNothing(named: string | undefined): void {
  if (named === undefined) throw new CommandError('Name what to change; see --help.');
}
