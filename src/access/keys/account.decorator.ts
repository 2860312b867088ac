import { type ExecutionContext, createParamDecorator } from '@nestjs/common';
import type { Request } from 'express';
import type { Account } from '../../platform/http/account.js';

/** The account that `ApiKeyGuard` attached; present on every route that is not `@Public()`. */
export const CurrentAccount = createParamDecorator((_: unknown, context: ExecutionContext): Account => {
  const { account } = context.switchToHttp().getRequest<Request>();
  if (!account) throw new Error('A route without the API-key guard has no account');
  return account;
});
