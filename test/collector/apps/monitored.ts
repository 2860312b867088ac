import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import { ApitallySpanProcessor } from 'apitally/otel';

/** What both sample applications give the client library: all of request logging is on. */
export const MONITORING = {
  clientId: process.env.CLIENT_ID ?? '',
  env: process.env.APP_ENV ?? '',
  appVersion: '1.2.3',
  requestLogging: {
    enabled: true,
    logQueryParams: true,
    logRequestHeaders: true,
    logRequestBody: true,
    logResponseHeaders: true,
    logResponseBody: true,
    logException: true,
    captureLogs: true,
    captureTraces: true,
  },
};

/** Traces as an application has them that uses OpenTelemetry. */
export function startTracing() {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new ApitallySpanProcessor()] }));
}

/** A span inside the request's. */
export function traced<T>(name: string, work: () => T): T {
  return trace.getTracer('sample').startActiveSpan(name, { attributes: { rows: 3, ratio: 0.5 } }, (span) => {
    try {
      return work();
    } finally {
      span.end();
    }
  });
}

/** The consumer that a caller says it is: `identifier|name|group`. */
export function parseConsumer(header: string | undefined) {
  if (header === undefined) return null;
  const [identifier = '', name, group] = header.split('|');
  return { identifier, ...(name && { name }), ...(group && { group }) };
}

/** Tells the test where the application listens. */
export function reportPort(port: number) {
  process.send?.({ port });
  process.once('disconnect', () => process.exit());
}
