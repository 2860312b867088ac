import { ClosedPeriods, PLACE } from './closed-periods.js';

const STORED_KEY = `${PLACE}api-key`;

/** The key of this tab. */
export function readStoredKey(): string | null {
  return sessionStorage.getItem(STORED_KEY);
}

/** Stores the key for this tab, until it is closed. Data of another key is dropped. */
export function storeKey(key: string) {
  if (readStoredKey() !== key) new ClosedPeriods().clear();
  sessionStorage.setItem(STORED_KEY, key);
}

export function removeStoredKey() {
  sessionStorage.removeItem(STORED_KEY);
}

/** Removes the key of a link such as `/#key=…` from the address before anything else runs. */
export function takeKeyFromFragment(): string | null {
  const key = new URLSearchParams(location.hash.slice(1)).get('key');
  if (key !== null) history.replaceState(null, '', location.pathname + location.search);
  return key;
}
