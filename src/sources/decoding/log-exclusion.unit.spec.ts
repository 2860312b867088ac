import fc from 'fast-check';
import { isStaticAssetOrHealthCheck } from './log-exclusion.js';

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0';

describe('isStaticAssetOrHealthCheck', () => {
  it.each([
    '/health',
    '/healthz',
    '/_health',
    '/_healthz',
    '/api/v1/HealthZ',
    '/healthcheck',
    '/health-check',
    '/health_checks',
    '/_health_check',
    '/Health-Checks',
    '/heartbeat',
    '/_heart-beats',
    '/HEART_BEAT',
    '/ping',
    '/api/Ping',
    '/ready',
    '/health/READY',
    '/live',
    '/health/Live',
    '/favicon.ico',
    '//favicon.ico',
    '/favicon.png',
    '/assets/favicon-32x32.png',
    '/favicon-dark.svg',
    '/apple-touch-icon.png',
    '/apple-touch-icon-120x120-precomposed.png',
    '/robots.txt',
    '/sitemap.xml',
    '/manifest.json',
    '/site.webmanifest',
    '/service-worker.js',
    '/sw.js',
    '/.well-known/security.txt',
    '/tenant/.well-known/openid-configuration',
  ])('takes %s for a static asset or a health check', (path) => {
    expect(isStaticAssetOrHealthCheck(path, 'https://api.example.com/other', BROWSER)).toBe(true);
  });

  it.each([
    '/',
    '/users/{id}',
    '/healthy',
    '/health/',
    '/health/history',
    '/pings',
    '/shipping',
    '/already',
    '/alive',
    '/unhealth',
    '/FAVICON.ICO',
    '/Robots.txt',
    '/favicon.ico/x',
    '/faviconxico',
    '/favicon.jpg',
    '/Sitemap.xml',
    '/my-sw.js',
    '/.well-known',
    '/well-known/x',
  ])('lets %s through', (path) => {
    expect(isStaticAssetOrHealthCheck(path, 'https://api.example.com/other', BROWSER)).toBe(false);
  });

  it.each([
    'ELB-HealthChecker/2.0',
    'curl health_check',
    'Health Check',
    'health-check/1.0',
    'Microsoft-Azure-Application-LB/AGC',
    'GoogleHC/1.0',
    'kube-probe/1.31',
    'KUBE-PROBE/1.31',
  ])('takes a request of the user agent %s for a health check', (userAgent) => {
    expect(isStaticAssetOrHealthCheck('/users', '/users', userAgent)).toBe(true);
  });

  it.each([null, '', BROWSER, 'healthy-client/1.0'])('lets the user agent %p through', (userAgent) => {
    expect(isStaticAssetOrHealthCheck('/users', '/users', userAgent)).toBe(false);
  });

  it.each([
    [true, '/ping?x=1'],
    [true, 'https://api.example.com/ping'],
    [true, 'https://api.example.com/ping#now'],
    [false, 'https://api.example.com/users?next=/ping'],
    [false, 'https://ping'],
    [false, '/users#/ping'],
  ])('uses the path of the URL where no route matched: %p for %s', (expected, url) => {
    expect(isStaticAssetOrHealthCheck(null, url, null)).toBe(expected);
  });

  it('uses the path pattern alone where there is one', () => {
    expect(isStaticAssetOrHealthCheck('/{slug}', '/ping', null)).toBe(false);
    expect(isStaticAssetOrHealthCheck('/ping', '/v1/ping/now', null)).toBe(true);
  });

  it('takes any text without throwing', () => {
    const text = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(
        fc.option(text),
        text,
        fc.option(text),
        (...request) => void isStaticAssetOrHealthCheck(...request),
      ),
    );
  });
});
