import { Global, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { RateLimitGuard } from '../rate-limit/rate-limit.guard.js';
import { RateLimitModule } from '../rate-limit/rate-limit.module.js';
import { ApiKeyGuard } from './api-key.guard.js';
import { ApiKeyRepository } from './api-key.repository.js';

/** Registers the guards in the contract's order: the key first, then the rate limit. */
@Global()
@Module({
  imports: [RateLimitModule],
  providers: [
    ApiKeyRepository,
    { provide: APP_GUARD, useClass: ApiKeyGuard },
    { provide: APP_GUARD, useExisting: RateLimitGuard },
  ],
  exports: [ApiKeyRepository],
})
export class AuthModule {}
