import { openPlaces } from '../app/places.ts';
import type { CliCommand } from '../cli/command.ts';
import { CommandError, type Context } from '../cli/context.ts';
import { oneOf } from '../cli/parts.ts';
import { LOCATE_TIMEOUT_MS } from '../dispatch/locate-job.ts';
import { findAddress, type Places } from '../dispatch/places.ts';
import { findZip } from '../domain/address.ts';
import { newId } from '../domain/ids.ts';
import { isPoint, type Point } from '../geo/point.ts';
import { TEST_CARDS } from '../sandbox/test-cards.ts';
import type { NewRetailer } from '../store/accounts/retailers.ts';

export type CardOptions = { stripeCustomer?: string; paymentMethod?: string; testCard?: string };
export type PlaceOptions = { lat?: string; lng?: string };

/** Kinds of `--test-card`; a store without a card is made with `none`. */
const CARD_KINDS = [...Object.keys(TEST_CARDS), 'none'];

export const withCard = (command: CliCommand): CliCommand =>
  command
    .option('--stripe-customer <cus>', "the store's customer at Stripe")
    .option('--payment-method <pm>', 'a card of that customer')
    .option('--test-card <kind>', `sandbox only: ${CARD_KINDS.join(', ')}; ok by default for a new store`);
export const withPlace = (command: CliCommand): CliCommand =>
  command.option('--lat <degrees>', "the store's latitude").option('--lng <degrees>', "the store's longitude");

/** A store to be made: its card as the options say, its point as `locateStore` finds it. */
export async function newRetailer(
  context: Context,
  name: string,
  address: string,
  options: CardOptions & PlaceOptions,
): Promise<NewRetailer> {
  const card = cardFor(context, options);
  const { point, source } = await locateStore(context, address, options);
  if (source === 'zip_centroid') warnOfCenter(context);
  return retailerAt(point, name, address, card);
}

/** A store to be made at a place. */
export function retailerAt(point: Point, name: string, address: string, card: Card | null): NewRetailer {
  const { customer = null, paymentMethod = null } = card ?? {};
  return { id: newId(), name, address, point, stripeCustomerId: customer, stripePaymentMethodId: paymentMethod };
}

/** Says that a store's point is that of its ZIP code. */
export function warnOfCenter({ output }: Pick<Context, 'output'>): void {
  output.tell('The point is the center of the ZIP code and may be kilometers off: better give --lat and --lng.');
}

/** The card that the options name, else the sandbox's; null for none. */
export function cardFor(context: Context, options: CardOptions): Card | null {
  return chosenCard(context, options) ?? (context.sandbox ? TEST_CARDS.ok : null);
}

type Card = { readonly customer: string | null; readonly paymentMethod: string | null };

/** The card that the options name; null where they name none. */
export function chosenCard(context: Context, options: CardOptions): Card | null {
  if (options.testCard !== undefined) {
    if (!context.sandbox) throw new CommandError('--test-card is for the sandbox only.');
    const kind = oneOf('--test-card', options.testCard, CARD_KINDS);
    return TEST_CARDS[kind as keyof typeof TEST_CARDS] ?? { customer: null, paymentMethod: null };
  }
  const { stripeCustomer: customer, paymentMethod } = options;
  if (!customer && !paymentMethod) return null;
  if (!customer || !paymentMethod) throw new CommandError('--stripe-customer and --payment-method go together.');
  if (!/^cus_\w+$/.test(customer)) throw new CommandError('--stripe-customer takes the id of a customer: cus_….');
  if (!/^(pm|card|src)_\w+$/.test(paymentMethod)) {
    throw new CommandError('--payment-method takes the id of a card: pm_….');
  }
  return { customer, paymentMethod };
}

/** NaN for an empty text, which `Number` would take for 0, a valid coordinate. */
function degrees(text: string | undefined): number {
  return text?.trim() ? Number(text) : Number.NaN;
}

/** A store's point, and how it was found. */
export type LocatedStore = { readonly point: Point; readonly source: 'given' | 'geocoder' | 'zip_centroid' };

/**
 * The store's point: as given, else as its address is found.
 *
 * @throws {CommandError} where the address is not found, or the point given is none
 */
export async function locateStore(
  context: Pick<Context, 'config'>,
  address: string,
  { lat, lng }: PlaceOptions,
): Promise<LocatedStore> {
  if (lat !== undefined || lng !== undefined) {
    const point = { lat: degrees(lat), lng: degrees(lng) };
    if (!isPoint(point.lat, point.lng))
      throw new CommandError('--lat is −90 to 90 and --lng is −180 to 180, together.');
    return { point, source: 'given' };
  }
  const found = await findStore(context, address);
  if (found === 'unavailable')
    throw new CommandError('The geocoder does not answer: try again, or give --lat and --lng.');
  if (found === 'not_found') throw new CommandError('That address could not be found: give --lat and --lng.');
  return found;
}

/**
 * Where an address is: the geocoder's point, else the centroid of its ZIP code. `unavailable` where the geocoder could
 * not be asked, as it may know the door.
 */
export async function findStore(
  { config }: { readonly config: Parameters<typeof openPlaces>[0] },
  address: string,
): Promise<LocatedStore | 'not_found' | 'unavailable'> {
  const places = openPlaces(config, LOCATE_TIMEOUT_MS);
  const found = await findAddress(places, address, 'operator');
  if (found.kind === 'found') return { point: found.point, source: 'geocoder' };
  if (found.kind !== 'not_found') return 'unavailable';
  const centroid = centerOf(places, address);
  return centroid ? { point: centroid, source: 'zip_centroid' } : 'not_found';
}

/** Whether a store's point is no more than the center of its ZIP code. */
export function isCenter({ config }: Pick<Context, 'config'>, address: string, { lat, lng }: Point): boolean {
  const center = centerOf(openPlaces(config), address);
  return center?.lat === lat && center.lng === lng;
}

const centerOf = ({ zips }: Pick<Places, 'zips'>, address: string): Point | undefined =>
  zips.area(findZip(address) ?? '')?.point;
