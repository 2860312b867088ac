import { eventually } from '../setup/eventually.js';
import { dataDirectory, prepare } from '../setup/data-directory.js';
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
});
