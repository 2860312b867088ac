import { spawnSync } from 'node:child_process';
import { PASTED_DOCUMENTS, SHELLS, type ShellBlock, listShellBlocks } from '../setup/document-blocks.js';
import { DocumentRunner } from '../setup/document-runner.js';
import { describeEmbedded } from '../setup/store.js';

const TIMEOUT_MS = 600_000;
const BLOCKS = PASTED_DOCUMENTS.flatMap(listShellBlocks).filter(({ isRun }) => isRun);
const isRestore = ({ text }: ShellBlock) => /\brestore (?!.*--check)/.test(text);
const find = (command: string) => BLOCKS.filter(({ text }) => text.includes(command));
const [demo] = find('npm run demo');
const [start] = find('npm start');
const served = BLOCKS.filter((block) => block !== demo && block !== start && !block.needsRegistry);

// A server is no part of what the README serves.
describeEmbedded.each(Object.keys(SHELLS))('the blocks of the documents in %s', (shell) => {
  const isHere = spawnSync(shell, ['-c', 'true']).status === 0;
  if (!isHere) process.stderr.write(`skipped: blocks in ${shell}, because it is not here\n`);
  const test = isHere ? it : it.skip;
  let runner: DocumentRunner;

  beforeAll(async () => {
    runner = await DocumentRunner.create(shell);
  });

  afterAll(() => runner.remove());

  const expectDone = (block: ShellBlock, { code, output }: { code: number | null; output: string }) => {
    // Of `doctor`: what it finds on this machine.
    const done = /\bdoctor\n$/.test(block.text) ? [0, 2] : [0];
    expect([block.place, done.includes(code ?? -1), done.includes(code ?? -1) ? '' : output]).toEqual([
      block.place,
      true,
      '',
    ]);
    // What `curl` gets with another status than 200.
    expect([block.place, output]).toEqual([block.place, expect.not.stringMatching(/"detail": ?"/)]);
  };

  test(
    'start the demo',
    async () => {
      await runner.serve(demo!);
      await runner.stop();
    },
    TIMEOUT_MS,
  );

  test(
    'make a store and serve it; all others run on it, and a backup is restored when it has stopped',
    async () => {
      const output = await runner.serve(start!);
      const [, key = ''] = /"key": ?"([^"]+)"/.exec(output) ?? [];
      const [, token = ''] = /"write_token": ?"([^"]+)"/.exec(output) ?? [];
      runner.setVariables(key, token);
      for (const block of served.filter((candidate) => !isRestore(candidate)))
        expectDone(block, await runner.run(block));
      await runner.stop();
      for (const block of served.filter(isRestore))
        expectDone(block, await runner.run(block, { DATA_DIR: './restored' }));
    },
    TIMEOUT_MS,
  );
});
