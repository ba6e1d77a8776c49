import {
  Circle,
  control,
  DivIcon,
  type FitBoundsOptions,
  LatLng,
  LatLngBounds,
  Map as LeafletMap,
  Marker,
  Polyline,
  tileLayer,
} from 'leaflet';
import type { ShownPosition } from '../../domain/shown-position.ts';
import type { TrackingView } from '../../tracking/tracking-view.ts';
import { element, said, setText } from '../shared/dom.ts';
import { DRIVER_ICON, HOME_ICON, STORE_ICON } from './pins.ts';
import { say } from './track-words.ts';

/** Half the diagonal of the square in which an approximate position lies, in meters. */
const APPROXIMATE_METERS = 780;
const MAX_TRAIL_POINTS = 200;
/** Room around the pins, with more above and below them for their labels. */
const FIT = { paddingTopLeft: [44, 64], paddingBottomRight: [44, 64], maxZoom: 15 } satisfies FitBoundsOptions;
/** From the middle of a pin to its label, in pixels. */
const LABEL_PIXELS = 18;

/**
 * The map of a delivery: the store, the driver as precisely as the page may show, the driver's trail, and the
 * door once it is next. Nothing is loaded before it knows which part of the world to show.
 */
export class DeliveryMap {
  readonly #map: LeafletMap;
  readonly #store = pin('pin store-pin', STORE_ICON, 0);
  readonly #home = pin('pin home-pin', HOME_ICON, 500);
  readonly #driver = pin('pin driver-pin', DRIVER_ICON, 1_000);
  readonly #area = new Circle([0, 0], { radius: APPROXIMATE_METERS, className: 'area', interactive: false });
  readonly #trail = new Polyline([], { className: 'trail', interactive: false });
  readonly #still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  #precision: ShownPosition['precision'] | null = null;
  #isFitted = false;
  /** Whether the map moves because the page moves it. */
  #isFitting = false;
  #movedByHand = false;
  readonly #movedByHandChanged: (moved: boolean) => void;

