import { Config } from '../../config/config.js';
import { adviseOnImport } from './import-advice.js';

const IMPORTED = {
  app: 7,
  formats: ['combined'],
  requests: 10,
  from: '2026-11-20T08:15:02.000Z',
  to: '2026-11-20T09:15:02.000Z',
  hosts: ['shop.example.com'],
  with_response_time: 10,
  not_logged: {},
};
const advise = (members: object) => adviseOnImport({ ...IMPORTED, ...members }, new Config());

describe('the explanation of an import', () => {
  it('has the address of the dashboard, with the app and the window', () => {
    const [, ...lines] = advise({});
    expect(lines).toEqual([
      expect.stringMatching(
        /^Dashboard: http:\/\/\S+\/\?app=7&from=2026-11-20T08:15:02\.000Z&to=2026-11-20T09:15:03\.000Z$/,
      ),
    ]);
  });

  it('says what was counted and not logged, and why', () => {
    expect(advise({ not_logged: { static_assets: 1_200, older_than_15_days: 3 } })).toContain(
      'Counted, but not in the request logs: 1,200 static assets, 3 older than 15 days.',
    );
  });

  it.each([
    ['combined', '$request_time'],
    ['nginx', '"request_time":"$request_time"'],
    ['w3c', 'time-taken'],
    ['gin', 'There are no response times in it.'],
  ])('names what adds response times to %s', (format, cure) => {
    const text = advise({ formats: [format], with_response_time: 0 }).join('\n');
    expect(text).toContain('There are no response times in it.');
    expect(text).toContain(cure);
  });

  it('says of how many requests the response time is known', () => {
    expect(advise({ with_response_time: 4 })).toContain('4 of 10 requests have a response time.');
  });

  it('names the option that adds a host', () => {
    expect(advise({ hosts: [] }).join('\n')).toContain('--base-url');
    expect(advise({ hosts: [], baseUrl: 'https://api.example.com' }).join('\n')).not.toContain('--base-url');
  });

  it('is empty for an import without a valid line', () => {
    expect(advise({ from: null, to: null })).toEqual([]);
  });
});
