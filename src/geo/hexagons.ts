import { cellToLatLng, getBaseCellNumber, getPentagons } from 'h3-js';
import { type CellPath, COARSEST, cellPathByH3, coarseCell, FINEST, pathFrom } from './cells.ts';
import { writeVector } from './point.ts';

/**
 * The hexagons of H3 without H3's trigonometry: the same cells, several times faster.
 *
 * H3 projects each face of an icosahedron from the centre of the globe onto a plane, covers it with a grid of
 * hexagons, and names a hexagon by the way down from a coarse one ("H3: Hexagonal hierarchical geospatial
 * indexing system", h3geo.org; K. Sahr, D. White and A. J. Kimerling, "Geodesic Discrete Global Grid
 * Systems", 2003). A projection from the centre is a matrix and a division, and needs no angles. The faces
 * follow from the twelve vertices, which are the centres of H3's pentagons.
 *
 * The result may differ from h3-js in the last digits. So h3-js answers for a place too near to a border, and
 * for the twelve coarsest cells around the vertices, where a sixth of the grid is missing.
 */

/** The distance of two hexagons of resolution 0 on a face (`RES0_U_GNOMONIC` in H3's source). */
const UNIT = 0.381_966_011_250_105;
/** The angle between the grids of an odd and an even resolution: asin √(3/28). */
const TURN = Math.asin(Math.sqrt(3 / 28));
/** The width of a border in hexagons, 0.05 mm: a thousand times the error of what is computed here. */
const BORDER = 1e-6;

/** A face: the unit vector of its centre, then two axes of its plane in hexagons of the finest resolution. */
const FACE_STRIDE = 9;
const FACES = 20;
/** A little more than the cosine of 20.905 degrees, the angle from a face's centre to its edges. */
const INSCRIBED = 0.934_173;

/** The digit of the child a step (a, b) from its parent, at `(a + 1) * 3 + b + 1`; 7 for no child. */
const DIGIT_OF_STEP = Uint8Array.of(1, 3, 7, 5, 0, 2, 7, 4, 6);
/** Each digit after a sixth of a turn counter-clockwise. */
const TURNED = Uint8Array.of(0, 5, 3, 1, 6, 4, 2);
/** Each digit after as many sixths of a turn as the row's number. */
const TURNS = Array.from({ length: 6 }, (_, sixths) =>
  Uint8Array.from(TURNED, (_, digit) => {
    let turned = digit;
    for (let i = 0; i < sixths; i++) turned = TURNED[turned] as number;
    return turned;
  }),
);

const ROOT_3 = Math.sqrt(3);
/** A whole number times this is never halfway between two others, so its rounding does no harm. */
const SEVENTH = 1 / 7;
const faces = findFaces();
/** By face and hexagon of resolution 0: six times the base cell's number, plus the sixths of its turn. */
const bases = new Int16Array(FACES * 25);
const UNKNOWN = -1;
const UNANSWERED = -2;
bases.fill(UNKNOWN);
const pentagons = new Set(getPentagons(0).map((cell) => getBaseCellNumber(cell)));
const digits = new Uint8Array(FINEST + 1);
let lastFace = 0;

/**
 * The path of the finest cell that a place lies in; equal to that of `cellPathByH3`.
 *
 * @param vector holds the place's unit vector at `at`
 */
export function cellPath(lat: number, lng: number, vector: Float64Array, at: number): CellPath {
  const base = findHexagon(vector[at] as number, vector[at + 1] as number, vector[at + 2] as number);
  if (base < 0) return cellPathByH3(lat, lng);
  const known = bases[base] as number;
  if (known === UNKNOWN) return learn(base, cellPathByH3(lat, lng));
  return known === UNANSWERED ? cellPathByH3(lat, lng) : pathOf(known);
}

/** Writes a place's digits to `digits` and returns its index in `bases`; -1 for a place on a border. */
function findHexagon(x: number, y: number, z: number): number {
  const face = nearestFace(x, y, z);
  const f = face * FACE_STRIDE;
  const scale = 1 / (x * (faces[f] as number) + y * (faces[f + 1] as number) + z * (faces[f + 2] as number));
  const right = (x * (faces[f + 3] as number) + y * (faces[f + 4] as number) + z * (faces[f + 5] as number)) * scale;
  const up = (x * (faces[f + 6] as number) + y * (faces[f + 7] as number) + z * (faces[f + 8] as number)) * scale;
  // The nearest hexagon by cube coordinates, q + r + s = 0 (A. Patel, "Hexagonal Grids", redblobgames.com).
  const exactR = (2 / ROOT_3) * up;
  const exactQ = right - exactR / 2;
  let q = Math.round(exactQ);
  let r = Math.round(exactR);
  const s = Math.round(-exactQ - exactR);
  const offQ = Math.abs(q - exactQ);
  const offR = Math.abs(r - exactR);
  const offS = Math.abs(s + exactQ + exactR);
  if (offQ > offR && offQ > offS) q = -r - s;
  else if (offR > offS) r = -q - s;
  if (isNearBorder(exactQ - q, exactR - r)) return -1;
  return climb(face, q + r, r);
}

