//! The client against small servers that do what a sick API server does.
#![expect(clippy::unwrap_used, reason = "a test fails where it notices")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kit::client::{Limits, Server, connect};
use kit::dynamic::{DynamicWatches, Kinds};
use kit::metrics::Metrics;
use kit::readiness::Readiness;
use kit::watch::{self, Scope};
use kit::{CancellationToken, Failure, RequestError, Store};
use kube::api::{Api, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::{Client, Config};
use serde_json::json;
use tokio::net::TcpListener;

fn client(url: &str, server: Server, limits: Limits) -> (Client, Metrics) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let metrics = Metrics::new("test");
    let config = Config::new(url.parse().unwrap());
    (connect(config, server, limits, &metrics).unwrap(), metrics)
}

async fn serve(routes: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    address
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), "a")
}

async fn failure(client: &Client) -> (Failure, String) {
    let error = maps(client).get("b").await.unwrap_err();
    let error = RequestError::new("get", "configmaps a/b", error);
    (error.failure(), error.message())
}

fn answer(object: &serde_json::Value) -> Response {
    let kind = (axum::http::header::CONTENT_TYPE, "application/json");
    ([kind], object.to_string()).into_response()
}

fn map() -> Response {
    answer(
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "a"}}),
    )
}

#[tokio::test]
async fn a_server_without_http2_works() {
    let address = serve(Router::new().fallback(async || map())).await;
    let (client, metrics) = client(&format!("http://{address}"), Server::Member, Limits::MEMBER);
    let seen = maps(&client).get("b").await.unwrap();
    assert_eq!(seen.metadata.name.as_deref(), Some("b"));
    let text = metrics.text().unwrap();
    assert!(
        text.contains(r#"karmada_api_requests_total{server="member",verb="get",resource="configmaps",code="200"} 1"#),
        "{text}"
    );
}

#[tokio::test]
async fn failures_of_the_way_there_are_told_apart() {
    // Nobody listens.
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = free.local_addr().unwrap();
    drop(free);
    let (unreachable, _) = client(&format!("https://{closed}"), Server::Member, Limits::MEMBER);
    assert_eq!(failure(&unreachable).await.0, Failure::Unreachable);

    // Somebody listens who does not speak TLS.
    let plain = serve(Router::new().fallback(async || map())).await;
    let (not_tls, _) = client(&format!("https://{plain}"), Server::Member, Limits::MEMBER);
    let (kind, message) = failure(&not_tls).await;
    assert_eq!(kind, Failure::Tls, "{message}");

    // Somebody listens and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let limits = Limits {
        answer: Duration::from_millis(200),
        ..Limits::MEMBER
    };
    let address = silent.local_addr().unwrap();
    let (timeout, metrics) = client(&format!("http://{address}"), Server::Member, limits);
    assert_eq!(failure(&timeout).await.0, Failure::Timeout);
    // Nothing escapes counting, not even what was never answered.
    let text = metrics.text().unwrap();
    assert!(
        text.contains(r#"karmada_api_requests_total{server="member",verb="get",resource="configmaps",code="0"} 1"#),
        "{text}"
    );
}

#[tokio::test]
async fn an_answer_that_stops_in_the_middle_is_a_timeout() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        std::future::pending::<()>().await;
    });
    let limits = Limits {
        answer: Duration::from_millis(300),
        ..Limits::MEMBER
    };
    let (client, _) = client(&format!("http://{address}"), Server::Member, limits);
    let asked = tokio::time::timeout(Duration::from_secs(10), failure(&client)).await;
    assert_eq!(
        asked.expect("the client gives up by itself").0,
        Failure::Timeout
    );
}

