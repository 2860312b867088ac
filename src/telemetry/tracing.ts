import type { IncomingHttpHeaders } from 'node:http';
import { Logger } from '@nestjs/common';
import type { Attributes, Span, Tracer } from '@opentelemetry/api';
import { withTimeout } from '../shared/async/timeout.js';
import { type ActiveSpan, RequestContext } from './request-context.js';
import type { TracingConfig } from '../config/tracing.config.js';
import { PRODUCT_VERSION } from '../config/version.js';

const NAME = 'request-analytics';

/**
 * Time limit for exporting the last spans at a stop, so that an unavailable receiver does not delay it
 * further.
 */
const FLUSH_WITHIN_MS = 2_000;
const LOG_INTERVAL_MS = 60_000;

type Api = typeof import('@opentelemetry/api');
type Provider = import('@opentelemetry/sdk-trace-base').BasicTracerProvider;
type Propagator = import('@opentelemetry/core').W3CTraceContextPropagator;

/** A request's span while it lasts. */
interface RequestSpan {
  readonly traceId: string;
  /** For the context of the request; undefined if the span is not sampled. */
  readonly active: ActiveSpan | undefined;
  end(name: string, attributes: Attributes, isError: boolean): void;
}

/**
 * OpenTelemetry spans: one for each request, and below it one for each statement of the store and each call
 * to Redis. They contain names and numbers, but no key, URL, or text and values of a statement.
 *
 * Only `start` loads OpenTelemetry, and nothing is registered globally, so that there is no cost without
 * tracing.
 */
export class Tracing {
  private readonly tracer: Tracer;

  private constructor(
    private readonly api: Api,
    private readonly provider: Provider,
    private readonly propagator: Propagator,
  ) {
    this.tracer = provider.getTracer(NAME, PRODUCT_VERSION);
  }

  static async start({ protocol }: TracingConfig): Promise<Tracing> {
    const [api, core, { BasicTracerProvider, BatchSpanProcessor }, { OTLPTraceExporter }, resource] =
      await Promise.all([
        import('@opentelemetry/api'),
        import('@opentelemetry/core'),
        import('@opentelemetry/sdk-trace-base'),
        protocol === 'http/json'
          ? import('@opentelemetry/exporter-trace-otlp-http')
          : import('@opentelemetry/exporter-trace-otlp-proto'),
        describeService(),
      ]);
    core.setGlobalErrorHandler(createThrottledErrorHandler());
    const spanProcessors = [new BatchSpanProcessor(new OTLPTraceExporter())];
    const provider = new BasicTracerProvider({ resource, spanProcessors });
    return new Tracing(api, provider, new core.W3CTraceContextPropagator());
  }

  /** The span of a request, in the client's trace if `traceparent` names one. */
  request(method: string, headers: IncomingHttpHeaders): RequestSpan {
    const { SpanKind, SpanStatusCode, ROOT_CONTEXT, defaultTextMapGetter, trace } = this.api;
    const caller = this.propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
    const attributes = { 'http.request.method': method };
    const span = this.tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, caller);
    const context = trace.setSpan(caller, span);
    return {
      traceId: span.spanContext().traceId,
      active: span.isRecording() ? { span, context } : undefined,
      end: (name, ended, isError) => {
        span.updateName(name).setAttributes(ended);
        if (isError) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
  }

  /**
   * Runs the work inside a child span of the current request. There is no span without a request or after its
   * end, for example in a timer that the request started.
   */
  async call<T>(name: string, attributes: Attributes, work: (span?: Span) => Promise<T>): Promise<T> {
    const parent = RequestContext.current?.span;
    if (!parent?.span.isRecording()) return work();
    const { SpanKind } = this.api;
    const span = this.tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent.context);
    return this.ended(span, () => work(span));
  }

  /** Runs work that serves several requests, in a context and a trace of its own. */
  async task<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T> {
    const { ROOT_CONTEXT, trace } = this.api;
    const span = this.tracer.startSpan(name, { attributes }, ROOT_CONTEXT);
    const context = trace.setSpan(ROOT_CONTEXT, span);
    return this.ended(span, () => new RequestContext(undefined, { span, context }).run(work));
  }

  /** Exports the remaining spans, for two seconds at most; never rejects. */
  async close(): Promise<void> {
    await withTimeout(FLUSH_WITHIN_MS, this.provider.shutdown()).catch(() => undefined);
  }

  private async ended<T>(span: Span, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const type = error instanceof Error ? error.name : 'unknown';
      span.setAttribute('error.type', type).setStatus({ code: this.api.SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  }
}

/**
 * The service's name and version, and what `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` say instead.
 */
async function describeService() {
  const resources = await import('@opentelemetry/resources');
  const defaults = { 'service.name': NAME, 'service.version': PRODUCT_VERSION };
  return resources
    .defaultResource()
    .merge(resources.resourceFromAttributes(defaults))
    .merge(resources.detectResources({ detectors: [resources.envDetector] }));
}

/** Logs that spans are lost: without the receiver's address, and not for every batch. */
function createThrottledErrorHandler() {
  const log = new Logger(Tracing.name);
  let lastLoggedAt = -Infinity;
  return (error: unknown) => {
    if (performance.now() - lastLoggedAt < LOG_INTERVAL_MS) return;
    lastLoggedAt = performance.now();
    const { code, name } = error as NodeJS.ErrnoException;
    log.warn(`traces could not be sent (${code ?? name})`);
  };
}
