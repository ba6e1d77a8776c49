import { byId } from './driver-view.ts';

/** The sheets that ask before something is done that cannot be undone: with which reason, or whether at all. */
export function followDialogs(listener: {
  give(kind: 'release' | 'undeliverable', reason: string): void;
  leave(): void;
}): void {
  byId('give-up').addEventListener('click', () => {
    const kind = byId('give-up').dataset.kind;
    if (kind) byId<HTMLDialogElement>(kind).showModal();
  });
  for (const kind of ['release', 'undeliverable'] as const) {
    follow(kind, (form) => {
      const reason = new FormData(form).get('reason');
      if (typeof reason === 'string') listener.give(kind, reason);
    });
  }
  follow('leave', () => listener.leave());
}

function follow(id: string, confirmed: (form: HTMLFormElement) => void): void {
  const dialog = byId<HTMLDialogElement>(id);
  const form = dialog.querySelector('form') as HTMLFormElement;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    confirmed(form);
    dialog.close();
  });
  dialog.querySelector('[data-close]')?.addEventListener('click', () => dialog.close());
  // The next order's reason is asked anew.
  dialog.addEventListener('close', () => form.reset());
}
