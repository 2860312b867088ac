import { userInfo } from 'node:os';
import { AdminError } from '../admin/admin.service.js';
import { createCommandLogger } from '../observability/logger.js';

/** What a command was done to: IDs, choices, paths. Never a key, nor a name, as which one could be given by mistake. */
export type AuditTarget = Readonly<Record<string, string | number | boolean | null | undefined>>;

/**
 * Does what an administrative command says, and writes one line about it to standard error, whatever `LOG_LEVEL` is: what,
 * who, to what, how it ended and how long it took. `refused`: it was understood and cannot be done; `failed`: something
 * went wrong. Why is told to whoever asked, in words that may repeat what they typed.
 *
 * Who is the account of the operating system: whoever may open the store may do all of this, so there is no other name.
 *
 * @param work gives what became known of the target on the way, a new ID for example
 */
export async function runAudited(
  action: string,
  target: AuditTarget,
  work: () => Promise<AuditTarget>,
): Promise<void> {
  const startedAt = performance.now();
  const write = (outcome: 'ok' | 'refused' | 'failed', more: AuditTarget) => {
    const duration_ms = Math.round((performance.now() - startedAt) * 10) / 10;
    const fields = { audit: action, ...actor(), ...target, ...more, outcome, duration_ms };
    createCommandLogger('stderr')[outcome === 'ok' ? 'info' : 'warn'](fields, 'audit');
  };
  try {
    write('ok', await work());
  } catch (error) {
    write(error instanceof AdminError ? 'refused' : 'failed', { error: getErrorKind(error) });
    throw error;
  }
}

/** The public part of a key as somebody typed it, who may have typed all of it. */
export function keyIdentifier(typed: string): string {
  const [public_ = ''] = typed.split('.', 1);
  return /^[A-Za-z0-9]{7}$/.test(public_) ? public_ : 'malformed';
}

/** An error's class, and its code where it has one: its message may contain anything. */
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
