"""Calls every operation with the client that openapi-python-client made of the document."""

import os

from read_api import AuthenticatedClient
from read_api.api.alerts import list_alerts
from read_api.api.apps import list_apps
from read_api.api.consumers import list_consumers
from read_api.api.endpoints import list_endpoints
from read_api.api.errors import query_errors
from read_api.api.instances import list_instances
from read_api.api.releases import list_releases
from read_api.api.metrics import explain_change, get_prometheus_metrics, query_metrics
from read_api.api.request_logs import (
    export_request_logs,
    get_request_details,
    get_request_log_facets,
    get_request_logs,
)
from read_api.api.team import get_team
from read_api.api.traces import query_traces
from read_api.api.traffic import get_traffic
from read_api.models import (
    ExplainChangeBody,
    ExportFilterOnRequestSizeBytes,
    ExportFilterOnRequestSizeBytesField,
    ExportFilterOnRequestSizeBytesOp,
    ExportRequestLogsBody,
    Measure,
    Metric,
    QueryErrorsBody,
    QueryMetricsBody,
    QueryTracesBody,
)

app = int(os.environ["APP_ID"])
client = AuthenticatedClient(
    base_url=os.environ["API_URL"], token=os.environ["API_KEY"], prefix="", auth_header_name="Api-Key"
)


def report(operation, response):
    print(operation, int(response.status_code))
    return response.parsed


report("getTeam", get_team.sync_detailed(client=client))
report("listApps", list_apps.sync_detailed(client=client))
report("listEndpoints", list_endpoints.sync_detailed(app, client=client))
report("listConsumers", list_consumers.sync_detailed(app, client=client))
report("listInstances", list_instances.sync_detailed(app, client=client))
report("listReleases", list_releases.sync_detailed(app, client=client))
report("listAlerts", list_alerts.sync_detailed(app, client=client))
report("getPrometheusMetrics", get_prometheus_metrics.sync_detailed(app, client=client))
report("getTraffic", get_traffic.sync_detailed(app, client=client))
logs = report("getRequestLogs", get_request_logs.sync_detailed(app, client=client))
report("getRequestLogFacets", get_request_log_facets.sync_detailed(app, client=client))
details = get_request_details.sync_detailed(app, logs.data[0].request_uuid, client=client)
report("getRequestDetails", details)
below = ExportFilterOnRequestSizeBytes(
    field=ExportFilterOnRequestSizeBytesField.STATUS_CODE, op=ExportFilterOnRequestSizeBytesOp.LT, value=500
)
export = ExportRequestLogsBody(since="2020-01-01", filters=[below])
report("exportRequestLogs", export_request_logs.sync_detailed(app, client=client, body=export))
metrics = QueryMetricsBody(since="2020-01-01", metrics=[Metric.REQUESTS])
report("queryMetrics", query_metrics.sync_detailed(app, client=client, body=metrics))
report("queryTraces", query_traces.sync_detailed(app, client=client, body=QueryTracesBody(since="2020-01-01")))
errors = QueryErrorsBody(since="2020-01-01")
report("queryErrors", query_errors.sync_detailed(app, client=client, body=errors))
change = ExplainChangeBody(measure=Measure.REQUESTS, since="2020-01-01")
report("explainChange", explain_change.sync_detailed(app, client=client, body=change))
