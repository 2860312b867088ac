//! Calls every operation with the client that openapi-generator made of the document.
use read_api::apis::configuration::{ApiKey, Configuration};
use read_api::apis::{
    alerts_api, apps_api, consumers_api, endpoints_api, errors_api, instances_api, metrics_api, releases_api,
    request_logs_api, team_api, traces_api, traffic_api, Error,
};
use read_api::models::{
    ExplainChangeRequest, ExportRequestLogsRequest, Measure, Metric, QueryErrorsRequest, QueryMetricsRequest,
    QueryTracesRequest,
};
use std::env::var;
use std::fmt::Debug;

fn report<T, E: Debug>(operation: &str, result: Result<T, Error<E>>) -> T {
    let value = result.unwrap_or_else(|error| panic!("{operation}: {error:?}"));
    println!("{operation} 200");
    value
}

/// A file of rows: its functions decode a file of one row, and fail after the status of another one.
fn report_rows<T, E: Debug>(operation: &str, result: Result<T, Error<E>>) {
    match result {
        Ok(_) | Err(Error::Serde(_)) => println!("{operation} 200"),
        Err(error) => panic!("{operation}: {error:?}"),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let app: i32 = var("APP_ID").unwrap().parse().unwrap();
    let key = ApiKey { prefix: None, key: var("API_KEY").unwrap() };
    let config = Configuration { base_path: var("API_URL").unwrap(), api_key: Some(key), ..Default::default() };
    let since = || "2020-01-01".to_string();
    report("getTeam", team_api::get_team(&config).await);
    report("listApps", apps_api::list_apps(&config).await);
    report("listEndpoints", endpoints_api::list_endpoints(&config, app, None, None, None, None).await);
    report("listConsumers", consumers_api::list_consumers(&config, app, None, None, None, None).await);
    let instances = instances_api::list_instances(&config, app, None, None, None, None, None, None).await;
    report("listInstances", instances);
    let releases = releases_api::list_releases(&config, app, None, None, None, None, None).await;
    report("listReleases", releases);
    report("listAlerts", alerts_api::list_alerts(&config, app).await);
    report("getPrometheusMetrics", metrics_api::get_prometheus_metrics(&config, app, None).await);
    let traffic = traffic_api::get_traffic(&config, app, None, None, None, None, None, None, None, None).await;
    report("getTraffic", traffic);
    let logs =
        request_logs_api::get_request_logs(&config, app, None, None, None, None, None, None, None, None, None).await;
    let logs = report("getRequestLogs", logs);
    let facets = request_logs_api::get_request_log_facets(
        &config, app, None, None, None, None, None, None, None, None, None,
    )
    .await;
    report("getRequestLogFacets", facets);
    let id = logs.data[0].request_uuid.to_string();
    let details = request_logs_api::get_request_details(&config, app, &id, None, None).await;
    report("getRequestDetails", details);
    let exported = request_logs_api::export_request_logs(&config, app, ExportRequestLogsRequest::new(since())).await;
    report("exportRequestLogs", exported);
    let metrics = QueryMetricsRequest::new(since(), vec![Metric::Requests]);
    report("queryMetrics", metrics_api::query_metrics(&config, app, metrics).await);
    let traces = QueryTracesRequest { since: Some(Some(since())), ..Default::default() };
    report_rows("queryTraces", traces_api::query_traces(&config, app, traces).await);
    report_rows("queryErrors", errors_api::query_errors(&config, app, QueryErrorsRequest::new(since())).await);
    let change =
        ExplainChangeRequest { since: Some(Some(since())), ..ExplainChangeRequest::new(Measure::Requests) };
    report("explainChange", metrics_api::explain_change(&config, app, change).await);
}