#[tokio::test]
async fn the_control_plane_is_asked_again_when_it_says_so_and_a_member_is_not() {
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&calls);
    let routes = Router::new().fallback(move || {
        let call = seen.fetch_add(1, Ordering::SeqCst);
        async move {
            if call.is_multiple_of(2) {
                let wait = (axum::http::header::RETRY_AFTER, "1");
                let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "TooManyRequests",
                    "message": "slow down", "code": 429, "details": {"retryAfterSeconds": 1}});
                (StatusCode::TOO_MANY_REQUESTS, [wait], answer(&status)).into_response()
            } else {
                map()
            }
        }
    });
    let url = format!("http://{}", serve(routes).await);

    let (host, metrics) = client(&url, Server::Host, Limits::HOST);
    let start = Instant::now();
    maps(&host).get("b").await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    assert!(
        start.elapsed() >= Duration::from_millis(900),
        "{:?}",
        start.elapsed()
    );
    let text = metrics.text().unwrap();
    for code in ["429", "200"] {
        let line = format!(
            r#"karmada_api_requests_total{{server="host",verb="get",resource="configmaps",code="{code}"}} 1"#
        );
        assert!(text.contains(&line), "{text}");
    }

    let (member, _) = client(&url, Server::Member, Limits::MEMBER);
    let error = RequestError::new(
        "get",
        "configmaps a/b",
        maps(&member).get("b").await.unwrap_err(),
    );
    assert_eq!(error.failure(), Failure::Throttled);
    assert_eq!(error.retry_after(), Some(Duration::from_secs(1)));
    assert_eq!(calls.load(Ordering::SeqCst), 3);
}

#[derive(Default)]
struct Load {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Load {
    fn enter(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
    }

    fn leave(&self) {
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn requests_under_way_are_bounded_and_statuses_leave_room_for_what_moves_workloads() {
    let (all, statuses) = (Arc::new(Load::default()), Arc::new(Load::default()));
    let (seen_all, seen_statuses) = (Arc::clone(&all), Arc::clone(&statuses));
    let routes = Router::new().fallback(move |method: Method, uri: Uri| {
        let (all, statuses) = (Arc::clone(&seen_all), Arc::clone(&seen_statuses));
        async move {
            let status = method == Method::PATCH && uri.path().ends_with("/status");
            all.enter();
            if status {
                statuses.enter();
            }
            let pause = if status { 400 } else { 20 };
            tokio::time::sleep(Duration::from_millis(pause)).await;
            if status {
                statuses.leave();
            }
            all.leave();
            map()
        }
    });
    let limits = Limits {
        in_flight: 8,
        ..Limits::HOST
    };
    let (client, _) = client(
        &format!("http://{}", serve(routes).await),
        Server::Host,
        limits,
    );
    let api = maps(&client);
    let slow: Vec<_> = (0..24)
        .map(|_| {
            let api = api.clone();
            tokio::spawn(async move {
                let patch = Patch::Merge(json!({"status": {}}));
                api.patch_status("b", &PatchParams::default(), &patch)
                    .await
                    .unwrap();
            })
        })
        .collect();
    // All statuses wait in line by now; the forward path must not stand behind them.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let start = Instant::now();
    futures::future::try_join_all((0..24).map(|_| api.get("b")))
        .await
        .unwrap();
    assert!(
        slow.iter().any(|task| !task.is_finished()),
        "all statuses were done before"
    );
    assert!(
        start.elapsed() < Duration::from_millis(900),
        "{:?}",
        start.elapsed()
    );
    futures::future::try_join_all(slow).await.unwrap();
    assert_eq!(statuses.most.load(Ordering::SeqCst), 4);
    assert!(all.most.load(Ordering::SeqCst) <= 8);
}

#[tokio::test]
async fn watches_do_not_use_up_the_budget() {
    let routes = Router::new().fallback(|uri: Uri| async move {
        if uri
            .query()
            .is_some_and(|query| query.contains("watch=true"))
        {
            // The answer to a watch begins at once and never ends.
            let never = futures::stream::pending::<Result<String, std::convert::Infallible>>();
            axum::body::Body::from_stream(never).into_response()
        } else {
            answer(
                &json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {}, "items": []}),
            )
        }
    });
    let limits = Limits {
        in_flight: 1,
        answer: Duration::from_secs(1),
        ..Limits::HOST
    };
    let (client, _) = client(
        &format!("http://{}", serve(routes).await),
        Server::Host,
        limits,
    );
    let api = maps(&client);
    let mut watches = Vec::new();
    for _ in 0..5 {
        watches.push(
            api.watch(&kube::api::WatchParams::default(), "0")
                .await
                .unwrap(),
        );
    }
    let all = ListParams::default();
    let list = tokio::time::timeout(Duration::from_secs(5), api.list(&all));
    assert!(list.await.unwrap().unwrap().items.is_empty());
    // Nor are they cut off for being silent.
    let mut first = Box::pin(watches.remove(0));
    let next = futures::StreamExt::next(&mut first);
    assert!(
        tokio::time::timeout(Duration::from_secs(2), next)
            .await
            .is_err(),
        "the watch ended"
    );
}

#[tokio::test]
async fn a_server_that_cannot_stream_lists_is_listed() {
    let routes = Router::new().fallback(|uri: Uri| async move {
        let query = uri.query().unwrap_or_default();
        if query.contains("sendInitialEvents") {
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422,
                "message": "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"});
            (StatusCode::UNPROCESSABLE_ENTITY, answer(&status)).into_response()
        } else if query.contains("watch=true") {
            let never = futures::stream::pending::<Result<String, std::convert::Infallible>>();
            axum::body::Body::from_stream(never).into_response()
        } else {
            answer(&json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"},
                "items": [{"metadata": {"name": "b", "namespace": "a", "resourceVersion": "1"}}]}))
        }
    });
    let (client, _) = client(
        &format!("http://{}", serve(routes).await),
        Server::Host,
        Limits::HOST,
    );
    let store = Arc::new(Store::default());
    let readiness = Readiness::default();
    let stop = CancellationToken::new();
    let watching = tokio::spawn(watch::run(
        client,
        Scope::host(),
        Arc::clone(&store),
        Some(readiness.handle("maps")),
        stop.clone(),
        |map: ConfigMap| map.metadata.name,
        |_| {},
    ));
    tokio::time::timeout(Duration::from_secs(10), readiness.ready())
        .await
        .expect("the list arrives");
    assert_eq!(
        store.find("a", "b").as_deref().map(String::as_str),
        Some("b")
    );
    stop.cancel();
    watching.await.unwrap();
}

