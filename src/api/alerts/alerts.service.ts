import { Injectable } from '@nestjs/common';
import type { Account } from '../../platform/http/account.js';
import { AppsService } from '../apps/apps.service.js';
import type { Alert, AlertList } from './alerts.dto.js';
import { AlertsRepository, type StateRow } from './alerts.repository.js';
import { type Rule, describeRule } from './rule.js';

@Injectable()
export class AlertsService {
  constructor(
    private readonly apps: AppsService,
    private readonly repository: AlertsRepository,
  ) {}

  async listOfApp(account: Account, appId: number): Promise<AlertList> {
    await this.apps.require(account, appId);
    return this.list({ ...account, scopes: { ...account.scopes, appIds: [appId] } });
  }

  /** A key of one consumer sees none, because a rule is about the requests of many. */
  async list(account: Account): Promise<AlertList> {
    const { teamId, scopes } = account;
    if (scopes.consumer !== null) return { data: [] };
    const appIds = (await this.apps.listAll(account)).map(({ id }) => id);
    const [rules, states] = await Promise.all([
      this.repository.findRules(teamId),
      this.repository.findStates(teamId, appIds),
    ]);
    const keyOf = (ruleAppId: number, name: string, appId: number) =>
      JSON.stringify([ruleAppId, name, appId]);
    const byKey = new Map<string, StateRow[]>();
    for (const row of states) {
      const key = keyOf(row.rule_app_id, row.rule, row.app_id);
      byKey.set(key, [...(byKey.get(key) ?? []), row]);
    }
    const now = Date.now();
    const data = appIds.flatMap((app_id) =>
      rules
        .filter((rule) => rule.app_id === 0 || rule.app_id === app_id)
        .map(({ app_id: ruleAppId, name, definition, receivers, muted_until }): Alert => {
          const rule = JSON.parse(definition) as Rule;
          const { severity, window, ...members } = rule;
          const history = byKey.get(keyOf(ruleAppId, name, app_id)) ?? [];
          const [last] = history;
          return {
            app_id,
            name,
            condition: describeRule(rule),
            rule: { ...members, window_minutes: window },
            severity,
            receivers,
            state: last?.state ?? 'no_data',
            since: last?.since ?? null,
            value: last?.value ?? null,
            evaluated_at: last?.evaluated_at ?? null,
            muted_until: Date.parse(muted_until) > now ? muted_until : null,
            history: history.map(({ state, since, value }) => ({ state, since, value })),
          };
        }),
    );
    return { data };
  }
}
