import { MAX_ACCURACY_METERS, POSITION_FRESH_MS, ROUGH_POSITION_METERS } from '../../limits.ts';
import type { Report } from './api.ts';
import { clockAheadMs } from './clock.ts';
import type { Fix } from './route.ts';

/** Shortest time between two positions that a driver's page reports. A car moves about 30 m meanwhile. */
const DRIVER_REPORT_MS = 2_000;
/** Interval at which a phone that stands still is asked. Two are below POSITION_FRESH_MS, so one may fail. */
const DRIVER_ASK_MS = 25_000;

/** `rough`: the phone gives away only about where it is. */
export type PositionProblem = 'denied' | 'unavailable' | 'rough';

export type PositionListener = {
  /** @param takenMs when the phone took it, milliseconds since 1970 by its own clock */
  position(report: Report, fix: Fix, takenMs: number): void;
  problem(problem: PositionProblem | null): void;
};

/** Silence after which a phone is asked for its position, checked every DRIVER_ASK_MS. */
const SILENT_MS = 20_000;
/** Age below which a position is reported as taken now, so that a phone with a wrong clock counts too. */
const FRESH_MS = 5_000;
const OPTIONS: PositionOptions = { enableHighAccuracy: true, maximumAge: 2_000, timeout: 20_000 };

/** Watches the phone's position and reports it, whether the phone moves or not. */
export class PositionWatch {
  readonly #listener: PositionListener;
  #watch: number | null = null;
  #asking: number | undefined;
  #later: number | undefined;
  #last: GeolocationPosition | null = null;
  #foundMs = Number.NEGATIVE_INFINITY;
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(listener: PositionListener) {
    this.#listener = listener;
  }

  start(): void {
    if (this.#watch !== null || !('geolocation' in navigator)) return;
    this.#watchAnew();
    this.#asking = window.setInterval(() => {
      if (performance.now() - this.#foundMs >= SILENT_MS) this.#watchAnew();
    }, DRIVER_ASK_MS);
  }

  stop(): void {
    if (this.#watch !== null) navigator.geolocation.clearWatch(this.#watch);
    this.#watch = null;
    clearInterval(this.#asking);
    clearTimeout(this.#later);
    this.#later = undefined;
    this.#last = null;
    this.#foundMs = Number.NEGATIVE_INFINITY;
  }

  /** Reports the position now, as the page was hidden or the connection is new. */
  ask(): void {
    if (this.#watch === null) return;
    if (this.#last && performance.now() - this.#foundMs < FRESH_MS) this.#tellSoon();
    else this.#watchAnew();
  }

  /** Starts the watch anew, as a watch begins with a new position and a single request may wait. */
  #watchAnew(): void {
    if (this.#watch !== null) navigator.geolocation.clearWatch(this.#watch);
    this.#watch = navigator.geolocation.watchPosition(this.#found, this.#failed, OPTIONS);
  }

  #found = (position: GeolocationPosition): void => {
    if (this.#watch === null) return;
    this.#listener.problem(position.coords.accuracy > ROUGH_POSITION_METERS ? 'rough' : null);
    this.#last = position;
    this.#foundMs = performance.now();
    this.#tellSoon();
  };

  #failed = (error: GeolocationPositionError): void => {
    // No fix within the time-out is usual between tall buildings; the watch goes on, and orders come for a while.
    if (error.code === error.PERMISSION_DENIED) this.#listener.problem('denied');
    else if (performance.now() - this.#foundMs >= POSITION_FRESH_MS) this.#listener.problem('unavailable');
  };

  #tellSoon(): void {
    const wait = this.#toldMs + DRIVER_REPORT_MS - performance.now();
    if (wait <= 0) this.#tell();
    else this.#later ??= window.setTimeout(() => this.#tell(), wait);
  }

  #tell(): void {
    clearTimeout(this.#later);
    this.#later = undefined;
    if (!this.#last) return;
    this.#toldMs = performance.now();
    const { coords, timestamp } = this.#last;
    const fresh = Date.now() - timestamp < FRESH_MS;
    const place = { lat: coords.latitude, lng: coords.longitude };
    const said = { ...place, accuracy_m: Math.min(coords.accuracy, MAX_ACCURACY_METERS) };
    const report = fresh ? said : { ...said, captured_at: new Date(timestamp + clockAheadMs()).toISOString() };
    this.#listener.position(report, { ...place, accuracyMeters: coords.accuracy }, timestamp);
  }
}
