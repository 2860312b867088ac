import { EMPTY_CAPTURE, toCaptureJson } from '../../src/records/capture.js';
import { TestApp } from '../setup/app.js';
import { allOperations, fill } from '../setup/document.js';
import { Tenant } from '../setup/tenant.js';

/** What the Swagger page sends if one only presses Execute. */
describe('the bodies that the document offers', () => {
  let app: TestApp;
  let tenant: Tenant;

  beforeAll(async () => {
    app = await TestApp.start({ TRACES_RATE_LIMIT_PER_SECOND: '1000', TRACES_RATE_LIMIT_PER_MINUTE: '1000' });
    tenant = await Tenant.create(app);
    const exception = { type: 'TypeError', message: 'boom', stacktrace: '', tracker_event_id: null };
    await tenant.write({ status_code: 500, captured_json: toCaptureJson({ ...EMPTY_CAPTURE, exception }) });
    const span = {
      app_id: tenant.appId,
      app_env_id: await tenant.envId('prod'),
      start_time_ns: `${Date.now()}000000`,
      duration_ns: '1500000001',
      trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
      span_id: '00f067aa0ba902b7',
      name: 'GET /items',
      kind: 'SERVER',
      status: 'UNSET',
      attributes: '{}',
      events: '[]',
    };
    await app.store.insert('logged_spans', [JSON.stringify(span)]);
  });

  afterAll(() => app.stop());

  it.each(allOperations.filter(({ method }) => method === 'post'))(
    'of $id have rows on any day',
    async (operation) => {
      const { content } = operation.definition.requestBody as {
        content: Record<string, { examples: Record<string, { value: { format?: string } }> }>;
      };
      for (const { value } of Object.values(content['application/json']!.examples)) {
        const response = await fetch(app.url + fill(operation.path, { app_id: tenant.appId }), {
          method: 'POST',
          headers: { 'Api-Key': tenant.key },
          body: JSON.stringify(value),
        });
        const text = await response.text();
        const { data } = text.startsWith('{') ? (JSON.parse(text) as { data: object[] }) : {};
        const lines = data ? [text, ...data.slice(0, 1)] : text.trim().split('\n');
        expect([operation.id, response.status, lines.length]).toEqual([operation.id, 200, 2]);
      }
    },
  );
});
