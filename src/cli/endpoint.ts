import type { Command } from 'commander';
import { runAudited } from './audit.js';
import { count, examples, id } from './options.js';
import { printResult } from './output.js';
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
  const mark = (name: string, description: string, excluded: boolean) =>
    endpoint
      .command(name)
      .description(description)
      .requiredOption('--app <id>', 'app ID', id)
      .requiredOption('--method <method>', 'HTTP method')
      .requiredOption('--path <path>', 'path pattern, as in List Endpoints')
      .addHelpText('after', examples(`endpoint ${name} --app 1 --method GET --path '/internal/{id}'`))
      .action(({ app, method, path }: EndpointOptions) =>
        runAudited(`endpoint.${name}`, { app_id: app, method, path }, async () => {
          const marked = await withAdmin((admin) => admin.setExcluded(app, method, path, excluded));
          printResult(marked);
          return { endpoint_id: marked.id };
        }),
      );
  endpoint
    .command('expect-error')
    .description('count a status of an endpoint as a success in metrics, past and future')
    .requiredOption('--app <id>', 'app ID', id)
    .requiredOption('--method <method>', 'HTTP method')
    .requiredOption('--path <path>', 'path pattern, as in List Endpoints')
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
        const marked = await withAdmin((admin) => admin.setExpectedError(app, method, path, status, !remove));
        printResult(marked);
        return { endpoint_id: marked.id };
      }),
    );
  mark('exclude', 'exclude an endpoint from logs, details and traffic, past and future', true);
  mark('include', 'take an endpoint back in', false);
}
