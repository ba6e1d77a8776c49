import {
  Circle,
  control,
  DivIcon,
  type FitBoundsOptions,
  GridLayer,
  LatLngBounds,
  Map as LeafletMap,
  Marker,
  Polyline,
  tileLayer,
} from 'leaflet';
import type { ShownPosition } from '../domain/shown-position.ts';

/** Half the diagonal of the square in which an approximate position lies, in meters. */
const APPROXIMATE_METERS = 780;
const MAX_TRAIL_POINTS = 200;
/** Room around the pins, with more below them for their labels. */
const FIT = { paddingTopLeft: [44, 36], paddingBottomRight: [44, 64], maxZoom: 15 } satisfies FitBoundsOptions;

const STORE_ICON =
  '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 9h16l-1.2-4.2A1 1 0 0 0 17.8 4H6.2a1 1 0 0 0-1 .8zM5 11v8a1 1 0 0 0 1 1h5v-5h3v5h4a1 1 0 0 0 1-1v-8z"/></svg>';
const DRIVER_ICON =
  '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M5 11l1.6-4.6A2 2 0 0 1 8.5 5h7a2 2 0 0 1 1.9 1.4L19 11a2 2 0 0 1 1 1.7V18a1 1 0 0 1-1 1h-1a1 1 0 0 1-1-1v-1H7v1a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1v-5.3A2 2 0 0 1 5 11zm2.3 0h9.4l-1.1-3.4a.9.9 0 0 0-.8-.6H9.2a.9.9 0 0 0-.8.6zM7.5 15a1.2 1.2 0 1 0 0-2.4 1.2 1.2 0 0 0 0 2.4zm9 0a1.2 1.2 0 1 0 0-2.4 1.2 1.2 0 0 0 0 2.4z"/></svg>';

type LatLng = { readonly lat: number; readonly lng: number };

/** A neutral grid below the tiles, visible where no tile server is set or while it does not answer. */
class Paper extends GridLayer {
  override createTile(): HTMLElement {
    const tile = document.createElement('div');
    tile.className = 'paper';
    return tile;
  }
}

/** The map of a delivery: the store, the driver as precisely as the page may show, and the driver's trail. */
export class DeliveryMap {
  readonly #map: LeafletMap;
  readonly #store: Marker;
  readonly #driver: Marker;
  readonly #area: Circle;
  readonly #trail: Polyline;
  readonly #still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  #precision: ShownPosition['precision'] | null = null;
  #movedByHand = false;
  readonly #movedByHandChanged: (moved: boolean) => void;

  constructor(
    element: HTMLElement,
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
    };
    this.#map = new LeafletMap(element, { ...options, zoomAnimation: !this.#still, fadeAnimation: !this.#still });
    this.#map.setView([0, 0], 2);
    new Paper({ maxZoom: 18 }).addTo(this.#map);
    if (tiles.url) {
      tileLayer(tiles.url, { maxZoom: 18 }).addTo(this.#map);
      control.attribution({ prefix: false }).addAttribution(asHtml(tiles.attribution)).addTo(this.#map);
    }
    const imperial = /-(US|LR|MM)$/i.test(navigator.language);
    control.scale({ position: 'bottomleft', maxWidth: 90, imperial, metric: !imperial }).addTo(this.#map);
    this.#trail = new Polyline([], { className: 'trail', interactive: false }).addTo(this.#map);
    this.#area = new Circle([0, 0], { radius: APPROXIMATE_METERS, className: 'area', interactive: false });
    this.#store = pin('pin store-pin', STORE_ICON, 0);
    this.#driver = pin('pin driver-pin', DRIVER_ICON, 1_000);
    element.addEventListener('pointerdown', () => this.#setMovedByHand(true));
    this.#map.on('zoomstart', () => this.#driver.getElement()?.classList.remove('gliding'));
  }

  /** Shows store and driver. The map follows when the precision changes or the driver leaves the picture. */
  show(store: LatLng, storeName: string, driver: ShownPosition | null, driverName: string): void {
    this.#store.setLatLng(store).addTo(this.#map);
    label(this.#store, storeName);
    const changed = (driver?.precision ?? null) !== this.#precision || this.#map.getZoom() <= 2;
    if (changed) this.#trail.setLatLngs([]);
    this.#precision = driver?.precision ?? null;
    if (driver) this.#showDriver(driver, driverName, changed);
    else this.forgetDriver();
    const outside = driver && !this.#map.getBounds().pad(-0.18).contains(driver);
    if (!this.#movedByHand && (changed || outside)) this.fit(!changed);
  }

  /** Removes every trace of the driver's position, from the picture and from memory. */
  forgetDriver(): void {
    this.#precision = null;
    this.#trail.setLatLngs([]);
    this.#driver.setLatLng([0, 0]).remove();
    this.#area.setLatLng([0, 0]).remove();
  }

  #showDriver(driver: ShownPosition, name: string, changed: boolean): void {
    const exact = driver.precision === 'exact';
    if (exact) this.#area.remove();
    else this.#area.setLatLng(driver).addTo(this.#map);
    this.#driver.addTo(this.#map);
    const element = this.#driver.getElement();
    element?.classList.toggle('gliding', exact && !changed && !this.#still);
    element?.classList.toggle('roughly', !exact);
    this.#driver.setLatLng(driver);
    label(this.#driver, name);
    if (!exact) return;
    const trail = this.#trail.getLatLngs() as LatLng[];
    this.#trail.setLatLngs([...trail.slice(1 - MAX_TRAIL_POINTS), { lat: driver.lat, lng: driver.lng }]);
  }

  /** Brings store and driver into the picture, and follows them again. */
  fit(animate: boolean): void {
    this.#setMovedByHand(false);
    const bounds = new LatLngBounds([this.#store.getLatLng()]);
    if (this.#precision !== null) bounds.extend(this.#driver.getLatLng());
    if (this.#precision === 'approximate') bounds.extend(this.#area.getBounds());
    this.#map.fitBounds(bounds, { ...FIT, animate: animate && !this.#still });
  }

  /** Call it after the map's box was hidden or resized. */
  resized(): void {
    this.#map.invalidateSize();
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
  const element = document.createElement('span');
  element.textContent = text;
  if (marker.getTooltip()) marker.setTooltipContent(element);
  else marker.bindTooltip(element, { permanent: true, direction: 'bottom', offset: [0, 16], className: 'pin-label' });
}

function asHtml(text: string): string {
  const element = document.createElement('span');
  element.textContent = text;
  return element.innerHTML;
}
