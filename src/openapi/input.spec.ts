import { Controller, Get, Module } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { EXAMPLES } from '../common/examples.js';
import type { Timestamp } from '../common/time/timestamp.js';
import {
  IntegerField,
  LiteralField,
  PatternField,
  TimestampField,
  TokenField,
  UuidField,
} from '../validation/field-types.js';
import { apiInput } from './input.js';

class AppInput {
  @IntegerField({ in: 'path', description: 'The app', ge: 1 }) app_id: number;
}

class ThingInput extends AppInput {
  @PatternField({ description: 'The status', maxLength: 8, pattern: /^\dxx$/ }) status_code?: string;
  @TimestampField({ description: 'The start', examples: ['2025-05-14'] }) start?: Timestamp;
  @LiteralField(['hour', 'day'], { description: 'The grouping', default: 'hour' }) interval: 'hour' | 'day';
  @IntegerField({ description: 'The size', ge: 1, le: 1000, default: 100 }) limit: number;
  @TokenField() next_token?: string;
  @UuidField({ in: 'path', description: 'The request' }) request_uuid: string;
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
