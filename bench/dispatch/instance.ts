import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Meters east and north of an instance's origin. */
export type Place = { readonly x: number; readonly y: number };

/** A day: times are minutes since its begin. */
export type Instance = {
  readonly name: string;
  readonly metersPerMinute: number;
  readonly pickupMinutes: number;
  readonly dropoffMinutes: number;
  readonly orders: readonly Ordered[];
  readonly couriers: readonly Courier[];
};

/** An order: placed at one time, ready at its store at a later one. */
export type Ordered = {
  readonly id: string;
  readonly store: string;
  readonly pickup: Place;
  readonly dropoff: Place;
  readonly placedAt: number;
  readonly readyAt: number;
};

export type Courier = { readonly id: string; readonly start: Place; readonly onAt: number; readonly offAt: number };

/** The names of the instances in a folder, sorted. */
export function instanceNames(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => existsSync(join(folder, name, 'orders.txt')))
    .sort();
}

/** Reads an instance in the format of MDRPLIB: tables of text, a folder for each instance. */
export function readInstance(folder: string, name: string): Instance {
  const table = (file: string) => readTable(join(folder, name, `${file}.txt`));
  const [parameters] = table('instance_parameters');
  const stores = new Map(table('restaurants').map((row) => [row.text('restaurant'), row.place()]));
  if (!parameters) throw new Error(`${name}: instance_parameters.txt has no row`);
  return {
    name,
    metersPerMinute: parameters.number('meters_per_minute'),
    pickupMinutes: parameters.number('pickup service minutes'),
    dropoffMinutes: parameters.number('dropoff service minutes'),
    orders: table('orders').map((row) => {
      const store = row.text('restaurant');
      const pickup = stores.get(store);
      if (!pickup) throw new Error(`${name}: restaurants.txt has no ${store}`);
      const [placedAt, readyAt] = [row.number('placement_time'), row.number('ready_time')];
      return { id: row.text('order'), store, pickup, dropoff: row.place(), placedAt, readyAt };
    }),
    couriers: table('couriers').map((row) => {
      const [onAt, offAt] = [row.number('on_time'), row.number('off_time')];
      return { id: row.text('courier'), start: row.place(), onAt, offAt };
    }),
  };
}

type Row = { text(column: string): string; number(column: string): number; place(): Place };

/** Reads a table: columns are parted by tabs, and the first line names them. */
function readTable(file: string): Row[] {
  const [head = '', ...lines] = readFileSync(file, 'utf8').split(/\r?\n/);
  const columns = head.split('\t');
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const fields = line.split('\t');
      const text = (column: string) => {
        const field = fields[columns.indexOf(column)];
        if (field === undefined) throw new Error(`${file}: no ${column} in "${line}"`);
        return field;
      };
      const number = (column: string) => {
        const value = Number(text(column));
        if (!Number.isFinite(value)) throw new Error(`${file}: ${column} is no number in "${line}"`);
        return value;
      };
      return { text, number, place: () => ({ x: number('x'), y: number('y') }) };
    });
}
