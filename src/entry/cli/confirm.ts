import { createInterface } from 'node:readline/promises';
import { AdminError } from '../../ops/admin/admin.error.js';

/**
 * Asks on the terminal for confirmation of an action that cannot be undone.
 *
 * @param describe makes the question
 * @param isConfirmed whether `--yes` was given
 * @throws AdminError if the answer is not yes, or there is no terminal to ask on
 */
export async function confirm(describe: () => Promise<string>, isConfirmed: boolean): Promise<void> {
  if (isConfirmed) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new AdminError('This cannot be undone: confirm it with --yes');
  const question = await describe();
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${question} This cannot be undone. [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new AdminError('Nothing was deleted');
  } finally {
    terminal.close();
  }
}
