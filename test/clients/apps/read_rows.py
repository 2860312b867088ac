"""Calls every operation with the client that openapi-generator made of the document."""

import os

from read_api import (
    AlertsApi,
    ApiClient,
    AppsApi,
    Configuration,
    ConsumersApi,
    EndpointsApi,
    ErrorsApi,
    ExplainChangeRequest,
    ExportFilter,
    ExportFilterOnConsumerIdValue,
    ExportFilterOnRequestSizeBytes,
    ExportRequestLogsRequest,
    InstancesApi,
    Measure,
    Metric,
    MetricsApi,
    QueryErrorsRequest,
    QueryMetricsRequest,
    QueryTracesRequest,
    ReleasesApi,
    RequestLogsApi,
    TeamApi,
    TracesApi,
    TrafficApi,
)

app = int(os.environ["APP_ID"])
configuration = Configuration(host=os.environ["API_URL"])
configuration.api_key["ApiKey"] = os.environ["API_KEY"]
client = ApiClient(configuration)


def report(operation, response):
    print(operation, response.status_code)
    return response.data


def report_rows(operation, response):
    """Its typed functions know no files of rows: these read them."""
    assert response.headers["content-type"].startswith("application/x-ndjson")
    print(operation, response.status)


report("getTeam", TeamApi(client).get_team_with_http_info())
report("listApps", AppsApi(client).list_apps_with_http_info())
report("listEndpoints", EndpointsApi(client).list_endpoints_with_http_info(app))
report("listConsumers", ConsumersApi(client).list_consumers_with_http_info(app))
report("listInstances", InstancesApi(client).list_instances_with_http_info(app))
report("listReleases", ReleasesApi(client).list_releases_with_http_info(app))
report("listAlerts", AlertsApi(client).list_alerts_with_http_info(app))
report("getPrometheusMetrics", MetricsApi(client).get_prometheus_metrics_with_http_info(app))
report("getTraffic", TrafficApi(client).get_traffic_with_http_info(app))
logs = report("getRequestLogs", RequestLogsApi(client).get_request_logs_with_http_info(app))
report("getRequestLogFacets", RequestLogsApi(client).get_request_log_facets_with_http_info(app))
details = RequestLogsApi(client).get_request_details_with_http_info(app, logs.data[0].request_uuid)
report("getRequestDetails", details)
below = ExportFilterOnRequestSizeBytes(
    field="status_code", op="lt", value=ExportFilterOnConsumerIdValue(500)
)
export = ExportRequestLogsRequest(since="2020-01-01", filters=[ExportFilter(below)])
report_rows("exportRequestLogs", RequestLogsApi(client).export_request_logs_without_preload_content(app, export))
metrics = QueryMetricsRequest(since="2020-01-01", metrics=[Metric.REQUESTS])
report_rows("queryMetrics", MetricsApi(client).query_metrics_without_preload_content(app, metrics))
traces = QueryTracesRequest(since="2020-01-01")
report_rows("queryTraces", TracesApi(client).query_traces_without_preload_content(app, traces))
errors = QueryErrorsRequest(since="2020-01-01")
report_rows("queryErrors", ErrorsApi(client).query_errors_without_preload_content(app, errors))
change = ExplainChangeRequest(measure=Measure.REQUESTS, since="2020-01-01")
report("explainChange", MetricsApi(client).explain_change_with_http_info(app, change))
