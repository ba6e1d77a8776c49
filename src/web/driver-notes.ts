import type { Note } from './driver-words.ts';

/** What each place shows, so that what did not change is left alone and read out once. */
const shown = new WeakMap<HTMLElement, string>();

/** Shows the notes as blocks of text, each in its own direction, and nothing of them as markup. */
export function renderNotes(place: HTMLElement, notes: readonly Note[]): void {
  const text = JSON.stringify(notes);
  if (shown.get(place) === text) return;
  shown.set(place, text);
  place.hidden = notes.length === 0;
  place.replaceChildren(...notes.map(blockOf));
}

function blockOf({ title, text, list }: Note): HTMLElement {
  const block = document.createElement('section');
  block.className = 'note';
  block.append(element('h2', title));
  if (text !== undefined) block.append(said('p', text));
  if (list !== undefined) {
    const entries = document.createElement('ul');
    entries.append(...list.map((each) => said('li', each)));
    block.append(entries);
  }
  return block;
}

/** Text in the words of the store or the customer. */
function said(name: string, text: string): HTMLElement {
  const words = element(name, text);
  words.dir = 'auto';
  return words;
}

function element(name: string, text: string): HTMLElement {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
