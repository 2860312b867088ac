import { join } from 'node:path';
import type { Packages } from './packages.js';

/** A client that a generator makes of the document, with a program that calls all operations. */
export interface GeneratedClient {
  name: string;
  packages: Packages;
  run: readonly [program: string, ...args: string[]];
}

const DOCUMENT = join(process.cwd(), 'test/contract/openapi.json');

export const GENERATED_CLIENTS: readonly GeneratedClient[] = [
  {
    name: 'oapi-codegen for Go',
    packages: {
      directory: 'go-client',
      registry: 'Go modules',
      needs: ['go'],
      install: [
        ['go', 'mod', 'init', 'app'],
        ['go', 'get', 'github.com/oapi-codegen/runtime@v1.9.0'],
        ['mkdir', 'api'],
      ],
      build: [
        [
          ...(['go', 'run', 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'] as const),
          ...(['-generate', 'types,client', '-package', 'api', '-o', 'api/api.gen.go', DOCUMENT] as const),
        ],
        ['go', 'build', '-o', 'read', 'read.go'],
      ],
    },
    run: ['./read'],
  },
  {
    name: 'openapi-python-client',
    packages: {
      directory: 'python-client',
      registry: 'PyPI',
      needs: ['python3'],
      install: [
        ['python3', '-m', 'venv', 'venv'],
        ['venv/bin/pip', 'install', '-q', 'openapi-python-client==0.29.1'],
      ],
      build: [
        [
          ...(['venv/bin/openapi-python-client', 'generate', '--overwrite', '--meta', 'none'] as const),
          ...(['--path', DOCUMENT, '--output-path', 'read_api'] as const),
        ],
      ],
    },
    run: ['venv/bin/python', 'read.py'],
  },
];
