import { cellPathByH3 } from '../src/geo/cells.ts';
import { cellPath } from '../src/geo/hexagons.ts';
import { writeVector } from '../src/geo/point.ts';

const v = new Float64Array(3);
let bad = 0;
const N = 2_000_000;
const pts = Array.from({ length: 200000 }, () => ({
  lat: (Math.asin(2 * Math.random() - 1) * 180) / Math.PI,
  lng: 360 * Math.random() - 180,
}));
for (let i = 0; i < N; i++) {
  const lat = (Math.asin(2 * Math.random() - 1) * 180) / Math.PI,
    lng = 360 * Math.random() - 180;
  writeVector(lat, lng, v, 0);
  if (cellPath(lat, lng, v, 0) !== cellPathByH3(lat, lng)) {
    bad++;
    if (bad < 5) console.log(lat, lng, cellPath(lat, lng, v, 0), cellPathByH3(lat, lng));
  }
}
console.log('bad', bad, 'of', N);
const us = Array.from({ length: 200000 }, () => ({ lat: 25 + 24 * Math.random(), lng: -124 + 57 * Math.random() }));
for (const [name, set] of [
  ['globe', pts],
  ['us', us],
] as const)
  for (let k = 0; k < 3; k++) {
    let t = performance.now();
    let s = 0;
    for (const p of set) {
      writeVector(p.lat, p.lng, v, 0);
      s += v[0]!;
    }
    const a = performance.now() - t;
    t = performance.now();
    for (const p of set) {
      writeVector(p.lat, p.lng, v, 0);
      s += cellPath(p.lat, p.lng, v, 0);
    }
    const b = performance.now() - t;
    t = performance.now();
    for (const p of set) s += cellPathByH3(p.lat, p.lng);
    const c = performance.now() - t;
    console.log(
      name,
      'vector',
      (a / 200).toFixed(3),
      'path+vector',
      (b / 200).toFixed(3),
      'h3',
      (c / 200).toFixed(3),
      'us each',
      s > 0,
    );
  }
