import { Controller } from '@nestjs/common';
import { CurrentAccount } from '../../access/keys/account.decorator.js';
import { ReadOperation } from '../../access/operations/operation.decorators.js';
import type { Account } from '../../platform/http/account.js';
import { AppInput } from '../../platform/input/app-input.js';
import { Input } from '../../platform/input/input.decorator.js';
import { AlertList } from './alerts.dto.js';
import { AlertsService } from './alerts.service.js';

@Controller('v1')
export class AlertsController {
  constructor(private readonly service: AlertsService) {}

  @ReadOperation({
    id: 'listAlerts',
    tag: 'Alerts',
    summary: 'List Alerts',
    description:
      'Lists the rules of one app with their states and the last changes of each. Rules are made on the command ' +
      'line or in a file. `GET /v1/alerts` has the same of all apps of the team.',
    path: 'apps/:app_id/alerts',
    input: AppInput,
    response: AlertList,
  })
  listOfApp(@CurrentAccount() account: Account, @Input() { app_id }: AppInput): Promise<AlertList> {
    return this.service.listOfApp(account, app_id);
  }

  /** The same operation: the document has it once, under its first path. */
  @ReadOperation({
    id: 'listAlerts',
    tag: 'Alerts',
    summary: 'List Alerts',
    description: 'The same of all apps of the team.',
    path: 'alerts',
    response: AlertList,
  })
  list(@CurrentAccount() account: Account): Promise<AlertList> {
    return this.service.list(account);
  }
}
