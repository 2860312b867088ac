import { type ExecutionContext, createParamDecorator } from '@nestjs/common';
import type { Request } from 'express';
import { parseRawPath, parseRawQuery } from '../http/raw-query.js';
import { IGNORED } from './ignored.js';
import { InputPipe, type RawInput } from './input.pipe.js';
import { readJsonBody } from './json-body.js';

const FromRequest = createParamDecorator((_: unknown, context: ExecutionContext): RawInput => {
  const request = context.switchToHttp().getRequest<Request>();
  const { path } = request.route as { path: string };
  if (!request.account) throw new Error(`${path} takes an input, but no account: it needs the API-key guard`);
  return {
    path: parseRawPath(path, request.originalUrl),
    query: parseRawQuery(request.originalUrl),
    readBody: () => readJsonBody(request),
    reportIgnored: (names) => request.res?.setHeader(IGNORED, names),
    account: request.account,
  };
});

/**
 * Path and query parameters and members of a JSON body as one object of the parameter's class. Its fields are
 * declared with the decorators of `parameters.ts`. It is one object, because the framework validates separate
 * ones separately and reports only the first issue.
 */
export const Input = (): ParameterDecorator => FromRequest(InputPipe);
