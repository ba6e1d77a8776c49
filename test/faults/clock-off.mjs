// Loaded first into a process of the service, whose wall clock is then wrong by CLOCK_OFF_MS. Durations are
// right.
const offMs = Number(process.env.CLOCK_OFF_MS);
const RightDate = Date;
const now = () => RightDate.now() + offMs;

globalThis.Date = new Proxy(RightDate, {
  construct: (target, values, made) => Reflect.construct(target, values.length === 0 ? [now()] : values, made),
  apply: (target) => new target(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + offMs });
