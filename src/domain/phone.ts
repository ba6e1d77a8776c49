const E164 = /^\+[1-9]\d{6,14}$/;

/** Whether `text` has E.164 form. It says nothing about whether the number exists. */
export function isPhone(text: string): boolean {
  return E164.test(text);
}
