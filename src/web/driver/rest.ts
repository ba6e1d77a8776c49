/** Time for which a new step accepts no press, as a second tap was meant for the step before. */
const REST_MS = 500;

/** By its first button, the step of each group that is shown, and the end of its rest. */
const groups = new Map<HTMLElement, { readonly step: string; readonly timer: number }>();

/**
 * Lets the buttons of a new step rest for a moment. They are not `disabled`, which would take the focus from a
 * keyboard or a screen reader.
 *
 * @returns whether the step is new
 */
export function restOnNewStep(step: string, first: HTMLElement, ...others: readonly HTMLElement[]): boolean {
  const shown = groups.get(first);
  if (step === shown?.step) return false;
  clearTimeout(shown?.timer);
  const rest = (resting: boolean) => {
    for (const button of [first, ...others]) button.setAttribute('aria-disabled', String(resting));
  };
  rest(true);
  groups.set(first, { step, timer: window.setTimeout(() => rest(false), REST_MS) });
  return true;
}

export function isResting(button: HTMLElement): boolean {
  return button.getAttribute('aria-disabled') === 'true';
}
