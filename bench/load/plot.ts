import type { Curve } from './figures.ts';

const WIDTH = 860;
const HEIGHT = 480;
const BOX = { left: 80, right: 30, top: 60, bottom: 60 };
const COLOURS = ['#1663a6', '#c2410c', '#15803d', '#7e22ce'];
/** Points of a curve at most, which is more than its pixels show. */
const MOST_POINTS = 400;
const GRID_LINES = 5;

export type Point = { readonly x: number; readonly y: number };

/**
 * Latency by percentile as HDR histograms show it: at x = log10(1 / (1 - p)) stands the latency that the
 * share p of all orders did not exceed, so that 90, 99 and 99.9 % are equally far apart.
 *
 * @param millis latencies in any order
 */
export function percentilePoints(millis: readonly number[], most = MOST_POINTS): Point[] {
  const sorted = Float64Array.from(millis).sort();
  const count = sorted.length;
  const span = Math.log10(count);
  const points: Point[] = [];
  for (let i = 0; i < count; i++) {
    const x = Math.log10(count / (count - i));
    const last = points.at(-1);
    const isNear = last !== undefined && x - last.x < span / most;
    if (!isNear || i === count - 1) points.push({ x, y: sorted[i] as number });
  }
  return points;
}

/**
 * The highest line of a grid that holds `value`, and the step between its lines: 1, 2 or 5 times ten to some
 * power.
 */
function gridOf(value: number): { readonly top: number; readonly step: number } {
  const rough = Math.max(value, 1e-3) / GRID_LINES;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  return { top: Math.ceil(value / step) * step || step, step };
}

/** An SVG that stands alone, with a curve for each rate. */
export function plotSvg(title: string, curves: readonly Curve[]): string {
  const drawn = curves.filter(({ millis }) => millis.length > 0);
  const lines = drawn.map(({ millis }) => percentilePoints(millis));
  const most = Math.max(1, ...lines.flat().map(({ y }) => y));
  const decades = Math.max(1, ...lines.flat().map(({ x }) => x));
  const { top, step } = gridOf(most);
  const x = (value: number): number => BOX.left + (value / decades) * (WIDTH - BOX.left - BOX.right);
  const y = (value: number): number => HEIGHT - BOX.bottom - (value / top) * (HEIGHT - BOX.top - BOX.bottom);
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}"`,
    '  font-family="system-ui, sans-serif" font-size="13">',
    `<title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<text x="${BOX.left}" y="24" font-size="16">${escaped(title)}</text>`,
    ...range(0, top / step).map((i) => level(y(i * step), label(i * step))),
    ...range(0, Math.floor(decades)).map((decade) => decadeLine(x(decade), percentage(decade))),
    `<text x="${WIDTH / 2}" y="${HEIGHT - 14}" text-anchor="middle">share of orders that were answered sooner</text>`,
    `<text transform="translate(20 ${HEIGHT / 2}) rotate(-90)" text-anchor="middle">ms since the order was due</text>`,
    ...lines.map((points, i) => curve(points, x, y, COLOURS[i % COLOURS.length] as string)),
    ...drawn.map(({ name }, i) => legend(name, i, COLOURS[i % COLOURS.length] as string)),
    '</svg>',
  ].join('\n')}\n`;
}

/** 0 is 0 %, 1 is 90 %, 2 is 99 %, and so on. */
function percentage(decade: number): string {
  const digits = `${'9'.repeat(decade)}00`;
  const rest = decade > 2 ? `.${'9'.repeat(decade - 2)}` : '';
  return decade === 0 ? '0 %' : `${digits.slice(0, 2)}${rest} %`;
}

function level(y: number, text: string): string {
  const line = `<path d="M${BOX.left} ${y.toFixed(1)}H${WIDTH - BOX.right}" stroke="#ddd"/>`;
  return `${line}<text x="${BOX.left - 8}" y="${(y + 4).toFixed(1)}" text-anchor="end">${text}</text>`;
}

function decadeLine(x: number, text: string): string {
  const line = `<path d="M${x.toFixed(1)} ${BOX.top}V${HEIGHT - BOX.bottom}" stroke="#ddd"/>`;
  return `${line}<text x="${x.toFixed(1)}" y="${HEIGHT - BOX.bottom + 20}" text-anchor="middle">${text}</text>`;
}

function curve(points: readonly Point[], x: (v: number) => number, y: (v: number) => number, colour: string): string {
  const path = points.map((point) => `${x(point.x).toFixed(1)} ${y(point.y).toFixed(1)}`).join('L');
  return `<path d="M${path}" fill="none" stroke="${colour}" stroke-width="2" stroke-linejoin="round"/>`;
}

function legend(name: string, i: number, colour: string): string {
  const at = BOX.left + i * 170;
  const line = `<path d="M${at} 44h24" stroke="${colour}" stroke-width="3"/>`;
  return `${line}<text x="${at + 32}" y="48">${escaped(name)}</text>`;
}

const label = (ms: number): string => ms.toLocaleString('en-US', { maximumFractionDigits: 3 });
const range = (from: number, to: number): number[] =>
  Array.from({ length: Math.round(to) - from + 1 }, (_, i) => from + i);
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