  /** @param foot where the buttons of the map stand */
  constructor(
    element: HTMLElement,
    foot: HTMLElement,
    tiles: { readonly url: string; readonly attribution: string },
    movedByHandChanged: (moved: boolean) => void,
  ) {
    this.#movedByHandChanged = movedByHandChanged;
    // One finger scrolls the page; two fingers, the mouse or the buttons move the map.
    const coarse = matchMedia('(pointer: coarse)').matches;
    const options = {
      scrollWheelZoom: false,
      dragging: !coarse,
      zoomSnap: 0.5,
      maxZoom: 18,
      attributionControl: false,
      zoomControl: false,
    };
    this.#map = new LeafletMap(element, { ...options, zoomAnimation: !this.#still, fadeAnimation: !this.#still });
    // Below the pins, so that no label hides the driver.
    this.#map.createPane('labels').style.zIndex = '590';
    // `{r}` of the template becomes `@2x` on a dense screen.
    tileLayer(tiles.url, { maxZoom: 18 }).addTo(this.#map);
    control.attribution({ prefix: false }).addAttribution(asHtml(tiles.attribution)).addTo(this.#map);
    const zoom = control.zoom({ zoomInTitle: say('zoom_in'), zoomOutTitle: say('zoom_out') }).addTo(this.#map);
    const buttons = zoom.getContainer();
    if (buttons) foot.append(buttons);
    // The addresses of the service are in the United States.
    control.scale({ position: 'bottomleft', maxWidth: 90, imperial: true, metric: false }).addTo(this.#map);
    this.#trail.addTo(this.#map);
    this.#map.on('dragstart', () => this.#setMovedByHand(true));
    this.#map.on('movestart', () => this.#isFitting || this.#setMovedByHand(true));
    this.#map.on('moveend', () => this.#ended());
    this.#map.on('zoomstart', () => this.#driver.getElement()?.classList.remove('gliding'));
  }

  /** Shows the places. The map follows when they are others, or when the driver leaves the picture. */
  show({ pickup, store_name, home }: TrackingView, driver: ShownPosition | null, driverName: string): void {
    this.#store.setLatLng(pickup).addTo(this.#map);
    const precision = driver?.precision ?? null;
    const changed = precision !== this.#precision || (home !== null) !== this.#isShown(this.#home) || !this.#isFitted;
    if (precision !== this.#precision) this.#trail.setLatLngs([]);
    this.#precision = precision;
    if (home) this.#home.setLatLng(home).addTo(this.#map);
    else this.#forget(this.#home);
    if (driver) this.#showDriver(driver, changed);
    else this.forgetDriver();
    if (!this.#isFitted || (!this.#movedByHand && (changed || this.#isOutside(driver)))) this.fit(!changed);
    this.#placeLabels(store_name, driverName);
  }

  /** Removes every trace of the driver's position, from the picture and from memory. */
  forgetDriver(): void {
    this.#precision = null;
    this.#trail.setLatLngs([]);
    this.#forget(this.#driver);
    this.#area.setLatLng([0, 0]).remove();
  }

  /** Removes every trace of the driver and of the door. */
  forget(): void {
    this.forgetDriver();
    this.#forget(this.#home);
  }

  #forget(marker: Marker): void {
    marker.setLatLng([0, 0]).remove();
  }

  #isShown(marker: Marker): boolean {
    return this.#map.hasLayer(marker);
  }

  #isOutside(driver: ShownPosition | null): boolean {
    return driver !== null && !this.#map.getBounds().pad(-0.18).contains(driver);
  }

  #showDriver(driver: ShownPosition, changed: boolean): void {
    const exact = driver.precision === 'exact';
    if (exact) this.#area.remove();
    else this.#area.setLatLng(driver).addTo(this.#map);
    this.#driver.setLatLng(driver).addTo(this.#map);
    const element = this.#driver.getElement();
    element?.classList.toggle('gliding', exact && !changed && !this.#still);
    element?.classList.toggle('roughly', !exact);
    if (!exact) return;
    const trail = this.#trail.getLatLngs() as LatLng[];
    this.#trail.setLatLngs([...trail.slice(1 - MAX_TRAIL_POINTS), new LatLng(driver.lat, driver.lng)]);
  }

  /** Brings the driver and where they go into the picture, and follows them again. */
  fit(animate: boolean): void {
    this.#setMovedByHand(false);
    const goal = this.#isShown(this.#home) && this.#precision !== null ? this.#home : this.#store;
    const bounds = new LatLngBounds([goal.getLatLng()]);
    if (this.#precision !== null) bounds.extend(this.#driver.getLatLng());
    if (this.#precision === 'approximate') bounds.extend(this.#driver.getLatLng().toBounds(2 * APPROXIMATE_METERS));
    this.#isFitting = true;
    this.#isFitted = true;
    this.#map.fitBounds(bounds, { ...FIT, animate: animate && !this.#still });
  }

  #ended(): void {
    this.#isFitting = false;
    this.#turnLabels();
  }

  /** Call it after the map's box was hidden or resized. */
  resized(): void {
    if (this.#isFitted) this.#map.invalidateSize();
  }

  #placeLabels(storeName: string, driverName: string): void {
    label(this.#store, storeName);
    label(this.#home, say('your_door'));
    label(this.#driver, driverName);
    this.#turnLabels();
  }

  /** Each label goes to the side of its pin that is away from the nearest other pin. */
  #turnLabels(): void {
    const shown = [this.#store, this.#home, this.#driver].filter((each) => this.#isShown(each));
    const points = shown.map((each) => this.#map.latLngToLayerPoint(each.getLatLng()));
    shown.forEach((marker, index) => {
      const here = points[index];
      const tooltip = marker.getTooltip();
      if (!here || !tooltip) return;
      const others = points.filter((_, other) => other !== index);
      const nearest = others.sort((one, other) => here.distanceTo(one) - here.distanceTo(other))[0];
      // Of two pins at one place the driver's label is below, the other above.
      const below = nearest && (nearest.y > here.y || (nearest.y === here.y && marker !== this.#driver));
      const direction = below ? 'top' : 'bottom';
      if (tooltip.options.direction === direction) return;
      tooltip.options.direction = direction;
      tooltip.options.offset = offset(direction);
      tooltip.update();
    });
  }

  #setMovedByHand(moved: boolean): void {
    if (this.#movedByHand === moved) return;
    this.#movedByHand = moved;
    this.#movedByHandChanged(moved);
  }
}

function pin(className: string, icon: string, zIndexOffset: number): Marker {
  const divIcon = new DivIcon({ className, html: icon, iconSize: [36, 36] });
  return new Marker([0, 0], { icon: divIcon, zIndexOffset, interactive: false, keyboard: false });
}

/** Sets a label. Leaflet takes a string for markup, so the name goes in as the text of an element. */
function label(marker: Marker, text: string): void {
  if (marker.getTooltip()) {
    setText(marker.getTooltip()?.getContent() as HTMLElement, text);
    return;
  }
  const look = { permanent: true, pane: 'labels', className: 'pin-label' };
  marker.bindTooltip(said('span', text), { ...look, direction: 'bottom', offset: offset('bottom') });
}

function offset(direction: 'top' | 'bottom'): [number, number] {
  return [0, direction === 'top' ? -LABEL_PIXELS : LABEL_PIXELS];
}

const asHtml = (text: string): string => element('span', text).innerHTML;
