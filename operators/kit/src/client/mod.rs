//! Clients of API servers: HTTP/2, so that watches and writes share a connection; with a budget, timeouts, and a metric for every request.
//!
//! kube's own client speaks HTTP/1.1 only, which costs a connection a watch. A server without HTTP/2 still works.
//!
//! # Guarantees
//!
//! - At most [`Limits::in_flight`] requests are under way; watches do not count. Statuses and events may use half of that, so that they
//!   never stand in the way of what moves workloads.
//! - Each request ends: an answer begins within [`Limits::answer`] and does not pause longer than that. A watch may be silent; that its
//!   peer is gone is noticed by HTTP/2 pings within half a minute.
//! - Each try of a request is counted and timed, also one that got no answer.
//! - The control plane's `429`, `503` and `504` are tried again a few times, as the server asks; members are not asked again here: their
//!   queues do that.

mod answer;
mod lanes;
mod observed;
mod target;

use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ConfigExt as _};
use kube::{Client, Config};
use tower::retry::RetryLayer;
use tower::{BoxError, Service, ServiceBuilder};

pub use self::answer::TimedOut;
use self::lanes::Lanes;
use self::observed::Observed;
use crate::metrics::Metrics;

/// Bytes that a server may send on one stream before they are read.
const STREAM_WINDOW: u32 = 512 * 1024;
/// Streams that API servers allow on a connection. All their windows fit into the connection's, so that a watch whose reader is busy holds up
/// nothing else.
const STREAMS: u32 = 100;

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
    /// Time until an answer begins, and the longest pause in it.
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
    #[error("proxy with {0}: only http, https and socks5 proxies are supported")]
    Proxy(String),
}

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
    connect_through(config, HeaderMap::new(), server, limits, metrics)
}

/// As [`connect`], with headers for the proxy that the configuration names.
///
/// # Errors
///
/// If the configuration is unusable.
pub fn connect_through(
    config: Config,
    proxy_headers: HeaderMap,
    server: Server,
    limits: Limits,
    metrics: &Metrics,
) -> Result<Client, ConnectError> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(limits.connect));
    tcp.set_keepalive(Some(Duration::from_secs(30)));
    let Some(proxy) = config.proxy_url.clone() else {
        return assemble(config, tcp, server, limits, metrics);
    };
    let mut headers = proxy_headers;
    if let Some(login) = login(&proxy)? {
        headers.insert(http::header::PROXY_AUTHORIZATION, login);
    }
    match proxy.scheme_str() {
        Some("http") => {
            let tunnel = Tunnel::new(proxy, tcp).with_headers(headers);
            assemble(config, tunnel, server, limits, metrics)
        }
        Some("https") => {
            let tls = config
                .rustls_https_connector_with_connector(tcp)
                .map_err(credentials)?;
            let tunnel = Tunnel::new(proxy, tls).with_headers(headers);
            assemble(config, tunnel, server, limits, metrics)
        }
        Some("socks5") => assemble(config, SocksV5::new(proxy, tcp), server, limits, metrics),
        // Without the part that may hold a password.
        _ => Err(ConnectError::Proxy(
            proxy.scheme_str().unwrap_or("no scheme").to_owned(),
        )),
    }
}

fn credentials(error: kube::Error) -> ConnectError {
    ConnectError::Credentials(Box::new(error))
}

/// The user and password of a proxy's address, as its `Proxy-Authorization`.
fn login(proxy: &http::Uri) -> Result<Option<HeaderValue>, ConnectError> {
    use base64::Engine as _;
    let authority = proxy.authority().map_or("", http::uri::Authority::as_str);
    let Some((login, _)) = authority.rsplit_once('@') else {
        return Ok(None);
    };
    let encoded = base64::engine::general_purpose::STANDARD.encode(percent_decoded(login));
    let mut value = HeaderValue::try_from(format!("Basic {encoded}"))
        .map_err(|_| ConnectError::Proxy("unreadable user or password".to_owned()))?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// Characters that may not stand in an address are written as `%` and two hexadecimal digits.
fn percent_decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let digit = |at: usize| {
        bytes
            .get(at)
            .and_then(|byte| char::from(*byte).to_digit(16))
    };
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let escaped = match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => u8::try_from(high * 16 + low).ok(),
            _ => None,
        };
        decoded.push(escaped.unwrap_or(*byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    decoded
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
    let lanes = Lanes::new(move || {
        hyper_util::client::legacy::Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .http2_initial_stream_window_size(STREAM_WINDOW)
            .http2_initial_connection_window_size(STREAM_WINDOW * STREAMS)
            .http2_keep_alive_interval(Duration::from_secs(15))
            .http2_keep_alive_timeout(Duration::from_secs(10))
            .http2_keep_alive_while_idle(true)
            .build::<_, Body>(connector.clone())
    });
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
        .service(Observed::new(
            lanes,
            server,
            limits,
            metrics.requests.clone(),
        ));
    Ok(Client::new(service, config.default_namespace))
}

#[cfg(test)]
mod tests {
    use super::login;

    #[test]
    fn a_proxys_password_may_hold_any_character() {
        let header = |url: &str| login(&url.parse().unwrap()).unwrap();
        assert_eq!(header("http://proxy:3128"), None);
        // user:p@%
        let expected = http::HeaderValue::from_static("Basic dXNlcjpwQCU=");
        assert_eq!(header("http://user:p%40%25@proxy:3128"), Some(expected));
    }
}
