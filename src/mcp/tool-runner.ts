import { Injectable } from '@nestjs/common';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { ClientDisconnected } from '../platform/http/abort-signal.middleware.js';
import type { Account } from '../platform/http/account.js';
import { RequestContext } from '../telemetry/request-context.js';
import { ApiExceptionFilter } from '../platform/http/exception.filter.js';
import { ValidationException } from '../platform/input/validation.exception.js';
import { AnalyticsReader } from './analytics-reader.js';
import { queryErrors } from './errors.tool.js';
import { explainChange } from './explain-change.tool.js';
import { find } from './find.tool.js';
import { getRequest } from './get-request.tool.js';
import { queryMetrics } from './metrics.tool.js';
import { searchRequests } from './search-requests.tool.js';
import { ToolError } from './tool.error.js';
import type { ToolArguments, ToolName } from './tools.js';
import { showInvisible } from './untrusted-text.js';

/** Each function takes the arguments of its own tool, which the SDK validated by the tool's schema. */
const RUN: Readonly<
  Record<ToolName, (reader: AnalyticsReader, account: Account, args: never) => Promise<CallToolResult>>
> = {
  find,
  metrics: queryMetrics,
  search_requests: searchRequests,
  get_request: getRequest,
  explain_change: explainChange,
  errors: queryErrors,
};

/** Advice for an agent on an error of the service, by its status. */
const ADVICE: Readonly<Record<number, string>> = {
  422: '',
  429: ' Too many exports run at once; call again in a second.',
  503: ' Call again in a second.',
  504: ' Ask for a shorter window, fewer groups or more filters.',
};

/** Runs tools for an account. */
@Injectable()
export class ToolRunner {
  private readonly filter = new ApiExceptionFilter();

  constructor(private readonly reader: AnalyticsReader) {}

  /** The result of a tool. An error of the call or of the service is also returned as a result. */
  async run(account: Account, name: ToolName, args: ToolArguments[ToolName]): Promise<CallToolResult> {
    const { current } = RequestContext;
    if (current) current.logFields.tool = name;
    try {
      return await RUN[name](this.reader, account, args as never);
    } catch (error) {
      if (error instanceof ClientDisconnected) throw error;
      return { isError: true, content: [{ type: 'text', text: this.describe(error) }] };
    }
  }

  private describe(error: unknown): string {
    if (error instanceof ToolError) return error.message;
    if (error instanceof ValidationException)
      return error.issues
        .map(({ loc, msg }) => showInvisible(`${loc.slice(1).join('.')}: ${msg}`))
        .join('\n');
    const mapped = this.filter.mapError(error);
    const { detail } = mapped.getResponse() as { detail: unknown };
    return `${String(detail)}.${ADVICE[mapped.getStatus()] ?? ''}`;
  }
}
