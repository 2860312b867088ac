import { createReadStream } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { Config } from '../../config/config.js';
import { AdminError } from '../../ops/admin/admin.error.js';
import { InvalidRecordError, decodeObject, explainFailure } from '../../records/decoding/decoders.js';
import type { DescribedRoute } from '../../records/described-route.js';
import { Redactor } from '../../records/redaction/redactor.js';
import { finish } from '../../shared/async/slices.js';
import { MAX_DOCUMENT, decodeDocument, listOperations } from '../../sources/decoding/api-document.js';
import type { ApiDocument } from '../../write/batches/message.js';
import { runAudited } from './audit.js';
import { STANDARD_INPUT } from './import-report.js';
import { examples, id } from './options.js';
import { printMessage, printResult } from './output.js';
import { withAdmin } from './with-store.js';

interface ImportOptions {
  app: number;
  env?: string;
}

/** Prints the OpenAPI document of the service, or imports that of an app. */
export function openapiCommand(program: Command): void {
  const openapi = program
    .command('openapi')
    .description('print the OpenAPI document of this service, or import that of an app')
    .addHelpText('after', examples('openapi > openapi.json', 'openapi import shop.yaml --app 1'))
    // It opens neither a store nor a port.
    .action(async () => {
      // Loaded here: no other command needs the framework's core.
      const { NestFactory } = await import('@nestjs/core');
      const { AppModule } = await import('../../app.module.js');
      const { HttpAdapter } = await import('../../platform/http/http.adapter.js');
      const { createDocument } = await import('../../platform/openapi/openapi.js');
      const config = new Config();
      const app = await NestFactory.create(AppModule.on(config), new HttpAdapter(), {
        preview: true,
        logger: false,
      });
      process.stdout.write(`${JSON.stringify(createDocument(app, config.publicPath), null, 2)}\n`);
    });
  openapi
    .command('import')
    .description(
      'store the OpenAPI document of an app, for the inventory of List Endpoints: JSON or YAML, at most 4 MiB. It takes ' +
        'the place of the last one; a document without paths removes it',
    )
    .argument('<file>', 'a file, or - for standard input')
    .requiredOption('--app <id>', 'app ID', id)
    .option('--env <name>', 'the only environment that it describes')
    .addHelpText(
      'after',
      examples('openapi import shop.yaml --app 1', 'openapi import shop.json --app 1 --env prod'),
    )
    .action((file: string, { app, env }: ImportOptions) =>
      runAudited('openapi.import', { app_id: app }, async () => {
        const { text, operations } = await readDocument(file);
        const redactor = new Redactor(new Config().redaction);
        const document: ApiDocument = {
          document: finish(redactor.redactDocument(text)),
          routes: finish(redactor.redactDocument(JSON.stringify(operations))),
        };
        const changed = await withAdmin((admin) => admin.documents.import(app, env, document));
        printResult({ app_id: app, env: env ?? null, operations: operations.length, changed });
        return { operations: operations.length };
      }),
    );
}

async function readDocument(file: string): Promise<{ text: string; operations: DescribedRoute[] }> {
  const content = await readFile(file);
  try {
    const json = /^\s*\{/.test(content) ? content : await convertYaml(content);
    const { text, document } = decodeDocument(json) ?? { text: '', document: {} };
    if (typeof (document.openapi ?? document.swagger) !== 'string')
      throw new AdminError(`${file} is no OpenAPI document: it has no member openapi with its version`);
    decodeObject(document.paths ?? {}, 'paths');
    const withoutOperations: string[] = [];
    const operations = finish(listOperations(document, withoutOperations));
    if (withoutOperations.length > 0)
      printMessage(
        `${withoutOperations.length} paths have no operation in this file, such as ` +
          `${JSON.stringify(withoutOperations[0]?.slice(0, 100))}: bundle a document of several files first`,
      );
    return { text, operations };
  } catch (error) {
    throw error instanceof AdminError
      ? error
      : new AdminError(`${file}: ${explainFailure(error, 'document')}`);
  }
}

/** At most a byte more than a document may have, also from a pipe. */
async function readFile(file: string): Promise<string> {
  const stream = createReadStream(file === STANDARD_INPUT ? '/dev/stdin' : file, { end: MAX_DOCUMENT });
  const content = await buffer(stream).catch((error: unknown) => {
    throw new AdminError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  });
  if (content.length > MAX_DOCUMENT)
    throw new AdminError(`${file} has more than ${MAX_DOCUMENT} bytes, which is the maximum`);
  return content.toString();
}

/** A document in YAML as JSON. Its aliases can make a small file a large document. */
async function convertYaml(content: string): Promise<string> {
  // Loaded here: no other command needs it.
  const { CORE_SCHEMA, YAMLException, load, mergeTag } = await import('js-yaml');
  try {
    let bytes = 0;
    const value = load(content, { schema: CORE_SCHEMA.withTags(mergeTag) });
    return JSON.stringify(value, (name, member: unknown) => {
      bytes += name.length + (typeof member === 'string' ? member.length : 1);
      if (bytes > MAX_DOCUMENT) throw new InvalidRecordError(`it has more than ${MAX_DOCUMENT} bytes`);
      return member;
    });
  } catch (error) {
    if (error instanceof YAMLException)
      throw new InvalidRecordError(`it must be valid YAML or JSON: ${error.reason}`);
    // A cycle of aliases.
    if (error instanceof TypeError) throw new InvalidRecordError('it must not contain itself');
    throw error;
  }
}
