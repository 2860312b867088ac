package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/contrib/instrumentation/github.com/gin-gonic/gin/otelgin"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	provider := log.NewLoggerProvider(log.WithProcessor(log.NewBatchProcessor(must(autoexport.NewLogExporter(ctx)))))
	logger := otelslog.NewLogger("app", otelslog.WithLoggerProvider(provider))
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithBatcher(must(autoexport.NewSpanExporter(ctx)))))
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(must(autoexport.NewMetricReader(ctx)))))
	findUser := func(ctx context.Context, id string, user string) {
		if user != "" {
			trace.SpanFromContext(ctx).SetAttributes(attribute.String("user.id", user))
		}
		logger.InfoContext(ctx, "loading "+id)
		_, span := otel.Tracer("app").Start(ctx, "load user")
		span.End()
	}
	fail := func(ctx context.Context) { trace.SpanFromContext(ctx).RecordError(errors.New("no luck")) }
	handler := withServeMux(findUser, fail)
	if os.Args[1] == "gin" {
		handler = withGin(findUser, fail)
	}
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), handler))
}

func withServeMux(findUser func(context.Context, string, string), fail func(context.Context)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(writer http.ResponseWriter, request *http.Request) {
		findUser(request.Context(), request.PathValue("id"), request.Header.Get("x-user"))
		fmt.Fprintf(writer, `{"id":%q}`, request.PathValue("id"))
	})
	mux.HandleFunc("POST /users", func(writer http.ResponseWriter, request *http.Request) {
		writer.WriteHeader(201)
	})
	mux.HandleFunc("GET /boom", func(writer http.ResponseWriter, request *http.Request) {
		fail(request.Context())
		http.Error(writer, "no luck", 500)
	})
	return otelhttp.NewHandler(mux, "server")
}

func withGin(findUser func(context.Context, string, string), fail func(context.Context)) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.Use(otelgin.Middleware("shop"))
	router.GET("/users/:id", func(c *gin.Context) {
		findUser(c.Request.Context(), c.Param("id"), c.GetHeader("x-user"))
		c.JSON(200, gin.H{"id": c.Param("id")})
	})
	router.POST("/users", func(c *gin.Context) { c.JSON(201, gin.H{}) })
	router.GET("/boom", func(c *gin.Context) {
		fail(c.Request.Context())
		c.JSON(500, gin.H{})
	})
	return router
}
