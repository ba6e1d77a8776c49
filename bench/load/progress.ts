export type Progress = {
  /** Shows what the run does now, in place of what it did before. */
  say(text: string): void;
  /** Removes the line. */
  end(): void;
};

type Screen = { readonly isTTY?: boolean; write(text: string): unknown };
const TICK_MS = 1_000;

/**
 * A line of progress with the seconds since the start: one that changes on a terminal, else one for each
 * part.
 */
export function openProgress(screen: Screen = process.stderr): Progress {
  const startedMs = performance.now();
  let text = '';
  const line = (): string => `[${String(Math.round((performance.now() - startedMs) / 1_000)).padStart(3)} s] ${text}`;
  const clear = '\r\x1b[2K';
  const draw = (): void => void (text === '' || screen.write(`${clear}${line()}`));
  const timer = screen.isTTY ? setInterval(draw, TICK_MS).unref() : undefined;
  return {
    say(next) {
      text = next;
      if (screen.isTTY) draw();
      else screen.write(`${line()}\n`);
    },
    end() {
      clearInterval(timer);
      if (screen.isTTY && text !== '') screen.write(clear);
      text = '';
    },
  };
}
