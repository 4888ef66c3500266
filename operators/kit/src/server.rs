//! One listener for `/metrics`, `/healthz` and `/readyz`.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use prometheus_client::encoding::prometheus_text;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;
use crate::readiness::Readiness;

/// Serves until `shutdown`.
///
/// # Errors
///
/// If the address cannot be listened on.
pub async fn serve(
    address: SocketAddr,
    metrics: Metrics,
    readiness: Readiness,
    shutdown: CancellationToken,
) -> std::io::Result<()> {
    let routes = Router::new()
        .route("/metrics", get(exposition))
        .with_state(metrics)
        .route("/healthz", get(async || "ok"))
        .merge(
            Router::new()
                .route("/readyz", get(ready))
                .with_state(readiness),
        );
    let listener = TcpListener::bind(address).await?;
    axum::serve(listener, routes)
        .with_graceful_shutdown(async move { shutdown.cancelled().await })
        .await
}

async fn exposition(State(metrics): State<Metrics>) -> impl IntoResponse {
    match metrics.text() {
        Ok(text) => (
            StatusCode::OK,
            [(CONTENT_TYPE, prometheus_text::CONTENT_TYPE)],
            text,
        ),
        Err(error) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            [(CONTENT_TYPE, "text/plain")],
            error.to_string(),
        ),
    }
}

async fn ready(State(readiness): State<Readiness>) -> impl IntoResponse {
    let waiting = readiness.waiting();
    if waiting.is_empty() {
        (StatusCode::OK, "ok".to_owned())
    } else {
        (
            StatusCode::SERVICE_UNAVAILABLE,
            format!("waiting for {}", waiting.join(", ")),
        )
    }
}
