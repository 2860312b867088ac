import { Global, Module } from '@nestjs/common';
import { InputValidator } from '../input/validation-context.js';
import { CursorResolver } from './page-cursor.js';
import { PageTokens } from './page-tokens.js';

@Global()
@Module({
  providers: [PageTokens, { provide: InputValidator, useClass: CursorResolver }],
  exports: [PageTokens, InputValidator],
})
export class PaginationModule {}
