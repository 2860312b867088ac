import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Documents whose blocks people paste into a shell. */
export const PASTED_DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => join('docs', name)),
];

/** A block of a document that begins with ```sh. */
export interface ShellBlock {
  /** Such as `README.md:27`. */
  readonly place: string;
  readonly text: string;
  /** Marked `sh no-run`: it needs Docker, another machine, or values of the reader. */
  readonly isRun: boolean;
  /** Whether it installs packages from a registry. */
  readonly needsRegistry: boolean;
}

export function listShellBlocks(document: string): ShellBlock[] {
  const text = readFileSync(document, 'utf8');
  return [...text.matchAll(/^( *)```sh( no-run)?\n([^]*?)^ *```$/gm)].map((match) => {
    const [, indent = '', noRun, block = ''] = match;
    return {
      place: `${document}:${text.slice(0, match.index).split('\n').length}`,
      text: block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      isRun: noRun === undefined,
      needsRegistry: /\b(?:npm install|pip install)\b/.test(block),
    };
  });
}

/** Shells with what makes them read standard input as they read what a person pastes. */
export const SHELLS: Readonly<Record<string, readonly string[]>> = {
  bash: ['--noprofile', '--norc', '-i'],
  zsh: ['-f', '-i'],
};
