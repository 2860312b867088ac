import { useEffect, useRef } from 'preact/hooks';

/** Calls `press` for a key outside of any field; true means that the key was handled. */
export function useKeys(press: (key: string) => boolean) {
  const latest = useRef(press);
  latest.current = press;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const target = event.target instanceof Element ? event.target : document.body;
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (target.closest('input, select, textarea, [popover], dialog')) return;
      if (event.key === 'Enter' && target.closest('a, button, [tabindex="0"]')) return;
      if (latest.current(event.key)) event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}
