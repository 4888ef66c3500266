//! Clients of API servers: HTTP/2, so that all watches and writes share a connection; with a budget, timeouts, and a metric for every
//! request.
//!
//! kube's own client speaks HTTP/1.1 only, which costs a connection a watch. A server without HTTP/2 still works.
//!
//! - At most [`Limits::in_flight`] requests are under way; watches do not count. Statuses and events may use half of that, so that they
//!   never stand in the way of what moves workloads.
//! - A silent peer is noticed by HTTP/2 pings within half a minute, also under a watch.
//! - The control plane's `429` and `503` are retried a few times, as the server asks; members are not retried here: their queues do that.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::{Method, Request, Response};
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ConfigExt as _};
use kube::{Client, Config};
use tokio::sync::Semaphore;
use tower::retry::RetryLayer;
use tower::{BoxError, Service, ServiceBuilder};

use crate::metrics::{AnswerLabels, Metrics, RequestLabels, RequestMetrics};

/// Which side a client talks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// The control plane.
    Host,
    /// A member cluster.
    Member,
}

impl Server {
    fn label(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Member => "member",
        }
    }
}

/// How much a client asks of its server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests under way at once; watches not counted.
    pub in_flight: usize,
    /// Time to connect.
    pub connect: Duration,
    /// Time until an answer begins.
    pub answer: Duration,
}

impl Limits {
    /// For the control plane.
    pub const HOST: Self = Self {
        in_flight: 32,
        connect: Duration::from_secs(10),
        answer: Duration::from_secs(60),
    };
    /// For one member.
    pub const MEMBER: Self = Self {
        in_flight: 8,
        connect: Duration::from_secs(5),
        answer: Duration::from_secs(15),
    };
}

/// A client could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Certificates, tokens or headers are unusable.
    #[error("unusable credentials")]
    Credentials(#[source] Box<kube::Error>),
    /// The server name of the configuration is none.
    #[error("`{0}` is no server name")]
    ServerName(String),
    /// A proxy of a kind that is not supported.
    #[error("proxy `{0}`: only http, https and socks5 proxies are supported")]
    Proxy(String),
}

/// No answer began in time.
#[derive(Debug)]
pub struct TimedOut(Duration);

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer within {} s", self.0.as_secs())
    }
}

impl std::error::Error for TimedOut {}

/// Makes a client. Nothing is sent yet.
///
/// # Errors
///
/// If the configuration is unusable.
pub fn connect(
    config: Config,
    server: Server,
    limits: Limits,
    metrics: &Metrics,
) -> Result<Client, ConnectError> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(limits.connect));
    tcp.set_keepalive(Some(Duration::from_secs(30)));
    match config.proxy_url.clone() {
        None => assemble(config, tcp, server, limits, metrics),
        Some(proxy) => match proxy.scheme_str() {
            Some("http") => assemble(config, Tunnel::new(proxy, tcp), server, limits, metrics),
            Some("https") => {
                let tls = config
                    .rustls_https_connector_with_connector(tcp)
                    .map_err(credentials)?;
                assemble(config, Tunnel::new(proxy, tls), server, limits, metrics)
            }
            Some("socks5") => assemble(config, SocksV5::new(proxy, tcp), server, limits, metrics),
            _ => Err(ConnectError::Proxy(proxy.to_string())),
        },
    }
}

fn credentials(error: kube::Error) -> ConnectError {
    ConnectError::Credentials(Box::new(error))
}

fn assemble<C>(
    config: Config,
    connector: C,
    server: Server,
    limits: Limits,
    metrics: &Metrics,
) -> Result<Client, ConnectError>
where
    C: Service<http::Uri> + Clone + Send + Sync + 'static,
    C::Response: hyper_util::client::legacy::connect::Connection
        + hyper::rt::Read
        + hyper::rt::Write
        + Send
        + Unpin
        + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    let tls = config.rustls_client_config().map_err(credentials)?;
    let mut builder = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = name
            .clone()
            .try_into()
            .map_err(|_| ConnectError::ServerName(name.clone()))?;
        builder =
            builder.with_server_name_resolver(hyper_rustls::FixedServerNameResolver::new(name));
    }
    let connector = builder
        .enable_http1()
        .enable_http2()
        .wrap_connector(connector);
    let http = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .http2_adaptive_window(true)
        .http2_keep_alive_interval(Duration::from_secs(15))
        .http2_keep_alive_timeout(Duration::from_secs(10))
        .http2_keep_alive_while_idle(true)
        .build::<_, Body>(connector);
    let retry = match server {
        Server::Host => {
            RetryPolicy::new(Duration::from_millis(100), Duration::from_secs(5), 4, true).ok()
        }
        Server::Member => None,
    };
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(retry.map(RetryLayer::new))
        .option_layer(config.auth_layer().map_err(credentials)?)
        .layer(config.extra_headers_layer().map_err(credentials)?)
        .service(Observed {
            inner: http,
            shared: Arc::new(Shared {
                server: server.label(),
                limits,
                all: Arc::new(Semaphore::new(limits.in_flight)),
                patient: Arc::new(Semaphore::new(limits.in_flight.div_ceil(2))),
                metrics: metrics.requests.clone(),
            }),
        });
    Ok(Client::new(service, config.default_namespace))
}

struct Shared {
    server: &'static str,
    limits: Limits,
    all: Arc<Semaphore>,
    /// Taken first by what may wait: statuses and events.
    patient: Arc<Semaphore>,
    metrics: RequestMetrics,
}

