/** The languages of the pages; the first is that of a reader who asks for none of them. */
export const LANGUAGES = ['en', 'es'] as const;
export type Language = (typeof LANGUAGES)[number];

/** A text, in which `{name}` stands for a value, or its forms for one and for several of `{count}`. */
export type Text = string | { readonly one: string; readonly other: string };

/** The texts of a page in one language. Another language has the same keys, so that a gap does not compile. */
export type Catalogue<Key extends string = string> = Readonly<Record<Key, Text>>;

/** Puts values into a text; a form is chosen by `count`. */
export type Speak<Key extends string> = (key: Key, values?: Readonly<Record<string, string | number>>) => string;

/** Speaks one language of a page. A value that is missing leaves its name in the text. */
export function speaker<Key extends string>(catalogue: Catalogue<Key>): Speak<Key> {
  return (key, values = {}) => {
    const text = catalogue[key];
    const form = typeof text === 'string' ? text : values.count === 1 ? text.one : text.other;
    return form.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
  };
}

/**
 * The language of a reader by the languages that a browser names, best first, such as `navigator.languages`
 * or `acceptedLanguages`.
 */
export function languageOf(wanted: readonly string[]): Language {
  for (const each of wanted) {
    const base = each.trim().split('-')[0]?.toLowerCase();
    const found = LANGUAGES.find((language) => language === base);
    if (found) return found;
  }
  return LANGUAGES[0];
}

/** The languages of a header Accept-Language (RFC 9110, 12.5.4), best first, without those it refuses. */
export function acceptedLanguages(header: string): string[] {
  const ranges = header
    .toLowerCase()
    .replaceAll(' ', '')
    .split(',')
    .map((range) => {
      const [tag = '', weight = '1'] = range.split(';q=');
      return { tag, weight: Number(weight) };
    });
  const accepted = ranges.filter(({ weight }) => weight > 0);
  return accepted.sort((one, other) => other.weight - one.weight).map(({ tag }) => tag);
}
