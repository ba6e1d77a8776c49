/** The pictures of the places of a delivery, of our own and therefore fit for `innerHTML`. */
export const STORE_ICON =
  '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 9h16l-1.2-4.2A1 1 0 0 0 17.8 4H6.2a1 1 0 0 0-1 .8zM5 11v8a1 1 0 0 0 1 1h5v-5h3v5h4a1 1 0 0 0 1-1v-8z"/></svg>';
export const DRIVER_ICON =
  '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M5 11l1.6-4.6A2 2 0 0 1 8.5 5h7a2 2 0 0 1 1.9 1.4L19 11a2 2 0 0 1 1 1.7V18a1 1 0 0 1-1 1h-1a1 1 0 0 1-1-1v-1H7v1a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1v-5.3A2 2 0 0 1 5 11zm2.3 0h9.4l-1.1-3.4a.9.9 0 0 0-.8-.6H9.2a.9.9 0 0 0-.8.6zM7.5 15a1.2 1.2 0 1 0 0-2.4 1.2 1.2 0 0 0 0 2.4zm9 0a1.2 1.2 0 1 0 0-2.4 1.2 1.2 0 0 0 0 2.4z"/></svg>';
export const HOME_ICON =
  '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 3.6 3 11.4h2.4V19a1 1 0 0 0 1 1H10v-5.2h4V20h3.6a1 1 0 0 0 1-1v-7.6H21z"/></svg>';
