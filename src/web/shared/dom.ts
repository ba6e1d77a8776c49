/** What the pages' views share. */

export function byId<E extends HTMLElement = HTMLElement>(id: string): E {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page lacks #${id}`);
  return element as E;
}

/** Shows a text, or hides its element where there is none. */
export function show(id: string, text: string | null): void {
  const element = byId(id);
  element.hidden = text === null;
  setText(element, text ?? '');
}

/** Sets a text. One that is there already is left alone, so that a screen reader reads nothing twice. */
export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** What each place shows. */
const shown = new WeakMap<HTMLElement, string>();

/** Fills a place with what `make` makes of `content`, unless it shows that already; hides it without any. */
export function fill<Part>(id: string, content: readonly Part[], make: (part: Part) => HTMLElement): void {
  const place = byId(id);
  const text = JSON.stringify(content);
  if (shown.get(place) === text) return;
  shown.set(place, text);
  place.hidden = content.length === 0;
  place.replaceChildren(...content.map(make));
}

export function element(name: string, ...children: readonly (string | HTMLElement)[]): HTMLElement {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

/** An element of a class, by which the style sheet knows it. */
export function classed(name: string, className: string, ...children: readonly (string | HTMLElement)[]): HTMLElement {
  const made = element(name, ...children);
  made.className = className;
  return made;
}

/** A text with words of the store or the customer, in its own direction. */
export function said(name: string, text: string): HTMLElement {
  const words = element(name, text);
  words.dir = 'auto';
  return words;
}
