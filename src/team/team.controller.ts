import { Controller } from '@nestjs/common';
import type { Account } from '../auth/account.js';
import { CurrentAccount } from '../auth/account.decorator.js';
import { ReadOperation } from '../common/openapi/read-operation.decorator.js';
import { Team } from './team.dto.js';

@Controller('v1/team')
export class TeamController {
  @ReadOperation({
    id: 'getTeam',
    tag: 'Team',
    summary: 'Get Team',
    description: 'Returns the team that the API key belongs to.',
    response: Team,
  })
  get(@CurrentAccount() { teamId, teamName }: Account): Team {
    return { id: teamId, name: teamName };
  }
}
