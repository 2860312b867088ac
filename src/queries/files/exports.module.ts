import { Module } from '@nestjs/common';
import { FileStreams } from './file-streams.js';

@Module({ providers: [FileStreams], exports: [FileStreams] })
export class ExportsModule {}
