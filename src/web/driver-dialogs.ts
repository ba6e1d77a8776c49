import { byId } from './driver-view.ts';

/** Follows the sheets that ask for a reason or a confirmation before something that cannot be undone. */
export function followDialogs(listener: {
  give(kind: 'release' | 'undeliverable', reason: string): void;
  leave(): void;
  /** Whether an unsent action would be lost. */
  owes(): boolean;
}): void {
  byId('give-up').addEventListener('click', () => {
    const { kind, order = '' } = byId('give-up').dataset;
    if (!kind) return;
    byId(kind).dataset.order = order;
    byId<HTMLDialogElement>(kind).showModal();
  });
  for (const kind of ['release', 'undeliverable'] as const) {
    follow(kind, (form) => {
      const reason = new FormData(form).get('reason');
      if (typeof reason === 'string') listener.give(kind, reason);
    });
  }
  byId('sign-out').addEventListener('click', () => {
    const owes = listener.owes();
    byId('leave-owing').hidden = !owes;
    byId('leave-confirm').textContent = owes ? 'Sign out and lose it' : 'Sign out';
    byId<HTMLDialogElement>('leave').showModal();
  });
  follow('leave', () => listener.leave());
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
  dialog.querySelector('[data-close]')?.addEventListener('click', () => dialog.close());
  // The next order starts without a reason.
  dialog.addEventListener('close', () => form.reset());
}
