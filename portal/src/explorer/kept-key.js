// The key across reloads of the tab, if the user chooses so. Session storage ends with the tab, and no other tab reads it.

const ITEM = 'partner-data-key';

/** @returns {string | null} null if the user did not choose to keep it, or the browser has no storage */
export function readKeptKey() {
  try {
    return sessionStorage.getItem(ITEM);
  } catch {
    return null;
  }
}

/** @param {string} key */
export function keepKey(key) {
  try {
    sessionStorage.setItem(ITEM, key);
  } catch {
    // Without storage the key is forgotten at the reload.
  }
}

export function forgetKeptKey() {
  try {
    sessionStorage.removeItem(ITEM);
  } catch {
    // Nothing was stored.
  }
}
