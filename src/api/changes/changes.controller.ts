import { Controller } from '@nestjs/common';
import { CurrentAccount } from '../../access/keys/account.decorator.js';
import type { Account } from '../../platform/http/account.js';
import { ReadOperation } from '../../access/operations/operation.decorators.js';
import { Input } from '../../platform/input/input.decorator.js';
import { ExplainedChange } from './changes.dto.js';
import { ExplainChangeInput } from './changes.input.js';
import { ChangesService } from './changes.service.js';

@Controller('v1/apps/:app_id/changes')
export class ChangesController {
  constructor(private readonly service: ChangesService) {}

  @ReadOperation({
    id: 'explainChange',
    tag: 'Metrics',
    summary: 'Explain Change',
    description:
      'Compares two windows of one app: how requests, errors or response times changed, and which endpoints, consumers ' +
      'and status codes changed them. Excluded endpoints are left out.',
    hasBody: true,
    input: ExplainChangeInput,
    response: ExplainedChange,
    bodies: {
      all: {
        summary: 'All that is kept, compared with nothing',
        value: { measure: 'requests', since: '2020-01-01' },
      },
    },
  })
  explain(@CurrentAccount() account: Account, @Input() input: ExplainChangeInput): Promise<ExplainedChange> {
    return this.service.explain(account, input);
  }
}
