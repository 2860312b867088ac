import { eventually } from '../setup/eventually.js';
import { dataDirectory, prepare } from '../setup/data-directory.js';
import { freePort } from '../setup/free-port.js';
import { ProductProcess } from '../setup/product-process.js';
import { describeEmbedded } from '../setup/store.js';

describeEmbedded('the start of the service', () => {
  const data = dataDirectory();

  afterAll(data.remove);
  afterEach(() => ProductProcess.endAll());

  /** Its log lines with this beginning of the message. */
  const findLines = ({ log }: ProductProcess, start: string) =>
    log.filter(({ msg }) => String(msg).startsWith(start));

  it('logs its URL and that of its reference, and what to do when there is no key', async () => {
    const service = await ProductProcess.start(['serve'], { ...data.env, HOST: '0.0.0.0' });
    await eventually(() => findLines(service, 'There is no API key').length === 1);
    const { port } = new URL(service.apiUrl);
    expect(findLines(service, 'listening')).toEqual([
      expect.objectContaining({ url: `http://localhost:${port}`, docs: `http://localhost:${port}/docs` }),
    ]);
    expect(service.err).toEqual([]);
    expect(await service.stop()).toBe(0);
  });

  it('has nothing to say of keys when there is one, and names no reference that is off, below PUBLIC_PATH', async () => {
    const { key } = await prepare(data.env);
    const service = await ProductProcess.start(['serve'], {
      ...data.env,
      DOCS: 'off',
      PUBLIC_PATH: '/analytics',
    });
    const response = await fetch(`${service.apiUrl}/analytics/v1/team`, { headers: { 'Api-Key': key } });
    expect(response.status).toBe(200);
    expect(await service.stop()).toBe(0);
    const { port } = new URL(service.apiUrl);
    const [listening] = findLines(service, 'listening');
    expect(listening).toMatchObject({ url: `http://127.0.0.1:${port}/analytics` });
    expect(listening).not.toHaveProperty('docs');
    expect(findLines(service, 'There is no API key')).toEqual([]);
  });

  it('takes ports and the directory as options, which go before the variables', async () => {
    const otherData = dataDirectory();
    const { key } = await prepare(otherData.env);
    const [port, collectorPort] = [await freePort(), await freePort()];
    const directory = ['--data-dir', otherData.env.DATA_DIR!];
    const ports = ['--port', `${port}`, '--collector-port', `${collectorPort}`];
    const service = await ProductProcess.begin(['serve', ...ports, ...directory], { DATA_DIR: '/nowhere' });
    // The collector listens after the API.
    for (const url of [`http://127.0.0.1:${port}/v1/team`, `http://127.0.0.1:${collectorPort}/health/live`]) {
      const response = await eventually(() =>
        fetch(url, { headers: { 'Api-Key': key } }).catch(() => undefined),
      );
      expect([url, response.status]).toEqual([url, 200]);
    }
    const team = await ProductProcess.run(['team', 'list', ...directory], {});
    expect([team.code, team.out]).toEqual([0, [expect.stringContaining('Acme')]]);
    expect(await service.stop()).toBe(0);
    otherData.remove();
  });

  it('ends with one line on a Node.js that is too old, before anything is loaded', async () => {
    const OLD = `data:text/javascript,${encodeURIComponent(
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.0' } });",
    )}`;
    for (const args of [[], ['doctor'], ['--version']]) {
      const ended = await ProductProcess.run(args, data.env, { nodeOptions: ['--import', OLD] });
      expect([ended.code, ended.out, ended.err]).toEqual([
        78,
        [],
        ['Node.js 18.20.0 is too old: install Node.js 24, or at least 20.19.'],
      ]);
    }
  });
});
