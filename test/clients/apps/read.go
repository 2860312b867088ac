// Calls every operation with the client that oapi-codegen made of the document.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"app/api"

	"github.com/google/uuid"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	app := must(strconv.Atoi(os.Getenv("APP_ID")))
	client := must(api.NewClientWithResponses(os.Getenv("API_URL"), api.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("Api-Key", os.Getenv("API_KEY"))
			return nil
		})))
	report := func(operation string, status int) { fmt.Println(operation, status) }

	report("getTeam", must(client.GetTeamWithResponse(ctx)).StatusCode())
	report("listApps", must(client.ListAppsWithResponse(ctx)).StatusCode())
	report("listEndpoints", must(client.ListEndpointsWithResponse(ctx, app, nil)).StatusCode())
	report("listConsumers", must(client.ListConsumersWithResponse(ctx, app, nil)).StatusCode())
	report("listInstances", must(client.ListInstancesWithResponse(ctx, app, nil)).StatusCode())
	report("listReleases", must(client.ListReleasesWithResponse(ctx, app, nil)).StatusCode())
	report("listAlerts", must(client.ListAlertsWithResponse(ctx, app)).StatusCode())
	report("getPrometheusMetrics", must(client.GetPrometheusMetricsWithResponse(ctx, app, nil)).StatusCode())
	report("getTraffic", must(client.GetTrafficWithResponse(ctx, app, nil)).StatusCode())
	logs := must(client.GetRequestLogsWithResponse(ctx, app, nil))
	report("getRequestLogs", logs.StatusCode())
	report("getRequestLogFacets", must(client.GetRequestLogFacetsWithResponse(ctx, app, nil)).StatusCode())
	id := uuid.UUID(logs.JSON200.Data[0].RequestUuid)
	report("getRequestDetails", must(client.GetRequestDetailsWithResponse(ctx, app, id, nil)).StatusCode())

	var exported api.ExportFilter
	var value api.ExportFilterOnRequestSizeBytes_Value
	if err := value.FromExportFilterOnRequestSizeBytesValue0(500); err != nil {
		panic(err)
	}
	if err := exported.FromExportFilterOnRequestSizeBytes(api.ExportFilterOnRequestSizeBytes{
		Field: "status_code", Op: "lt", Value: &value,
	}); err != nil {
		panic(err)
	}
	report("exportRequestLogs", must(client.ExportRequestLogsWithResponse(ctx, app, api.ExportRequestLogsJSONRequestBody{
		Since: "2020-01-01", Filters: &[]api.ExportFilter{exported},
	})).StatusCode())
	since := "2020-01-01"
	report("queryMetrics", must(client.QueryMetricsWithResponse(ctx, app, api.QueryMetricsJSONRequestBody{
		Since: "2020-01-01", Metrics: []api.Metric{"requests"},
	})).StatusCode())
	report("queryTraces", must(client.QueryTracesWithResponse(ctx, app, api.QueryTracesJSONRequestBody{
		Since: &since,
	})).StatusCode())
	report("queryErrors", must(client.QueryErrorsWithResponse(ctx, app, api.QueryErrorsJSONRequestBody{
		Since: "2020-01-01",
	})).StatusCode())
	report("explainChange", must(client.ExplainChangeWithResponse(ctx, app, api.ExplainChangeJSONRequestBody{
		Measure: "requests", Since: &since,
	})).StatusCode())
}
