/** For so long a step that has just come takes no press: a second tap was meant for what stood in its place. */
const RESOLVE_MS = 500;

let shown = '';
let timer: number | undefined;

/**
 * Where the step is a new one, shows it from its top and lets its buttons rest for a moment. They are not `disabled`, which
 * would take the focus away from whoever uses a keyboard or a screen reader.
 */
export function settle(step: string, buttons: readonly HTMLElement[]): void {
  if (step === shown) return;
  shown = step;
  window.scrollTo(0, 0);
  clearTimeout(timer);
  const rest = (resting: boolean) => {
    for (const button of buttons) button.setAttribute('aria-disabled', String(resting));
  };
  rest(true);
  timer = window.setTimeout(() => rest(false), RESOLVE_MS);
}

export function isResting(button: HTMLElement): boolean {
  return button.getAttribute('aria-disabled') === 'true';
}
