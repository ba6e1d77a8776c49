import { byId, classed, said, setText } from '../shared/dom.ts';
import type { DriverOrder } from './state.ts';
import type { GiveUp } from './stop-words.ts';
import { type Say, shortName } from './words.ts';

/** Stands for every order that may be given back. */
const ALL = 'all';

/** Follows the sheets that ask for a reason or a confirmation before something that cannot be undone. */
export function followDialogs(
  say: Say,
  listener: {
    /** What the driver may give up now. */
    giveUp(): GiveUp | null;
    give(kind: GiveUp['kind'], orderIds: readonly string[], reason: string): void;
    leave(): void;
    /** Whether an action is unsent, which then waits for the driver. */
    owes(): boolean;
    /** Whether a change of duty is unsent, which is dropped. */
    dutyWaits(): boolean;
  },
): void {
  byId('give-up').addEventListener('click', () => {
    const giveUp = listener.giveUp();
    if (!giveUp) return;
    const several = giveUp.kind === 'release' && giveUp.orders.length > 1;
    if (giveUp.kind === 'release') {
      setText(byId('release-title'), say(several ? 'releaseTitleSome' : 'releaseTitle'));
      offerOrders(say, several ? giveUp.orders : []);
    }
    open(
      giveUp.kind,
      giveUp.orders.map(({ id }) => id),
    );
  });
  for (const kind of ['release', 'undeliverable'] as const) {
    follow(kind, (form) => {
      const answers = new FormData(form);
      const reason = answers.get('reason');
      const which = answers.get('which');
      const asked = ordersOf(byId(kind));
      const orderIds = typeof which === 'string' && which !== ALL ? [which] : asked;
      if (typeof reason === 'string') listener.give(kind, orderIds, reason);
    });
  }
  byId('release').addEventListener('close', () => offerOrders(say, []));
  byId('sign-out').addEventListener('click', () => {
    byId('leave-owing').hidden = !listener.owes();
    byId('leave-duty').hidden = !listener.dutyWaits();
    byId<HTMLDialogElement>('leave').showModal();
  });
  follow('leave', () => listener.leave());
}

/** The sheets of `ask`. */
const QUESTIONS = ['far', 'last', 'no-photo', 'switch'] as const;
type Question = (typeof QUESTIONS)[number];

/**
 * Asks something about an order's handover, the parcels on board, or a sign-in link, with a text of its own.
 *
 * @param declined is called where the sheet was closed without a yes
 */
export function ask(
  id: Question,
  text: string,
  orderIds: readonly string[],
  confirmed: () => void,
  declined?: () => void,
): void {
  setText(byId(`${id}-text`), text);
  open(id, orderIds);
  let isConfirmed = false;
  byId(id).onclose = () => isConfirmed || declined?.();
  const form = byId(id).querySelector('form') as HTMLFormElement;
  // Only the last question's answer counts.
  form.onsubmit = (event) => {
    event.preventDefault();
    const dialog = byId<HTMLDialogElement>(id);
    if (!dialog.open) return;
    isConfirmed = true;
    dialog.close();
    confirmed();
  };
}

/** Lets the sheets of `ask` be closed without an answer, and leaves no customer in them. */
export function followQuestions(): void {
  for (const id of QUESTIONS) {
    const dialog = byId<HTMLDialogElement>(id);
    closable(dialog);
    dialog.addEventListener('close', () => setText(byId(`${id}-text`), ''));
  }
}

function open(id: string, orderIds: readonly string[]): void {
  const dialog = byId<HTMLDialogElement>(id);
  dialog.dataset.orders = orderIds.join(' ');
  if (!dialog.open) dialog.showModal();
}

function ordersOf({ dataset }: HTMLElement): string[] {
  return (dataset.orders ?? '').split(' ').filter(Boolean);
}

/** One choice for each order, and one for all of them; none for a single order. */
function offerOrders(say: Say, orders: readonly DriverOrder[]): void {
  byId('release-which').hidden = orders.length === 0;
  const choices = orders.map(({ id, store_name, dropoff }) => {
    const name = `${store_name} → ${dropoff.name ?? dropoff.line1} · ${shortName(id)}`;
    return choice(id, name);
  });
  if (orders.length > 1) choices.push(choice(ALL, say('releaseAll', { count: orders.length })));
  byId('release-orders').replaceChildren(...choices);
}

function choice(value: string, text: string): HTMLElement {
  const input = document.createElement('input');
  input.type = 'radio';
  input.name = 'which';
  input.value = value;
  input.required = true;
  return classed('label', 'choice', input, said('span', text));
}

function follow(id: string, confirmed: (form: HTMLFormElement) => void): void {
  const dialog = byId<HTMLDialogElement>(id);
  const form = dialog.querySelector('form') as HTMLFormElement;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    // A second tap submits the form of a sheet that is already closed.
    if (!dialog.open) return;
    confirmed(form);
    dialog.close();
  });
  closable(dialog);
  // The next order starts without a reason.
  dialog.addEventListener('close', () => form.reset());
}

function closable(dialog: HTMLDialogElement): void {
  dialog.querySelector('[data-close]')?.addEventListener('click', () => dialog.close());
}
