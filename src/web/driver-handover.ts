import { shrinkPhoto } from './driver-photo.ts';
import type { DriverOrder } from './driver-state.ts';
import type { Draft, DriverStore } from './driver-store.ts';
import { byId } from './driver-view.ts';

const UNREADABLE = 'This phone cannot read the picture. Please take another one.';

/**
 * The photo of a handover until "Delivered" is pressed. It is stored, as some phones end a page meanwhile.
 */
export class HandoverPhoto {
  readonly #store: DriverStore;
  readonly #changed: () => void;
  readonly #failed: (problem: string) => void;
  #draft: Draft | null = null;
  #preparing = false;
  #orderId: string | null = null;
  #url = '';

  constructor(store: DriverStore, changed: () => void, failed: (problem: string) => void) {
    this.#store = store;
    this.#changed = changed;
    this.#failed = failed;
    byId('camera').addEventListener('change', (event) => void this.#taken(event.target as HTMLInputElement));
  }

  /** Loads the photo that an earlier page left. */
  async open(): Promise<void> {
    this.#keep(await this.#store.draft().catch(() => null));
  }

  /** The state of this order's photo. The next photo is taken for this order. */
  of(order: DriverOrder | null): 'none' | 'preparing' | 'ready' {
    this.#orderId = order?.id ?? null;
    if (this.#preparing) return 'preparing';
    return order && this.#draft?.orderId === order.id ? 'ready' : 'none';
  }

  /** The JPEG of this order's handover. */
  take(order: DriverOrder): ArrayBuffer | null {
    return this.#draft?.orderId === order.id ? this.#draft.photo : null;
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
    } else this.#failed(UNREADABLE);
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