/// The innermost layer: every request that is really sent passes here, once for each try.
#[derive(Clone)]
struct Observed<S> {
    inner: S,
    shared: Arc<Shared>,
}

impl<S> Service<Request<Body>> for Observed<S>
where
    S: Service<Request<Body>, Response = Response<Incoming>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
{
    type Response = Response<Incoming>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // The ready instance is the one to be called; its fresh clone stays behind.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let shared = Arc::clone(&self.shared);
        let target = Target::of(request.method(), request.uri());
        Box::pin(async move {
            let _patient = if target.patient {
                Some(Arc::clone(&shared.patient).acquire_owned().await?)
            } else {
                None
            };
            let _permit = if target.watch {
                None
            } else {
                Some(Arc::clone(&shared.all).acquire_owned().await?)
            };
            let start = Instant::now();
            let limit = shared.limits.answer;
            let answer = match tokio::time::timeout(limit, inner.call(request)).await {
                Ok(answer) => answer.map_err(Into::into),
                Err(_) => Err(TimedOut(limit).into()),
            };
            shared.record(
                target,
                answer.as_ref().map_or(0, |answer| answer.status().as_u16()),
                start.elapsed(),
            );
            answer
        })
    }
}

impl Shared {
    fn record(&self, target: Target, code: u16, took: Duration) {
        let Target { verb, resource, .. } = target;
        let server = self.server;
        self.metrics
            .seconds
            .get_or_create(&RequestLabels {
                server,
                verb,
                resource: resource.clone(),
            })
            .observe(took.as_secs_f64());
        self.metrics
            .answers
            .get_or_create(&AnswerLabels {
                server,
                verb,
                resource,
                code,
            })
            .inc();
    }
}

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    verb: &'static str,
    /// `resource` or `resource/subresource`; the path's head for what is no resource.
    resource: String,
    watch: bool,
    patient: bool,
}

impl Target {
    fn of(method: &Method, uri: &http::Uri) -> Self {
        let path: Vec<&str> = uri
            .path()
            .split('/')
            .filter(|part| !part.is_empty())
            .collect();
        let watch = uri.query().is_some_and(|query| {
            query
                .split('&')
                .any(|pair| pair == "watch=true" || pair == "watch=1")
        });
        let rest: &[&str] = match path.as_slice() {
            ["api", _version, rest @ ..] | ["apis", _, _version, rest @ ..] if !rest.is_empty() => {
                rest
            }
            _ => {
                return Self {
                    verb: verb(method, false, watch),
                    resource: path
                        .first()
                        .map_or_else(|| "/".to_owned(), |head| format!("/{head}")),
                    watch,
                    patient: false,
                };
            }
        };
        let rest = match rest {
            // `namespaces/x` and its own status and finalize are about the namespace itself.
            ["namespaces", _, resource, tail @ ..]
                if !matches!(*resource, "status" | "finalize") =>
            {
                return Self::resource(method, resource, tail, watch);
            }
            rest => rest,
        };
        Self::resource(method, rest[0], &rest[1..], watch)
    }

    fn resource(method: &Method, resource: &str, tail: &[&str], watch: bool) -> Self {
        let (named, subresource) = match tail {
            [] => (false, None),
            [_name] => (true, None),
            [_name, subresource, ..] => (true, Some(*subresource)),
        };
        let write = !matches!(*method, Method::GET | Method::HEAD);
        Self {
            verb: verb(method, named, watch),
            resource: subresource
                .map_or_else(|| resource.to_owned(), |sub| format!("{resource}/{sub}")),
            watch,
            patient: write && (resource == "events" || subresource == Some("status")),
        }
    }
}

fn verb(method: &Method, named: bool, watch: bool) -> &'static str {
    match *method {
        _ if watch => "watch",
        Method::GET if named => "get",
        Method::GET => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_named_as_kubernetes_names_them() {
        for (method, path, verb, resource, patient) in [
            (
                Method::GET,
                "/api/v1/namespaces/a/configmaps/b",
                "get",
                "configmaps",
                false,
            ),
            (
                Method::GET,
                "/api/v1/configmaps?watch=true",
                "watch",
                "configmaps",
                false,
            ),
            (
                Method::GET,
                "/api/v1/namespaces",
                "list",
                "namespaces",
                false,
            ),
            (
                Method::GET,
                "/api/v1/namespaces/a",
                "get",
                "namespaces",
                false,
            ),
            (
                Method::PUT,
                "/api/v1/namespaces/a/status",
                "update",
                "namespaces/status",
                true,
            ),
            (
                Method::POST,
                "/api/v1/namespaces/a/events",
                "create",
                "events",
                true,
            ),
            (
                Method::PATCH,
                "/apis/work.karmada.io/v1alpha1/namespaces/a/works/b/status",
                "patch",
                "works/status",
                true,
            ),
            (
                Method::PATCH,
                "/apis/apps/v1/namespaces/a/deployments/b",
                "patch",
                "deployments",
                false,
            ),
            (
                Method::DELETE,
                "/apis/cluster.karmada.io/v1alpha1/clusters/b",
                "delete",
                "clusters",
                false,
            ),
            (Method::GET, "/readyz", "list", "/readyz", false),
            (Method::GET, "/apis/apps/v1", "list", "/apis", false),
        ] {
            let target = Target::of(&method, &path.parse().unwrap());
            assert_eq!(
                (target.verb, target.resource.as_str(), target.patient),
                (verb, resource, patient),
                "{path}"
            );
        }
    }
}
