import { Global, Module } from '@nestjs/common';
import { PageTokens } from './page-tokens.js';

@Global()
@Module({ providers: [PageTokens], exports: [PageTokens] })
export class PaginationModule {}
