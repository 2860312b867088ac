import type { ApiFailure } from './api.js';
import { Countdown } from './sign-in.js';

/** Says what failed, and when the page tries again. */
export function Problem(props: {
  failure: ApiFailure;
  /** Whether anything was loaded. */
  hasData: boolean;
  retry: () => void;
  close: () => void;
}) {
  const { failure, hasData, retry, close } = props;
  const stays = hasData ? ' What was loaded stays.' : '';
  const { status, message, retryAt } = failure;
  const texts: Record<number, string> = {
    0: message,
    429: `The key has used up its requests of this minute.${stays}`,
    503: `The service is temporarily unavailable.${stays}`,
    504: 'The query took too long. A shorter time or a filter helps.',
    500: 'The service failed. Its log has the reason.',
  };
  const text = texts[status] ?? (status >= 500 ? texts[503] : `The service refused the request: ${message}`);
  const isRepeated = [0, 429, 503].includes(status);
  return (
    <section class="problem" aria-label="Problem">
      <p role="alert">{text}</p>
      {isRepeated && (
        <p class="muted">
          Next try in <Countdown key={retryAt} until={retryAt} onEnd={retry} />
        </p>
      )}
      {failure.isOfScopes ? (
        <button type="button" class="small" onClick={close}>
          Close
        </button>
      ) : (
        <button type="button" class="small" onClick={retry}>
          Try now
        </button>
      )}
    </section>
  );
}
