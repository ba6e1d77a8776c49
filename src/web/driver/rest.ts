/** Time for which a new step accepts no press, as a second tap was meant for the step before. */
const REST_MS = 500;

let shown = '';
let timer: number | undefined;

/**
 * Scrolls a new step to its top and lets its buttons rest for a moment. They are not `disabled`, which would
 * take the focus from a keyboard or a screen reader.
 */
export function restOnNewStep(step: string, buttons: readonly HTMLElement[]): void {
  if (step === shown) return;
  shown = step;
  window.scrollTo(0, 0);
  clearTimeout(timer);
  const rest = (resting: boolean) => {
    for (const button of buttons) button.setAttribute('aria-disabled', String(resting));
  };
  rest(true);
  timer = window.setTimeout(() => rest(false), REST_MS);
}

export function isResting(button: HTMLElement): boolean {
  return button.getAttribute('aria-disabled') === 'true';
}
