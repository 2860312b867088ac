import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { CurrentAccount } from '../../access/keys/account.decorator.js';
import { IsOperation } from '../../access/operations/operation.guard.js';
import {
  REFUSALS_OF_APP,
  type RefusalCause,
  type RefusedSender,
  explainRefusal,
} from '../../access/tokens/refusals.js';
import { Config } from '../../config/config.js';
import type { Account } from '../../platform/http/account.js';
import { AppInput } from '../../platform/input/app-input.js';
import { Input } from '../../platform/input/input.decorator.js';
import { AppScopedStore } from './app-scoped-store.js';
import { AppsService } from './apps.service.js';

/** Refusals at one route for one cause. */
interface Refusal {
  /** The last one, ISO 8601. */
  refused_at: string;
  /** The path, such as `/v1/traces`. */
  route: string;
  cause: RefusalCause;
  /** What was wrong, as a part of a sentence: `its write token is unknown`. */
  reason: string;
  /** What to do, as a part of a sentence. */
  cure: string;
}

/**
 * For the dashboard's page of an app without data: the senders that were refused in the last 15 minutes, the
 * last one first, at most 50. They are those of the app, and those whose app is not known, which may be of
 * another team. So nothing says where they are. Not an operation of the contract, and so not in the document.
 */
@ApiExcludeController()
@Controller('v1/apps/:app_id/refused-senders')
export class RefusedSendersController {
  constructor(
    private readonly apps: AppsService,
    private readonly store: AppScopedStore,
    private readonly config: Config,
  ) {}

  @Get()
  @IsOperation('listApps')
  async list(
    @CurrentAccount() account: Account,
    @Input() { app_id }: AppInput,
  ): Promise<{ data: Refusal[] }> {
    const scope = await this.apps.require(account, app_id);
    // A key of one consumer learns nothing of the app itself.
    if (scope.consumer !== null) return { data: [] };
    const rows = await this.store.rows<Omit<RefusedSender, 'address'>>(
      scope,
      'refused_senders.of_app',
      REFUSALS_OF_APP,
    );
    return { data: rows.map((row) => ({ ...row, ...explainRefusal(this.config, row.cause) })) };
  }
}
