import { BadField, type ImportForm, type ImportLine, line, readCsvFile } from '../cli/csv-file.ts';
import { PLAUSIBLE_EMAIL } from '../domain/text.ts';
import { isPoint, type Point } from '../geo/point.ts';
import { MAX_EMAIL_LENGTH } from '../limits.ts';

/** Longest number that a chain gives a store, in characters. */
const MAX_STORE_EXTERNAL_ID_LENGTH = 100;

/** A store of an import file, its values checked. */
export type ImportedStore = {
  readonly name: string;
  readonly address: string;
  readonly contactEmail: string;
  /** Null where the geocoder or the ZIP code is to say it. */
  readonly point: Point | null;
  readonly externalId: string | null;
};

const STORES: ImportForm<ImportedStore> = {
  required: ['name', 'address', 'contact_email'],
  optional: ['lat', 'lng', 'external_id'],
  read: (valueIn) => ({
    name: line('name', valueIn('name')),
    address: line('address', valueIn('address')),
    contactEmail: readEmail(line('contact_email', valueIn('contact_email'))),
    point: readPoint(valueIn('lat'), valueIn('lng')),
    externalId: readExternalId(valueIn('external_id')),
  }),
};

/**
 * Reads a CSV file of stores.
 *
 * @throws {CommandError} where the file as a whole cannot be used
 */
export const readImportFile = (path: string): ImportLine<ImportedStore>[] => readCsvFile(path, STORES);

function readEmail(value: string): string {
  if (new RegExp(PLAUSIBLE_EMAIL, 'u').test(value) && value.length <= MAX_EMAIL_LENGTH) return value;
  throw new BadField('contact_email', 'is no e-mail address');
}

function readExternalId(value: string): string | null {
  if (value === '') return null;
  const read = line('external_id', value);
  if ([...read].length <= MAX_STORE_EXTERNAL_ID_LENGTH) return read;
  throw new BadField('external_id', `takes up to ${MAX_STORE_EXTERNAL_ID_LENGTH} characters.`);
}

const DEGREES = /^[-+]?\d{1,3}(?:\.\d{1,20})?$/;

function readPoint(lat: string, lng: string): Point | null {
  if (lat === '' && lng === '') return null;
  if (!DEGREES.test(lat) || Math.abs(Number(lat)) > 90) throw new BadField('lat', 'is −90 to 90, together with lng');
  const point = { lat: Number(lat), lng: Number(lng) };
  if (DEGREES.test(lng) && isPoint(point.lat, point.lng)) return point;
  throw new BadField('lng', 'is −180 to 180, together with lat');
}
