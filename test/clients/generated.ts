import { join } from 'node:path';
import type { Packages } from './packages.js';

/** A client that a generator makes of the document, with a program that calls all operations. */
export interface GeneratedClient {
  name: string;
  packages: Packages;
  run: readonly [program: string, ...args: string[]];
  env?: Readonly<Record<string, string>>;
}

const DOCUMENT = join(process.cwd(), 'test/contract/openapi.json');

const COPY_GENERATOR = [
  ...(['mvn', '-q', '-B', 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy'] as const),
  ...(['-Dartifact=org.openapitools:openapi-generator-cli:7.16.0', '-DoutputDirectory=.'] as const),
  '-Dmdep.stripVersion=true',
] as const;
/** Writes a client into `read_api`. */
const generate = (generator: string) =>
  [
    ...(['java', '-jar', 'openapi-generator-cli.jar', 'generate', '-g', generator, '-i', DOCUMENT] as const),
    ...(['-o', 'read_api', '--additional-properties', 'packageName=read_api'] as const),
    ...(['--global-property', 'apiTests=false,modelTests=false,apiDocs=false,modelDocs=false'] as const),
  ] as const;

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
  {
    name: 'openapi-generator for Python',
    packages: {
      directory: 'python-generator-client',
      registry: 'PyPI and Maven',
      needs: ['python3', 'mvn', 'java'],
      install: [
        COPY_GENERATOR,
        ['python3', '-m', 'venv', 'venv'],
        [
          ...(['venv/bin/pip', 'install', '-q', 'urllib3==2.8.0', 'python-dateutil==2.9.0.post0'] as const),
          ...(['pydantic==2.14.3', 'typing-extensions==4.16.0'] as const),
        ],
      ],
      build: [generate('python')],
    },
    run: ['venv/bin/python', 'read_rows.py'],
    env: { PYTHONPATH: 'read_api' },
  },
  {
    name: 'openapi-generator for Rust',
    packages: {
      directory: 'rust-client',
      registry: 'crates.io and Maven',
      needs: ['cargo', 'mvn', 'java'],
      install: [
        COPY_GENERATOR,
        generate('rust'),
        ['cargo', 'init', '--quiet', '--vcs', 'none', '--name', 'read'],
        ['cargo', 'add', '--quiet', '--path', 'read_api'],
        ['cargo', 'add', '--quiet', 'tokio@1', '--features', 'rt,macros'],
      ],
      build: [generate('rust'), ['cp', 'read.rs', 'src/main.rs'], ['cargo', 'build', '--quiet']],
    },
    run: ['target/debug/read'],
  },
];
