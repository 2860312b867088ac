import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import type { Account, OperationId } from '../../platform/http/account.js';
import { notInScope } from '../../platform/http/api-error.js';

const OPERATION = 'operation';

/** Names the operation that a route handler serves. */
export const IsOperation = (id: OperationId) => SetMetadata(OPERATION, id);

/** @throws ApiError 403 if the key's scopes leave out the operation (docs/contract.md#key-scopes) */
export function requireOperation({ scopes: { operations } }: Account, id: OperationId): void {
  if (operations.length > 0 && !operations.includes(id)) throw notInScope(id);
}

/**
 * Rejects operations that the key's scopes leave out. It runs after `RateLimitGuard`, so the rejected
 * requests count.
 */
@Injectable()
export class OperationGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const id = this.reflector.get<OperationId | undefined>(OPERATION, context.getHandler());
    const { account } = context.switchToHttp().getRequest<Request>();
    if (id !== undefined && account) requireOperation(account, id);
    return true;
  }
}
