import type { CliCommand } from '../cli/command.ts';
import { CommandError } from '../cli/context.ts';
import { Listed, type ListOptions, readPageRequest, readSearch, withListOptions } from '../cli/list.ts';
import { leaveJobs } from '../cli/owed-jobs.ts';
import { type Confirmed, confirm, known, oneOf, requireId, text, withYes, zonedTime } from '../cli/parts.ts';
import { MAX_DRIVER_CAPACITY } from '../domain/driver.ts';
import { hashSecret, newId, newSecret } from '../domain/ids.ts';
import { isPhone } from '../domain/phone.ts';
import { DEFAULT_VEHICLE, VEHICLES } from '../domain/vehicle.ts';
import { findPhones, tellPhones } from '../driver-app/push-command.ts';
import { MAX_DUTY_MS } from '../limits.ts';
import { DRIVER_LIST_STATUSES } from '../store/pages.ts';
import { addDriverCorrection } from './corrections.ts';
import { addDriverImport } from './driver-import.ts';
import { addPhoneLinks } from './driver-phone.ts';
import { readTiers } from './driver-tiers.ts';

type CreateOptions = Confirmed & {
  readonly name: string;
  readonly phone: string;
  readonly tiers?: string;
  readonly vehicle: string;
  readonly capacity: string;
};

/** `driver create|import|list|show|set|set-…|sign-in-link|traccar-link|deactivate` */
export function addDriverCommands(program: CliCommand): void {
  const driver = program.command('driver').description('drivers and their tokens');
  withYes(driver.command('create'))
    .description('add a driver, off duty; the token is shown once')
    .requiredOption('--name <name>')
    .requiredOption('--phone <phone>', 'E.164, like +14155550123')
    .option('--tiers <tiers>', 'tiers that the driver is qualified for; all by default')
    .option('--vehicle <vehicle>', VEHICLES.join(', '), DEFAULT_VEHICLE)
    .option('--capacity <orders>', 'how many orders at a time', '1')
    .runs(async (context, _args, options: CreateOptions) => {
      if (!isPhone(options.phone)) throw new CommandError('--phone takes E.164 form, like +14155550123.');
      const vehicle = oneOf('--vehicle', options.vehicle, VEHICLES);
      const capacity = readCapacity(options.capacity);
      const tierIds = await readTiers(context, options.tiers);
      const id = newId();
      const token = newSecret('driver_token');
      const name = text('--name', options.name);
      const { phone } = options;
      const twin = await context.store.findDriverByPhone(phone);
      if (twin) confirm(options, `A driver with this phone is there: ${twin}. This makes another one.`);
      const tokenHash = hashSecret(token);
      await context.store.createDriver({ id, name, phone, tokenHash, tierIds, vehicle, capacity });
      return { driver_id: id, driver_token: token };
    });
  withListOptions(
    driver
      .command('list')
      .description('list drivers with duty, order and last written position; those silent with an order come first'),
    DRIVER_LIST_STATUSES,
    'a part of the name or phone, or the whole id',
  ).runs(async ({ store }, _args, options: ListOptions) => {
    const search = readSearch(options, DRIVER_LIST_STATUSES);
    return Listed.rows('drivers', await store.listDrivers(search, readPageRequest(options)));
  });
  driver
    .command('show <driver_id>')
    .description('show a driver')
    .runs(async ({ store }, [id]) => known(await store.showDriver(requireId(id)), 'driver'));
  driver
    .command('set-vehicle <driver_id> <vehicle>')
    .description(`say what a driver drives: ${VEHICLES.join(', ')}`)
    .runs(async ({ store }, [id, wanted = '']) => {
      const driverId = requireId(id);
      const vehicle = oneOf('The vehicle', wanted, VEHICLES);
      if (!(await store.correctDriver(driverId, { vehicle }))) throw new CommandError('There is no such driver.');
      return { driver_id: driverId, vehicle };
    });
  addDriverCorrection(driver);
  addDriverImport(driver);
  addPhoneLinks(driver);
  driver
    .command('set-capacity <driver_id> <orders>')
    .description(`say how many orders a driver carries at a time: 1 to ${MAX_DRIVER_CAPACITY}`)
    .runs(async ({ store }, [id, orders = '']) => {
      const driverId = requireId(id);
      const capacity = readCapacity(orders);
      if (!(await store.correctDriver(driverId, { capacity }))) throw new CommandError('There is no such driver.');
      return { driver_id: driverId, capacity };
    });
  driver
    .command('set-until <driver_id> <time>')
    .description(
      'say until when a driver on duty stays on duty: a time with its zone, like 2026-11-23T22:00:00Z, or "none"',
    )
    .runs(async ({ store }, [id, time = '']) => {
      const driverId = requireId(id);
      const until = time === 'none' ? null : readUntil(time);
      if (!(await store.setDutyEnd(driverId, until))) throw new CommandError('There is no such driver on duty.');
      return { driver_id: driverId, on_duty_until: until?.toISOString() ?? null };
    });
  withYes(driver.command('deactivate <driver_id>'))
    .description('deactivate a driver for good; an order goes to the next driver, after its pickup it is ended first')
    .runs(async (context, [id], confirmed: Confirmed) => {
      const { name, carrying } = known(await context.store.showDriver(requireId(id)), 'driver');
      confirm(confirmed, `This takes “${name}”, who carries ${carrying} orders, off the fleet for good.`);
      const phones = await findPhones(context, requireId(id));
      const deactivated = await context.store.deactivateDriver(requireId(id));
      const { released, carriedOrderIds } = known(deactivated, 'driver');
      await leaveJobs(context, released);
      if (released.length > 0) await tellPhones(context, phones);
      return {
        driver_id: id,
        active: false,
        released_order_id: released[0]?.id ?? null,
        carried_order_id: carriedOrderIds[0] ?? null,
        released_order_ids: released.map((order) => order.id),
        carried_order_ids: carriedOrderIds,
      };
    });
}

function readCapacity(given: string): number {
  const capacity = Number(given);
  if (/^\d{1,2}$/.test(given) && capacity >= 1 && capacity <= MAX_DRIVER_CAPACITY) return capacity;
  throw new CommandError(`The number of orders is 1 to ${MAX_DRIVER_CAPACITY}.`);
}

function readUntil(given: string): Date {
  const until = zonedTime('The time', given);
  const aheadMs = (until?.getTime() ?? 0) - Date.now();
  if (until && aheadMs > 0 && aheadMs <= MAX_DUTY_MS) return until;
  throw new CommandError(`The time is in the next ${MAX_DUTY_MS / 3_600_000} hours, like 2026-11-23T22:00:00Z.`);
}
