import type { TrackingStatus } from '../../tracking/messages.ts';
import type { TrackingView } from '../../tracking/tracking-view.ts';
import type { TrackingKey } from '../../words/tracking.ts';
import { byId, setText } from '../shared/dom.ts';
import { within } from '../shared/within.ts';
import { say } from './track-words.ts';

type Notes = NonNullable<TrackingView['dropoff_notes']>;

/** Longest wait for the service to take the notes, in milliseconds. */
const SAVE_MS = 15_000;
const SAID = new Map<number, TrackingKey>([
  [409, 'notes_too_late'],
  [429, 'notes_too_often'],
]);

/** The form in which the customer says where the parcel goes, until the driver has it. */
export class NotesForm {
  readonly #path: string;
  readonly #saved: (view: TrackingView) => void;
  readonly #text = byId<HTMLTextAreaElement>('notes-text');
  readonly #door = byId<HTMLInputElement>('notes-door');
  readonly #save = byId<HTMLButtonElement>('notes-save');
  /** What the form was filled with last. */
  #known: Notes = { instructions: null, leave_at_door: false };
  #isSaving = false;
  #said: TrackingKey | null = null;

  /** @param saved called with the order as it is after the notes were taken */
  constructor(token: string, saved: (view: TrackingView) => void) {
    this.#path = `/track/${token}/dropoff`;
    this.#saved = saved;
    const form = byId<HTMLFormElement>('notes-form');
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#send();
    });
    form.addEventListener('input', () => this.#isSaving || this.#say(null));
  }

  /**
   * Fills the form in, unless the customer has begun to write. Without notes it goes away with its text; what is
   * not saved by then stays until the order has ended, and the form says that it is too late.
   */
  show(notes: TrackingView['dropoff_notes'], final: boolean): void {
    const isLate = notes === null && !final && this.#isChanged();
    byId('notes-card').hidden = notes === null && !isLate;
    if (notes !== null && !this.#isSaving && !this.#isSaidOf(notes)) this.#say(null);
    this.#text.readOnly = notes === null;
    this.#door.disabled = notes === null;
    this.#save.disabled = notes === null || this.#isSaving;
    if (isLate && !this.#isSaving) this.#say('notes_too_late');
    else if (notes === null && !isLate) this.#fill({ instructions: null, leave_at_door: false });
    else if (notes !== null && !(this.#isChanged() && this.#isChanged(notes))) this.#fill(notes);
  }

  /** Whether what was said still holds: "saved" for as long as it is, "not saved" until it is. */
  #isSaidOf(notes: Notes): boolean {
    const isSaved = !this.#isChanged(notes);
    return isSaved === (this.#said === 'notes_saved') && !this.#text.readOnly;
  }

  #fill(notes: Notes): void {
    this.#known = notes;
    this.#text.value = notes.instructions ?? '';
    this.#door.checked = notes.leave_at_door;
  }

  #isChanged(since = this.#known): boolean {
    return this.#text.value !== (since.instructions ?? '') || this.#door.checked !== since.leave_at_door;
  }

  async #send(): Promise<void> {
    const written = this.#text.value;
    const sent = { instructions: written.trim() || null, leave_at_door: this.#door.checked };
    this.#isSaving = true;
    this.#save.disabled = true;
    this.#say('notes_saving');
    const answer = await put(this.#path, sent);
    this.#isSaving = false;
    this.#save.disabled = this.#text.readOnly;
    if (typeof answer === 'number') {
      this.#say(this.#text.readOnly ? 'notes_too_late' : (SAID.get(answer) ?? 'notes_failed'));
      return;
    }
    const isAll = this.#text.value === written && this.#door.checked === sent.leave_at_door;
    // What was written meanwhile stays.
    if (isAll) this.#fill(sent);
    else this.#known = sent;
    // First what the service made of them, which may lack marks that nobody sees.
    this.#saved(answer);
    this.#say(isAll ? 'notes_saved' : 'notes_saved_in_part');
    if (this.#text.readOnly) this.show(null, false);
  }

  #say(key: TrackingKey | null): void {
    this.#said = key;
    setText(byId('notes-state'), key === null ? '' : say(key));
  }
}

/** The order after the change, or the status of the refusal; 0 where there was no answer. */
async function put(path: string, { instructions, leave_at_door }: Notes): Promise<TrackingView | number> {
  const headers = { 'Content-Type': 'application/json' };
  const body = JSON.stringify({ dropoff_instructions: instructions, leave_at_door });
  return within(SAVE_MS, async (signal) => {
    const response = await fetch(path, { method: 'PUT', headers, body, signal });
    return response.ok ? ((await response.json()) as TrackingStatus).order : response.status;
  }).catch(() => 0);
}
