import { byId } from '../shared/dom.ts';
import { shrinkPhoto } from './photo.ts';
import type { DriverOrder } from './state.ts';
import type { Draft, DriverStore } from './store.ts';

/**
 * The photo of a handover until "Delivered" is pressed. It is stored, as some phones end a page meanwhile.
 */
export class HandoverPhoto {
  readonly #store: DriverStore;
  readonly #changed: () => void;
  readonly #failed: () => void;
  #draft: Draft | null = null;
  #preparing = false;
  #orderId: string | null = null;
  #url = '';

  constructor(store: DriverStore, changed: () => void, failed: () => void) {
    this.#store = store;
    this.#changed = changed;
    this.#failed = failed;
    byId('camera').addEventListener('change', (event) => void this.#taken(event.target as HTMLInputElement));
  }

  /** Loads the photo that an earlier page left. */
  async open(): Promise<void> {
    this.#keep(await this.#store.draft().catch(() => null));
  }

  /** The state of this order's photo. */
  of(order: DriverOrder | null): 'none' | 'preparing' | 'ready' {
    this.#orderId = order?.id ?? null;
    if (this.#preparing) return 'preparing';
    return order && this.#draft?.orderId === order.id ? 'ready' : 'none';
  }

  /** The JPEG of this order's handover. */
  take(order: DriverOrder): ArrayBuffer | null {
    return this.#draft?.orderId === order.id ? this.#draft.photo : null;
  }

  /** Whether the photo is of this order's handover. */
  isFor(orderId: string): boolean {
    return this.#draft?.orderId === orderId;
  }

  async forget(): Promise<void> {
    this.#keep(null);
    await this.#store.keepDraft(null).catch(() => {});
  }

  async #taken(input: HTMLInputElement): Promise<void> {
    const file = input.files?.[0];
    const orderId = this.#orderId;
    if (!file || orderId === null || this.#preparing) return;
    this.#preparing = true;
    this.#changed();
    const photo = await shrinkPhoto(file);
    // Lets the same picture be chosen again.
    input.value = '';
    this.#preparing = false;
    if (photo) {
      this.#keep({ orderId, photo });
      await this.#store.keepDraft(this.#draft).catch(() => {});
      this.#changed();
    } else this.#failed();
  }

  #keep(draft: Draft | null): void {
    this.#draft = draft;
    if (this.#url) URL.revokeObjectURL(this.#url);
    this.#url = draft ? URL.createObjectURL(new Blob([draft.photo], { type: 'image/jpeg' })) : '';
    const image = byId<HTMLImageElement>('preview-image');
    if (this.#url) image.src = this.#url;
    else image.removeAttribute('src');
  }
}
