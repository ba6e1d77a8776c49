import { cellCentre, cellIndex, cellPathByH3 } from '../src/geo/cells.ts';
import { cellPath } from '../src/geo/hexagons.ts';
import { distanceMeters, writeVector } from '../src/geo/point.ts';

const v = new Float64Array(3);
let n = 0;
for (let i = 0; i < 1000000 && n < 14; i++) {
  const lat = (Math.asin(2 * Math.random() - 1) * 180) / Math.PI,
    lng = 360 * Math.random() - 180;
  writeVector(lat, lng, v, 0);
  const a = cellPath(lat, lng, v, 0),
    b = cellPathByH3(lat, lng);
  if (a !== b) {
    n++;
    const p = { lat, lng };
    console.log(
      a.toString(8).slice(-11),
      b.toString(8).slice(-11),
      distanceMeters(p, cellCentre(a, 11)).toFixed(3),
      distanceMeters(p, cellCentre(b, 11)).toFixed(3),
      distanceMeters(cellCentre(a, 11), cellCentre(b, 11)).toFixed(1),
    );
  }
}
