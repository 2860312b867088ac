import { Injectable, applyDecorators } from '@nestjs/common';
import { IsOptional } from 'class-validator';
import { EXAMPLES } from '../openapi/examples.js';
import { type Timestamp, resolveTimestamp } from '../../shared/time/timestamp.js';
import { type Window, resolveWindow, startsBeforeEnd } from '../../shared/time/window.js';
import { AppInput } from '../input/app-input.js';
import { IsText } from '../input/constraints.js';
import { EmptyTo } from '../input/conversions.js';
import { invalidToken, startNotBeforeEnd } from '../input/issues.js';
import { QueryParameter } from '../input/parameters.js';
import { InputValidator, type ValidationContext } from '../input/validation-context.js';
import { type InputFingerprint, PageTokens, type TokenContent } from './page-tokens.js';

/** Characters of the longest page token (docs/contract.md#limits). */
const TOKEN_MAX_LENGTH = 1024;

/** The window as it was sent, in milliseconds since the epoch; null for absent bounds. */
type RequestedWindow = readonly [start: number | null, end: number | null];

/** The position of a paginated read: the first page, or after the page of the token. */
export interface WindowCursor {
  readonly now: number;
  readonly requestedWindow: RequestedWindow;
  /** Set if a token was sent: all pages have the token's window. */
  readonly token?: TokenContent & { readonly window: readonly [number, number] };
}

/**
 * Whether no future request can belong to the window. The default end is now, so the next read has another
 * window.
 */
export function endsInPast({ now, requestedWindow, token }: WindowCursor): boolean {
  const [, end] = token ? token.window : requestedWindow;
  return end !== null && end <= now;
}

/** The window of all pages, cut to the current retention: the token's window if a token was sent. */
export function resolveCursorWindow(
  { cursor, defaultSpanMs }: { readonly cursor: WindowCursor; readonly defaultSpanMs: number },
  retainedFrom: number,
): Window {
  const { now, requestedWindow, token } = cursor;
  const [start, end] = token ? token.window : requestedWindow;
  return resolveWindow({
    start: start ?? undefined,
    end: end ?? undefined,
    now,
    defaultSpanMs,
    retainedFrom,
  });
}

/**
 * The window in tokens: the sent bounds, and the resolved ones in place of absent bounds. It is not cut to
 * the retention, which moves, so that a page of a fixed window is always the same.
 */
export function getTokenWindow(
  { requestedWindow, token }: WindowCursor,
  resolved: Window,
): Pick<TokenContent, 'window' | 'requestedWindow'> {
  const [start, end] = requestedWindow;
  return {
    window: token?.window ?? [start ?? resolved.start, end ?? resolved.end],
    requestedWindow: token?.requestedWindow ?? requestedWindow,
  };
}

/** A page token. Only its form is checked here; `CursorResolver` verifies the signature and the query. */
export const NextToken = () =>
  applyDecorators(
    QueryParameter({
      description: 'Token for the next page, from a previous response',
      examples: [EXAMPLES.next_token],
    }),
    EmptyTo(invalidToken),
    IsOptional(),
    IsText(TOKEN_MAX_LENGTH),
  );

/** An input whose response is paginated. */
export abstract class PagedInput extends AppInput {
  abstract limit: number;
  abstract next_token?: string;
  abstract readonly fingerprint: InputFingerprint;
  /** The position in the pages; `CursorResolver` sets it. */
  abstract cursor?: TokenContent | WindowCursor | undefined;
}

/** A paged input with a window, whose bounds are not resolved yet. */
export abstract class WindowedInput extends PagedInput {
  abstract start?: Timestamp;
  abstract end?: Timestamp;
  /** Timezone of a start and an end without an offset; UTC if absent. */
  timezone?: string;
  /** Without a start, the window begins this long before now. */
  abstract readonly defaultSpanMs: number;
}

/**
 * Sets the cursor of paged inputs. Rejects a token of another query (docs/contract.md#page-token) and a
 * window that does not start before its end.
 */
@Injectable()
export class CursorResolver extends InputValidator {
  constructor(private readonly tokens: PageTokens) {
    super();
  }

  override async validate(input: object, context: ValidationContext): Promise<void> {
    if (input instanceof WindowedInput) input.cursor = await this.resolveWindow(input, context);
    else if (input instanceof PagedInput) input.cursor = await this.open(input, context);
  }

  private async open(input: PagedInput, context: ValidationContext): Promise<TokenContent | undefined> {
    if (input.next_token === undefined) return undefined;
    await this.tokens.ensureSecret();
    const content = this.tokens.verify(input.next_token);
    const { teamId, scopes } = context.account;
    const { consumer } = scopes;
    const fingerprint = { ...input.fingerprint, teamId, appId: input.app_id, consumer };
    // If another filter is invalid, the token cannot be compared with the query, and the issue of that filter
    // is enough.
    if (content && (this.tokens.matches(content, fingerprint) || !context.isValid(...Object.keys(input))))
      return content;
    context.addIssue('next_token', invalidToken);
    return undefined;
  }

  private async resolveWindow(input: WindowedInput, context: ValidationContext): Promise<WindowCursor> {
    const now = Date.now();
    // Local times cannot be resolved in an invalid timezone.
    const timezone = context.isValid('timezone') ? input.timezone : undefined;
    const [start, end] = [input.start, input.end].map((bound) => bound && resolveTimestamp(bound, timezone));
    const requestedWindow = [start ?? null, end ?? null] as const;
    const content = await this.open(input, context);
    if (content?.window && repeatsWindow(requestedWindow, content.requestedWindow))
      return { now, requestedWindow, token: { ...content, window: content.window } };
    if (content) context.addIssue('next_token', invalidToken);
    const { defaultSpanMs } = input;
    if (context.isValid('start', 'end') && !startsBeforeEnd({ start, end, now, defaultSpanMs }))
      context.addIssue('start', startNotBeforeEnd);
    return { now, requestedWindow };
  }
}

/** A later page may leave out the window or repeat it, but not change it. */
function repeatsWindow(requestedWindow: RequestedWindow, first: TokenContent['requestedWindow']): boolean {
  return requestedWindow.every((value, index) => value === null || value === first?.[index]);
}
