import { openSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { AdminError } from '../../ops/admin/admin.error.js';
import { Config } from '../../config/config.js';
import { createCommandLogger } from '../../telemetry/logger.js';

const AUDIT_FILE = 'audit.log';

/**
 * The target of a command: IDs, choices, paths. Never a key, nor a name, because someone could pass a key as
 * a name by mistake.
 */
export type AuditTarget = Readonly<Record<string, string | number | boolean | null | undefined>>;

/**
 * Runs an administrative command and writes one audit line, at every `LOG_LEVEL`: action, actor, target,
 * outcome and duration. `refused`: the command is valid but impossible; `failed`: an error occurred. The line
 * has no error message, because that may repeat arguments.
 *
 * The actor is the account of the operating system: access to the store allows every command, so there are no
 * other accounts.
 *
 * @param work may return further members of the target, for example a new ID
 */
export async function runAudited(
  action: string,
  target: AuditTarget,
  work: () => Promise<AuditTarget | undefined>,
): Promise<void> {
  const startedAt = performance.now();
  const write = (outcome: 'ok' | 'refused' | 'failed', more: AuditTarget = {}) => {
    const duration_ms = Math.round((performance.now() - startedAt) * 10) / 10;
    const fields = { audit: action, ...actor(), ...target, ...more, outcome, duration_ms };
    createCommandLogger(openAuditLog())[outcome === 'ok' ? 'info' : 'warn'](fields, 'audit');
  };
  try {
    write('ok', await work());
  } catch (error) {
    write(error instanceof AdminError ? 'refused' : 'failed', { error: getErrorKind(error) });
    throw error;
  }
}

/**
 * Where audit lines are appended: the file `AUDIT_LOG`, or standard error. On a terminal, whose text is not
 * kept, a file in the data directory if that exists.
 */
function openAuditLog(): number {
  const stderr = process.stderr.fd;
  try {
    const { auditLog, clickhouse, dataDir } = new Config();
    const isKept = !process.stderr.isTTY || clickhouse.url !== undefined;
    if (auditLog === undefined && isKept) return stderr;
    return openSync(auditLog ?? join(dataDir, AUDIT_FILE), 'a', 0o600);
  } catch {
    // The line is more important than its place, and the configuration itself may be invalid.
    return stderr;
  }
}

/** The public identifier of a key argument, which may be the whole key. */
export function keyIdentifier(typed: string): string {
  const [public_ = ''] = typed.split('.', 1);
  return /^[A-Za-z0-9]{7}$/.test(public_) ? public_ : 'malformed';
}

/** An error's class, and its code if it has one; not its message, which may contain anything. */
function getErrorKind(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined ? error.name : `${error.name} ${code}`;
}

function actor(): { actor: string; uid: number } {
  try {
    const { username, uid } = userInfo();
    return { actor: username, uid };
  } catch {
    // In a container the account may have no name.
    const uid = process.getuid?.() ?? -1;
    return { actor: String(uid), uid };
  }
}
