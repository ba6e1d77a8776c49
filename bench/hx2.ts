import { cellIndex, cellPathByH3 } from '../src/geo/cells.ts';
import { cellPath } from '../src/geo/hexagons.ts';
import { writeVector } from '../src/geo/point.ts';

const v = new Float64Array(3);
const by = new Map<string, number>();
const tot = new Map<number, number>();
for (let i = 0; i < 1000000; i++) {
  const lat = (Math.asin(2 * Math.random() - 1) * 180) / Math.PI,
    lng = 360 * Math.random() - 180;
  writeVector(lat, lng, v, 0);
  const a = cellPath(lat, lng, v, 0),
    b = cellPathByH3(lat, lng);
  tot.set(Math.floor(b / 2 ** 33), 1 + (tot.get(Math.floor(b / 2 ** 33)) ?? 0));
  if (a !== b) {
    const base = Math.floor(b / 2 ** 33);
    const da = a.toString(8).slice(-11),
      db = b.toString(8).slice(-11);
    let k = 0;
    while (da[k] === db[k]) k++;
    const key = base + ' first diff ' + k;
    by.set(key, (by.get(key) ?? 0) + 1);
    if (by.get(key) === 1) console.log(base, da, db);
  }
}
console.log([...by].sort().slice(0, 60), tot.get(116));
