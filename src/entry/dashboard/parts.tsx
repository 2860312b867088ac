import { type ComponentChildren, Fragment } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatNumber } from './format.js';

/**
 * Direction marks reorder the text around them, and controls are invisible. Joiners belong to scripts and
 * emoji.
 */
const HIDDEN = /((?![\n\t\u00ad\u200c\u200d])[\p{Cc}\p{Cf}\u2028\u2029])/u;
const INLINE_MAX = 300;

/** A value that the service wrote into the page. */
export function readMeta(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name=${name}]`)?.content ?? '';
}

/** Text of a monitored application: never markup, in its own direction, hidden characters made visible. */
export function Text({ children, max = INLINE_MAX }: { children: string; max?: number }) {
  const shown = children.length > max ? `${children.slice(0, max)}…` : children;
  return (
    <bdi>
      {shown.split(HIDDEN).map((part, index) =>
        index % 2 === 0 ? (
          <Fragment key={index}>{part}</Fragment>
        ) : (
          <span key={index} class="hidden-character">
            {`U+${(part.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`}
          </span>
        ),
      )}
    </bdi>
  );
}

/** Its class has a shape in addition to the colour. */
export function Status({ code }: { code: number | undefined }) {
  const kind = Math.floor((code ?? 0) / 100);
  return <span class={`status s${kind}`}>{code === undefined || code === 0 ? '–' : code}</span>;
}

export function Method({ children }: { children: string }) {
  return (
    <span class="method">
      <Text max={20}>{children}</Text>
    </span>
  );
}

export function EndpointName({ method, path }: { method: string | null | undefined; path: string }) {
  return (
    <>
      <Method>{method ?? ''}</Method> <Text>{path}</Text>
    </>
  );
}

/** How many alerts fire. */
export function Firing({ count }: { count: number }) {
  if (count === 0) return null;
  return (
    <span class="badge">
      {formatNumber(count)}
      <span class="visually-hidden"> firing</span>
    </span>
  );
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

export function Field({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
    </label>
  );
}

/** Saves a file where the browser keeps downloads. */
export function saveFile(file: Blob, name: string) {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Opens an event in Sentry, if the service knows its address: Sentry finds events by their ID. */
export function SentryLink({ event }: { event: string | null | undefined }) {
  const sentry = readMeta('sentry-url');
  if (sentry === '' || !event) return null;
  const url = `${sentry}/issues/?query=${encodeURIComponent(event)}`;
  return (
    <a class="button small" href={url} target="_blank" rel="noreferrer">
      Open in Sentry
    </a>
  );
}

/** Copies the text. Without a secure context, for example over plain HTTP, it uses the older command. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    (document.querySelector(':popover-open, dialog[open]') ?? document.body).append(area);
    area.select();
    // oxlint-disable-next-line typescript/no-deprecated -- there is no other way over plain HTTP
    const isCopied = document.execCommand('copy');
    area.remove();
    return isCopied;
  }
}

export function CloseButton({ close }: { close: () => void }) {
  return (
    <button
      type="button"
      class="small quiet close"
      aria-label="Close"
      aria-keyshortcuts="Escape"
      onClick={close}
    >
      ×
    </button>
  );
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [said, setSaid] = useState('');
  const press = () => {
    void copy(text).then((isCopied) => {
      setSaid(isCopied ? 'Copied' : 'Not copied');
      setTimeout(() => setSaid(''), 1500);
    });
  };
  return (
    <>
      <button type="button" class="small" onClick={press}>
        {said || label}
      </button>
      <span class="visually-hidden" role="status">
        {said}
      </span>
    </>
  );
}

/** A button that opens a box below it. Esc and a click elsewhere close it. */
export function Popover(props: {
  label: ComponentChildren;
  name?: string;
  class?: string;
  children: ComponentChildren | ((close: () => void) => ComponentChildren);
}) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [isOpen, setIsOpen] = useState(false);
  // Runs before anything can be typed into the box, so that the focus moves only once.
  useLayoutEffect(() => {
    const [from, at] = [button.current, box.current];
    if (!isOpen || !from || !at) return undefined;
    const place = () => {
      const { left, bottom } = from.getBoundingClientRect();
      const { clientWidth } = document.documentElement;
      at.style.left = `${Math.max(8, Math.min(left, clientWidth - at.offsetWidth - 8))}px`;
      at.style.top = `${Math.max(8, Math.min(bottom + 4, innerHeight - at.offsetHeight - 8))}px`;
    };
    place();
    at.querySelector<HTMLElement>('[autofocus], input, select, a, button')?.focus({ preventScroll: true });
    addEventListener('resize', place);
    return () => removeEventListener('resize', place);
  }, [isOpen]);
  const { children } = props;
  const close = () => box.current?.hidePopover();
  return (
    <>
      <button
        type="button"
        ref={button}
        class={props.class}
        popovertarget={id}
        aria-expanded={isOpen}
        {...(props.name !== undefined && { 'aria-label': props.name, title: props.name })}
      >
        {props.label}
      </button>
      <div
        id={id}
        ref={box}
        popover="auto"
        class="popover"
        onToggle={(event) => setIsOpen(event.newState === 'open')}
      >
        {isOpen && (typeof children === 'function' ? children(close) : children)}
      </div>
    </>
  );
}

/** Shows the request of a panel as a command line; until there is one, an empty place of its size. */
export function ApiRequest({ curl, of }: { curl: string | undefined; of: string }) {
  if (curl === undefined) return <span class="api-space" />;
  return (
    <Popover label="API" name={`API request of ${of}`} class="small quiet">
      <div class="api-request">
        <p>This panel is one request. The shell takes your key from its variable API_KEY.</p>
        <pre tabIndex={0}>
          <Text max={20_000}>{curl}</Text>
        </pre>
        <CopyButton text={curl} label="Copy as curl" />
      </div>
    </Popover>
  );
}

export function Panel(props: {
  title: string;
  curl: string | undefined;
  isBusy?: boolean;
  class?: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  const id = useId();
  return (
    <section class={`panel ${props.class ?? ''}`} aria-labelledby={id} aria-busy={props.isBusy ?? false}>
      <header>
        <h2 id={id}>{props.title}</h2>
        {props.actions}
        <ApiRequest curl={props.curl} of={props.title} />
      </header>
      {props.children}
    </section>
  );
}
