import { Controller } from '@nestjs/common';
import { CurrentAccount } from '../../access/keys/account.decorator.js';
import type { Account } from '../../platform/http/account.js';
import { ReadOperation } from '../../access/operations/operation.decorators.js';
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
