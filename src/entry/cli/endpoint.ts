import type { Command } from 'commander';
import { runAudited } from './audit.js';
import { count, examples, id } from './options.js';
import { printResult, printSections } from './output.js';
import { withAdmin } from './with-store.js';

interface EndpointOptions {
  app: number;
  method: string;
  path: string;
}

interface ExpectedErrorOptions extends EndpointOptions {
  status: number;
  remove: boolean;
}

export function endpointCommand(program: Command): void {
  const endpoint = program
    .command('endpoint')
    .description('exclude endpoints, mark expected errors')
    .addHelpText('after', examples('endpoint exclude --app 1 --method GET --path /internal/status'));
  addExpectError(endpoint);
  addSetExcluded(
    endpoint,
    'exclude',
    'exclude an endpoint from logs, details and traffic, past and future; with `*`, all that match, also later ones',
  );
  addSetExcluded(endpoint, 'include', 'take an endpoint or a pattern back in');
  addList(endpoint);
}

function addList(endpoint: Command): void {
  endpoint
    .command('list')
    .description('list the excluded patterns and the endpoints of an app')
    .requiredOption('--app <id>', 'app ID', id)
    .addHelpText('after', examples('endpoint list --app 1'))
    .action(({ app }: { app: number }) =>
      runAudited('endpoint.list', { app_id: app }, async () => {
        printSections(await withAdmin((admin) => admin.endpoints.list(app)));
      }),
    );
}

function addSetExcluded(endpoint: Command, name: 'exclude' | 'include', description: string): void {
  addEndpointOptions(endpoint.command(name).description(description))
    .addHelpText(
      'after',
      examples(
        `endpoint ${name} --app 1 --method GET --path '/internal/{id}'`,
        `endpoint ${name} --app 1 --method '*' --path '/static/*'`,
      ),
    )
    .action(({ app, method, path }: EndpointOptions) =>
      runAudited(`endpoint.${name}`, { app_id: app, method, path }, async () => {
        const isExcluded = name === 'exclude';
        if (`${method}${path}`.includes('*')) {
          const matched = await withAdmin((admin) =>
            admin.endpoints.setPatternExcluded(app, method, path, isExcluded),
          );
          printResult(matched);
          return { endpoints: matched.endpoints };
        }
        const marked = await withAdmin((admin) => admin.endpoints.setExcluded(app, method, path, isExcluded));
        printResult(marked);
        return { endpoint_id: marked.id };
      }),
    );
}

function addExpectError(endpoint: Command): void {
  addEndpointOptions(
    endpoint
      .command('expect-error')
      .description('count a status of an endpoint as a success in metrics, past and future'),
  )
    .requiredOption('--status <code>', 'status code from 400 to 599', count)
    .option('--remove', 'count it as an error again', false)
    .addHelpText(
      'after',
      examples(
        "endpoint expect-error --app 1 --method GET --path '/users/{id}' --status 404",
        "endpoint expect-error --app 1 --method GET --path '/users/{id}' --status 404 --remove",
      ),
    )
    .action(({ app, method, path, status, remove }: ExpectedErrorOptions) =>
      runAudited('endpoint.expect-error', { app_id: app, method, path, status, remove }, async () => {
        const marked = await withAdmin((admin) =>
          admin.endpoints.setExpectedError(app, method, path, status, !remove),
        );
        printResult(marked);
        return { endpoint_id: marked.id };
      }),
    );
}

function addEndpointOptions(command: Command): Command {
  return command
    .requiredOption('--app <id>', 'app ID', id)
    .requiredOption('--method <method>', 'HTTP method')
    .requiredOption('--path <path>', 'path pattern, as in List Endpoints');
}
