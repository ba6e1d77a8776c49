import type { ShownPosition } from '../../domain/shown-position.ts';
import type { TrackingView } from '../../tracking/tracking-view.ts';
import { classed, element } from '../shared/dom.ts';
import { way } from './distance.ts';
import { DRIVER_ICON, HOME_ICON, STORE_ICON } from './pins.ts';
import { say } from './track-words.ts';

/**
 * The way of an order where there is no map: store, driver and door on a line, with how far apart they
 * are. A screen reader gets the same as one sentence.
 */
export class DeliveryLine {
  readonly #element: HTMLElement;

  constructor(element: HTMLElement) {
    this.#element = element;
    element.className = 'line';
  }

  show({ pickup, store_name: store, home }: TrackingView, driver: ShownPosition | null, name: string): void {
    if (!driver) {
      this.#draw('', [stop('store-pin', STORE_ICON, store)]);
      return;
    }
    const toStore = way(pickup, driver, driver.precision === 'approximate');
    const start = [stop('store-pin', STORE_ICON, store), leg(toStore), stop('driver-pin', DRIVER_ICON, name)];
    if (!home) {
      this.#draw(say('from_store', { driver: name, way: toStore, store }), start);
      return;
    }
    const rest = way(driver, home, false);
    const told = say('from_store_and_door', { driver: name, way: toStore, store, rest });
    this.#draw(told, [...start, leg(rest), stop('home-pin', HOME_ICON, say('your_door'))]);
  }

  /** Removes every trace of positions. */
  forget(): void {
    this.#element.replaceChildren();
  }

  #draw(told: string, items: readonly HTMLElement[]): void {
    const list = element('div', ...items);
    list.setAttribute('aria-hidden', String(told !== ''));
    this.#element.replaceChildren(classed('p', 'unseen', told), list);
  }
}

function stop(className: string, icon: string, text: string): HTMLElement {
  const pin = classed('span', `pin ${className}`);
  pin.innerHTML = icon;
  return classed('p', 'line-stop', pin, element('bdi', text));
}

const leg = (text: string): HTMLElement => classed('p', 'line-leg', text);
