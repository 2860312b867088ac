package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func main() {
	ctx := context.Background()
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		panic(err)
	}
	metrics, err := otlpmetrichttp.New(ctx)
	if err != nil {
		panic(err)
	}
	logs, err := otlploghttp.New(ctx)
	if err != nil {
		panic(err)
	}
	provider := log.NewLoggerProvider(log.WithProcessor(log.NewBatchProcessor(logs)))
	logger := otelslog.NewLogger("app", otelslog.WithLoggerProvider(provider))
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter)))
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(metrics))))
	mux := http.NewServeMux()
	identify := func(request *http.Request) {
		if user := request.Header.Get("x-user"); user != "" {
			trace.SpanFromContext(request.Context()).SetAttributes(attribute.String("user.id", user))
		}
	}
	mux.HandleFunc("GET /users/{id}", func(writer http.ResponseWriter, request *http.Request) {
		identify(request)
		logger.InfoContext(request.Context(), "loading "+request.PathValue("id"))
		_, span := otel.Tracer("app").Start(request.Context(), "load user")
		span.End()
		fmt.Fprintf(writer, `{"id":%q}`, request.PathValue("id"))
	})
	mux.HandleFunc("POST /users", func(writer http.ResponseWriter, request *http.Request) {
		writer.WriteHeader(201)
	})
	mux.HandleFunc("GET /boom", func(writer http.ResponseWriter, request *http.Request) {
		trace.SpanFromContext(request.Context()).RecordError(fmt.Errorf("no luck"))
		http.Error(writer, "no luck", 500)
	})
	if err := http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), otelhttp.NewHandler(mux, "server")); err != nil {
		panic(err)
	}
}
