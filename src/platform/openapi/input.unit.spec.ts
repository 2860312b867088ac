import { Controller, Get, Module } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { IsIn, IsInt, IsOptional, IsUUID, Matches, Max, Min } from 'class-validator';
import { EXAMPLES } from './examples.js';
import type { Timestamp } from '../../shared/time/timestamp.js';
import { NextToken } from '../paging/page-cursor.js';
import { IsText, IsTimestamp } from '../input/constraints.js';
import { ToInteger, ToTimestamp, ToUuid } from '../input/conversions.js';
import { PathParameter, QueryParameter } from '../input/parameters.js';
import { apiInput } from './input.js';

class AppInput {
  @PathParameter({ description: 'The app' })
  @ToInteger()
  @IsInt()
  @Min(1)
  app_id: number;
}

class ThingInput extends AppInput {
  @QueryParameter({ description: 'The status' })
  @IsOptional()
  @IsText(8)
  @Matches(/^\dxx$/)
  status_code?: string;

  @QueryParameter({ description: 'The start', examples: ['2025-05-14'] })
  @ToTimestamp()
  @IsOptional()
  @IsTimestamp()
  start?: Timestamp;

  @QueryParameter({ description: 'The grouping' })
  @IsOptional()
  @IsIn(['hour', 'day'])
  interval: 'hour' | 'day' = 'hour';

  @QueryParameter({ description: 'The size' })
  @ToInteger()
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(1000)
  limit = 100;

  @NextToken()
  next_token?: string;

  @PathParameter({ description: 'The request' })
  @ToUuid()
  @IsUUID('loose')
  request_uuid: string;
}

@Controller('apps/:app_id/things/:request_uuid')
class ThingController {
  @Get()
  @apiInput(ThingInput)
  find() {
    return {};
  }
}

@Module({ controllers: [ThingController] })
class ThingModule {}

describe('apiInput', () => {
  it('documents every field as it is parsed, in the order of validation', async () => {
    const module = await Test.createTestingModule({ imports: [ThingModule] }).compile();
    const app = module.createNestApplication();
    const document = SwaggerModule.createDocument(
      app,
      new DocumentBuilder().setOpenAPIVersion('3.1.0').build(),
    );
    await app.close();
    const query = { in: 'query', required: false };
    const path = { in: 'path', required: true };
    expect(document.paths['/apps/{app_id}/things/{request_uuid}']?.get?.parameters).toEqual([
      { ...path, name: 'app_id', description: 'The app', schema: { type: 'integer', minimum: 1 } },
      {
        ...path,
        name: 'request_uuid',
        description: 'The request',
        schema: { type: 'string', format: 'uuid' },
      },
      {
        ...query,
        name: 'status_code',
        description: 'The status',
        schema: { type: 'string', maxLength: 8, pattern: String.raw`^\dxx$` },
      },
      {
        ...query,
        name: 'start',
        description: 'The start',
        schema: { type: 'string', examples: ['2025-05-14'] },
      },
      {
        ...query,
        name: 'interval',
        description: 'The grouping',
        schema: { type: 'string', enum: ['hour', 'day'], default: 'hour' },
      },
      {
        ...query,
        name: 'limit',
        description: 'The size',
        schema: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
      },
      {
        ...query,
        name: 'next_token',
        description: 'Token for the next page, from a previous response',
        schema: { type: 'string', maxLength: 1024, examples: [EXAMPLES.next_token] },
      },
    ]);
  });
});
