const E164 = /^\+[1-9]\d{6,14}$/;

/** Whether `text` has E.164 form. Whether anybody answers there is not ours to say. */
export function isPhone(text: string): boolean {
  return E164.test(text);
}