#[tokio::test]
async fn a_callback_that_panics_costs_a_pause_and_not_the_watch() {
    let routes = Router::new().fallback(|uri: Uri| async move {
        if uri.query().unwrap_or_default().contains("watch=true") {
            let never = futures::stream::pending::<Result<String, std::convert::Infallible>>();
            axum::body::Body::from_stream(never).into_response()
        } else if uri.path().ends_with("/lates") {
            answer(&json!({"kind": "LateList", "apiVersion": "kit.example/v1", "metadata": {"resourceVersion": "1"},
                "items": [{"metadata": {"name": "poison", "resourceVersion": "1"}}]}))
        } else {
            answer(&json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "kit.example/v1", "resources": [
                {"name": "lates", "singularName": "late", "namespaced": false, "kind": "Late", "verbs": ["list", "watch"]}]}))
        }
    });
    let (client, _) = client(
        &format!("http://{}", serve(routes).await),
        Server::Member,
        Limits::MEMBER,
    );
    let stop = CancellationToken::new();
    let first = AtomicBool::new(true);
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let watches = DynamicWatches::new(
        Kinds::new(client),
        Scope::member(),
        stop.clone(),
        move |_, object: DynamicObject| {
            assert!(!first.swap(false, Ordering::SeqCst), "a mistake");
            object.metadata.name
        },
        move |_, change| {
            let _ = tell.send(change.key.name.to_string());
        },
    );
    watches.ensure(&GroupVersionKind::gvk("kit.example", "v1", "Late"));
    let change = tokio::time::timeout(Duration::from_secs(20), told.recv()).await;
    assert_eq!(
        change.expect("the watch goes on").as_deref(),
        Some("poison")
    );
    stop.cancel();
}
