import { ClosedPeriods, PLACE } from './closed-periods.js';

const STORED_KEY = `${PLACE}api-key`;

/** The key of this tab, else the one that is kept on this device. */
export function readStoredKey(): string | null {
  return sessionStorage.getItem(STORED_KEY) ?? localStorage.getItem(STORED_KEY);
}

/**
 * Stores the key for this tab, until it is closed; if it is kept, for all tabs of this device. Data of
 * another key is dropped.
 */
export function storeKey(key: string, isKept = false) {
  if (readStoredKey() !== key) new ClosedPeriods().clear();
  sessionStorage.setItem(STORED_KEY, key);
  if (isKept) localStorage.setItem(STORED_KEY, key);
}

/** Whether the key of this tab is the one that is kept on this device. */
export function isKeyKept(): boolean {
  const kept = localStorage.getItem(STORED_KEY);
  return kept !== null && kept === readStoredKey();
}

export function removeStoredKey() {
  sessionStorage.removeItem(STORED_KEY);
  localStorage.removeItem(STORED_KEY);
}

/** Calls when another tab has removed the kept key. */
export function onKeyRemoved(call: () => void): () => void {
  const listen = ({ key, newValue }: StorageEvent) => {
    if ((key === STORED_KEY || key === null) && newValue === null) call();
  };
  addEventListener('storage', listen);
  return () => removeEventListener('storage', listen);
}

/** Removes the key of a link such as `/#key=…` from the address before anything else runs. */
export function takeKeyFromFragment(): string | null {
  const key = new URLSearchParams(location.hash.slice(1)).get('key');
  if (key !== null) history.replaceState(null, '', location.pathname + location.search);
  return key;
}
