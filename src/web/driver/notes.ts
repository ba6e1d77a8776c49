import { classed, element, fill, said } from '../shared/dom.ts';
import type { Note } from './stop-words.ts';

/** Shows the notes as blocks of text, each in its own direction, and nothing of them as markup. */
export function renderNotes(notes: readonly Note[]): void {
  fill('order-notes', notes, ({ title, text, list }) => {
    const block = classed('section', 'note', element('h2', title));
    if (text !== undefined) block.append(said('p', text));
    if (list !== undefined) block.append(element('ul', ...list.map((each) => said('li', each))));
    return block;
  });
}
