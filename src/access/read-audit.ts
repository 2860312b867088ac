import { appendFileSync, writeSync } from 'node:fs';
import { Injectable, Logger } from '@nestjs/common';
import { type Logger as Pino, pino } from 'pino';
import type { Account, OperationId } from '../platform/http/account.js';
import { RequestContext } from '../telemetry/request-context.js';
import { Config } from '../config/config.js';
import { serviceUnavailable } from '../platform/http/api-error.js';

/** The data that was read: IDs, times and names of fields, never values. */
type ReadTarget = Readonly<Record<string, string | number>>;

/**
 * Writes an audit line for each read of headers and bodies of requests, if `AUDIT_READS` is on
 * (docs/observe.md#audit).
 */
@Injectable()
export class ReadAudit {
  private readonly log = new Logger(ReadAudit.name);
  private readonly logger: Pino | undefined;

  constructor({ auditReads, auditLog }: Config) {
    if (!auditReads) return;
    const output = {
      // Opens the file for each line, so that it can be rotated.
      write: (line: string) => {
        if (auditLog === undefined) writeSync(process.stderr.fd, line);
        else appendFileSync(auditLog, line, { mode: 0o600 });
      },
    };
    this.logger = pino({ base: null }, output);
  }

  /**
   * Writes the line synchronously, before the data is sent.
   *
   * @throws ApiError 503 if the line cannot be written, so that the data is not sent
   */
  write(operation: OperationId, { keyIdentifier: key, teamId: team_id }: Account, target: ReadTarget): void {
    const { requestId: request_id, logFields } = RequestContext.current ?? {};
    const tool = logFields?.tool;
    const reader = { key, team_id, request_id, ...(tool !== undefined && { tool }) };
    try {
      this.logger?.info({ audit: `read.${operation}`, ...reader, ...target, outcome: 'ok' }, 'audit');
    } catch (error) {
      this.log.error(error);
      throw serviceUnavailable();
    }
  }
}
