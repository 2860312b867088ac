import { ApiProperty } from '@nestjs/swagger';

export class Team {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'Team ID', example: 1 })
  id: number;

  @ApiProperty({ type: 'string', description: 'Team name', example: 'Acme' })
  name: string;
}
