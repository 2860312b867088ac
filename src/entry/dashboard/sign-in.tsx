import { useEffect, useState } from 'preact/hooks';
import { Api, type ApiFailure } from './api.js';
import { toFailure } from './session.js';

const KEY = /^[A-Za-z0-9]{7}\.[A-Za-z0-9]{32}$/;

/** Why a key does not open the page, in plain words. */
export function explainKey(failure: ApiFailure, hasWorked: boolean): string {
  const { status, isLimitOfKey } = failure;
  if (status === 401)
    return hasWorked
      ? 'This key no longer works: it was revoked, or it has expired. Enter another one.'
      : 'The service does not know this key. It may be mistyped, revoked or expired.';
  if (failure.isOfScopes)
    return `The key is right, but it is limited to less than this page needs. ${failure.message}.`;
  if (status === 403)
    return 'The key is right, but the operator of this service has put its team on the free plan, which may not use the API. “team set-plan --plan premium” changes that.';
  if (status === 429)
    return isLimitOfKey
      ? 'The key is right, but it has used up its requests of this minute.'
      : 'Too many wrong keys came from your address. It has to wait before the next one.';
  if (status === 0) return 'The service cannot be reached. Check your connection.';
  return 'The key could not be checked: the service is temporarily unavailable.';
}

/** Asks for the key. The first request of the page checks it. */
export function SignIn(props: {
  /** Why the last key was not accepted; null if there was none. */
  message: string | null;
  onKey: (key: string, isKept: boolean, api: Api) => void;
}) {
  const [text, setText] = useState('');
  const [isKept, setIsKept] = useState(false);
  const [message, setMessage] = useState(props.message);
  const [isBusy, setIsBusy] = useState(false);
  const [retryAt, setRetryAt] = useState(0);
  useEffect(() => setMessage(props.message), [props.message]);

  const check = async () => {
    const key = text.trim();
    if (!KEY.test(key)) {
      setMessage('This does not have the form of an API key: 7 letters or digits, a dot, and 32 more.');
      return;
    }
    setIsBusy(true);
    setMessage(null);
    const api = new Api(key);
    try {
      await api.apps();
      props.onKey(key, isKept, api);
    } catch (error) {
      const failure = toFailure(error);
      setMessage(explainKey(failure, false));
      if (failure.status === 429) setRetryAt(failure.retryAt);
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <main class="sign-in" id="main">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void check();
        }}
      >
        <h1>
          <i class="logo" aria-hidden="true" />
          Request Analytics
        </h1>
        {/* Password managers save a password with a user name. */}
        <input
          class="visually-hidden"
          name="username"
          autocomplete="username"
          aria-hidden="true"
          tabIndex={-1}
          readOnly
          value={`Request Analytics ${text.trim().split('.', 1)[0]}`}
        />
        <label for="key">API key of your team</label>
        <input
          id="key"
          name="password"
          type="password"
          autocomplete="current-password"
          spellcheck={false}
          autofocus
          aria-describedby="key-message key-note"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <p id="key-message" role="alert" class="message">
          {message}
          {message !== null && retryAt > Date.now() && (
            <>
              {' '}
              <Countdown until={retryAt} onEnd={() => setRetryAt(0)} />
            </>
          )}
        </p>
        <label class="check">
          <input
            type="checkbox"
            checked={isKept}
            onChange={(event) => setIsKept(event.currentTarget.checked)}
          />
          Keep me signed in on this device
        </label>
        <button type="submit" class="primary" disabled={isBusy || retryAt > Date.now()}>
          {isBusy ? 'Checking…' : 'Open'}
        </button>
        <p id="key-note" class="muted">
          The key stays in this tab until you close it{isKept && ', and on this device until you sign out'}.
          It is sent to this service alone. An operator makes one with{' '}
          <code>npm run -s cli -- key create --team 1</code>.
        </p>
      </form>
    </main>
  );
}

/** The seconds until a time. */
export function Countdown({ until, onEnd }: { until: number; onEnd: () => void }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const clock = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(clock);
  }, []);
  const isOver = now >= until && document.visibilityState === 'visible';
  useEffect(() => {
    if (isOver) onEnd();
  }, [isOver]);
  return <span class="countdown">{Math.max(0, Math.ceil((until - now) / 1000))} s</span>;
}
