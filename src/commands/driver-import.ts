import type { CliCommand } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { BadField, type ImportForm, type ImportLine, line, readCsvFile } from '../cli/csv-file.ts';
import { knownTierIds } from '../cli/parts.ts';
import { MAX_DRIVER_CAPACITY } from '../domain/driver.ts';
import { hashSecret, newId, newSecret } from '../domain/ids.ts';
import { isPhone } from '../domain/phone.ts';
import type { TierId } from '../domain/tier.ts';
import { DEFAULT_VEHICLE, VEHICLES, type Vehicle } from '../domain/vehicle.ts';
import type { NewDriver } from '../store/drivers/drivers.ts';
import { importLines, type LineReport } from './import-report.ts';

type ImportedDriver = Required<Omit<NewDriver, 'id' | 'tokenHash'>>;

/** What became of a line of the file. */
type Report = LineReport & {
  readonly driver_id?: string;
  /** Shown once. */
  readonly driver_token?: string;
};

const COLUMNS = ['line', 'status', 'driver_id', 'driver_token', 'field', 'message'] as const;

/** `driver import` */
export function addDriverImport(driver: CliCommand): void {
  driver
    .command('import <file>')
    .description('add a driver for each line of a CSV file; a report of each line has their id and token, shown once')
    .option('--dry-run', 'check every line and add nobody')
    .runs(async (context, [file = ''], { dryRun = false, json = false }: { dryRun?: boolean; json?: boolean }) => {
      const lines = readCsvFile(file, formOf(await knownTierIds(context)));
      await importLines(context.output, lines, COLUMNS, json, async () => createImport(context, dryRun));
    });
}

const formOf = (known: readonly TierId[]): ImportForm<ImportedDriver> => ({
  required: ['name', 'phone'],
  optional: ['tiers', 'vehicle', 'capacity'],
  read: (valueIn) => ({
    name: line('name', valueIn('name')),
    phone: readPhone(valueIn('phone')),
    tierIds: readTiers(valueIn('tiers'), known),
    vehicle: readVehicle(valueIn('vehicle')),
    capacity: readCapacity(valueIn('capacity')),
  }),
});

/** Makes the function that imports a line; one phone is one driver. */
function createImport({ store }: Context, dryRun: boolean): (line: ImportLine<ImportedDriver>) => Promise<Report> {
  /** Phones of those whom this run would add. */
  const seen = new Set<string>();
  return async (read) => {
    if ('problem' in read) return { line: read.line, status: 'failed', ...read.problem };
    const { line: number, row } = read;
    const there = await store.findDriverByPhone(row.phone);
    if (there !== null) return { line: number, status: 'exists', driver_id: there };
    if (dryRun) {
      const status = seen.has(row.phone) ? 'exists' : 'would_create';
      seen.add(row.phone);
      return { line: number, status };
    }
    const [id, token] = [newId(), newSecret('driver_token')];
    await store.createDriver({ id, ...row, tokenHash: hashSecret(token) });
    return { line: number, status: 'created', driver_id: id, driver_token: token };
  };
}

function readPhone(value: string): string {
  if (isPhone(value)) return value;
  throw new BadField('phone', 'takes E.164 form, like +14155550123');
}

function readTiers(value: string, known: readonly TierId[]): readonly TierId[] {
  if (value === '') return known;
  const tierIds = [...new Set(value.split(/[\s,;]+/))];
  if (tierIds.every((id) => known.includes(id))) return tierIds;
  throw new BadField('tiers', `takes some of ${known.join(' ')}, with spaces between`);
}

function readVehicle(value: string): Vehicle {
  const vehicle = VEHICLES.find((each) => each === (value || DEFAULT_VEHICLE));
  if (vehicle !== undefined) return vehicle;
  throw new BadField('vehicle', `is one of ${VEHICLES.join(', ')}`);
}

function readCapacity(value: string): number {
  const capacity = Number(value || '1');
  if (/^\d{0,2}$/.test(value) && capacity >= 1 && capacity <= MAX_DRIVER_CAPACITY) return capacity;
  throw new BadField('capacity', `is 1 to ${MAX_DRIVER_CAPACITY}`);
}