/** At the six borders, halfway to a neighbour, the fractions of two cube coordinates differ by 1. */
function isNearBorder(q: number, r: number): boolean {
  const s = -q - r;
  return Math.abs(q - r) > 1 - BORDER || Math.abs(r - s) > 1 - BORDER || Math.abs(s - q) > 1 - BORDER;
}

/** Climbs from a hexagon of the finest resolution, in axial coordinates, to its ancestor of resolution 0. */
function climb(face: number, finestA: number, finestB: number): number {
  let a = finestA;
  let b = finestB;
  for (let resolution = FINEST; resolution > 0; resolution--) {
    let parentA: number;
    let parentB: number;
    let step: number;
    if (resolution % 2 === 1) {
      parentA = Math.floor((3 * a - b) * SEVENTH + 0.5);
      parentB = Math.floor((a + 2 * b) * SEVENTH + 0.5);
      step = (a - 2 * parentA - parentB + 1) * 3 + (b + parentA - 3 * parentB + 1);
    } else {
      parentA = Math.floor((2 * a + b) * SEVENTH + 0.5);
      parentB = Math.floor((3 * b - a) * SEVENTH + 0.5);
      step = (a - 3 * parentA + parentB + 1) * 3 + (b - parentA - 2 * parentB + 1);
    }
    digits[resolution] = DIGIT_OF_STEP[step] as number;
    a = parentA;
    b = parentB;
  }
  return face * 25 + (a + 2) * 5 + b + 2;
}

function pathOf(known: number): CellPath {
  const turns = TURNS[known % 6] as Uint8Array;
  let coarse = (known / 6) | 0;
  for (let resolution = 1; resolution <= COARSEST; resolution++) {
    coarse = coarse * 8 + (turns[digits[resolution] as number] as number);
  }
  let fine = 0;
  for (let resolution = COARSEST + 1; resolution <= FINEST; resolution++) {
    fine = fine * 8 + (turns[digits[resolution] as number] as number);
  }
  return pathFrom(coarse, fine);
}

/** Remembers the base cell of a hexagon of resolution 0, as h3-js has it for a place in it. */
function learn(base: number, path: CellPath): CellPath {
  const number = coarseCell(path) >> (3 * COARSEST);
  if (digits.every((digit, resolution) => resolution === 0 || digit === 0)) return path;
  const turned = TURNS.findIndex((_, sixths) => pathOf(number * 6 + sixths) === path);
  bases[base] = turned < 0 || pentagons.has(number) ? UNANSWERED : number * 6 + turned;
  return path;
}

/** The face with the nearest centre: usually the face of before, whose inscribed circle holds the place. */
function nearestFace(x: number, y: number, z: number): number {
  const last = lastFace * FACE_STRIDE;
  if (x * (faces[last] as number) + y * (faces[last + 1] as number) + z * (faces[last + 2] as number) > INSCRIBED) {
    return lastFace;
  }
  let nearest = 0;
  let largest = -1;
  for (let face = 0; face < FACES; face++) {
    const f = face * FACE_STRIDE;
    const cosine = x * (faces[f] as number) + y * (faces[f + 1] as number) + z * (faces[f + 2] as number);
    if (cosine <= largest) continue;
    nearest = face;
    largest = cosine;
  }
  lastFace = nearest;
  return nearest;
}

/** Three neighbouring vertices of the icosahedron make a face. One of them gives the first axis. */
function findFaces(): Float64Array {
  const vertices = getPentagons(0).map((cell) => {
    const [lat, lng] = cellToLatLng(cell);
    const vector = new Float64Array(3);
    writeVector(lat, lng, vector, 0);
    return vector;
  });
  const areNeighbours = (a: Float64Array, b: Float64Array) => a !== b && dot(a, b) > 0;
  const found: number[] = [];
  for (const [i, a] of vertices.entries()) {
    for (const [j, b] of vertices.entries()) {
      for (const c of vertices.slice(j + 1)) {
        if (i < j && areNeighbours(a, b) && areNeighbours(b, c) && areNeighbours(a, c)) found.push(...faceOf(a, b, c));
      }
    }
  }
  return Float64Array.from(found);
}

function faceOf(a: Float64Array, b: Float64Array, c: Float64Array): Float64Array {
  const centre = unit(a.map((value, axis) => value + (b[axis] as number) + (c[axis] as number)));
  const towards = unit(a.map((value, axis) => value - dot(a, centre) * (centre[axis] as number)));
  const across = cross(centre, towards);
  const hexagons = Math.sqrt(7) ** FINEST / UNIT;
  const turn = FINEST % 2 === 1 ? TURN : 0;
  const mixed = (first: number, second: number) =>
    towards.map((value, axis) => hexagons * (first * value + second * (across[axis] as number)));
  return Float64Array.of(
    ...centre,
    ...mixed(Math.cos(turn), Math.sin(turn)),
    ...mixed(-Math.sin(turn), Math.cos(turn)),
  );
}

function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, value, axis) => sum + value * (b[axis] as number), 0);
}

function cross(a: Float64Array, b: Float64Array): Float64Array {
  const [ax, ay, az] = a as unknown as [number, number, number];
  const [bx, by, bz] = b as unknown as [number, number, number];
  return Float64Array.of(ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx);
}

function unit(vector: Float64Array): Float64Array {
  const length = Math.sqrt(dot(vector, vector));
  return vector.map((value) => value / length);
}
