import { existsSync } from 'node:fs';
import { URL, fileURLToPath } from 'node:url';
import { transformFileSync } from '@swc/core';

const OPTIONS = {
  swcrc: false,
  sourceMaps: 'inline',
  module: { type: 'nodenext' },
  jsc: {
    target: 'es2023',
    keepClassNames: true,
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
  },
};

/** Sources import each other by the names of what they are compiled to. */
export function resolve(specifier, context, next) {
  const isCompiled = !specifier.startsWith('.') || existsSync(new URL(specifier, context.parentURL));
  return next(isCompiled ? specifier : specifier.replace(/\.js$/, '.ts'), context);
}

export function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const { code } = transformFileSync(fileURLToPath(url), OPTIONS);
  return { format: 'module', source: code, shortCircuit: true };
}
