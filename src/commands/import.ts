import type { CliCommand } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import type { ImportLine } from '../cli/csv-file.ts';
import { known, requireId } from '../cli/parts.ts';
import { newId } from '../domain/ids.ts';
import { MAX_ORGANIZATION_STORES } from '../limits.ts';
import { type ImportedStore, readImportFile } from './import-file.ts';
import { importLines, type LineReport } from './import-report.ts';
import { newKey } from './keys.ts';
import { type CardOptions, cardFor, findStore, type LocatedStore, retailerAt, withCard } from './new-store.ts';

type ImportOptions = CardOptions & { organization?: string; dryRun?: boolean; json?: boolean };

/** What became of a line of the file. */
type Report = LineReport & {
  readonly retailer_id?: string;
  /** Shown once. */
  readonly api_key?: string;
  readonly external_id?: string | null;
  /** How the store's point was found. */
  readonly point?: string;
};

const COLUMNS = ['line', 'status', 'retailer_id', 'api_key', 'external_id', 'point', 'field', 'message'] as const;

/** `retailer import` */
export function addImport(retailer: CliCommand): void {
  withCard(retailer.command('import <file>'))
    .description('create a store for each line of a CSV file; a report of each line has its id and key, shown once')
    .option('--organization <organization_id>', 'the organization that the new stores belong to')
    .option('--dry-run', 'check every line and create nothing')
    .runs(async (context, [file = ''], options: ImportOptions) => {
      const lines = readImportFile(file);
      await importLines(context.output, lines, COLUMNS, options.json === true, () => createImport(context, options));
    });
}

/** Makes the function that imports a line. */
async function createImport(
  context: Context,
  options: ImportOptions,
): Promise<(line: ImportLine<ImportedStore>) => Promise<Report>> {
  const { store } = context;
  const organizationId = options.organization === undefined ? null : requireId(options.organization);
  const stores = organizationId === null ? 0 : known(await store.countStoresOf(organizationId), 'organization');
  const card = cardFor(context, options);
  /** Those that this run made, or would make. */
  const made = new Map<string, string | null>();
  let room = organizationId === null ? Number.POSITIVE_INFINITY : MAX_ORGANIZATION_STORES - stores;

  async function exists(line: number, imported: ImportedStore): Promise<Report | null> {
    const before = made.get(nameOf(imported));
    if (before !== undefined) return { line, status: 'exists', ...(before === null ? {} : { retailer_id: before }) };
    const found = await store.findStoreNamed(imported.name, imported.address);
    if (found === null) return null;
    if (organizationId === null || found.organizationId === organizationId) {
      return { line, status: 'exists', retailer_id: found.id };
    }
    const message = 'is there and not of this organization: see organization add-store';
    return { line, status: 'failed', retailer_id: found.id, field: 'name', message };
  }

  async function create(line: number, imported: ImportedStore): Promise<Report> {
    const { name, address, contactEmail, externalId } = imported;
    if (room <= 0) return failure(line, 'name', `has no room: the organization has ${MAX_ORGANIZATION_STORES} stores`);
    const located: LocatedStore | keyof typeof NOWHERE = imported.point
      ? { point: imported.point, source: 'given' }
      : await findStore(context, address);
    if (typeof located === 'string') return failure(line, 'address', NOWHERE[located]);
    const retailer = retailerAt(located.point, name, address, card);
    const { apiKey, key } = newKey(context);
    const about = { external_id: externalId, point: located.source };
    if (!options.dryRun) {
      const more = { applicationId: newId(), contactEmail, organizationId, externalId };
      const isNew = await store.importStore(retailer, key, more);
      if (!isNew) return { line, status: 'exists' };
    }
    room--;
    made.set(nameOf(imported), options.dryRun ? null : retailer.id);
    return options.dryRun
      ? { line, status: 'would_create', ...about }
      : { line, status: 'created', retailer_id: retailer.id, api_key: apiKey, ...about };
  }

  return async (read) => {
    if ('problem' in read) return failure(read.line, read.problem.field, read.problem.message);
    return (await exists(read.line, read.row)) ?? create(read.line, read.row);
  };
}

const NOWHERE = {
  not_found: 'was not found: give lat and lng',
  unavailable: 'was not looked up, as the geocoder does not answer: import the file again, or give lat and lng',
};

const failure = (line: number, field: string, message: string): Report => ({ line, status: 'failed', field, message });

/** Tells stores apart. */
const nameOf = ({ name, address }: ImportedStore): string => `${name}\n${address}`;
