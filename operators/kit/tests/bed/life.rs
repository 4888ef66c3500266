//! The life of a process, told with the example `minimal`.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kit::election::Leadership;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;
use testbed::{Cluster, wait};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::access::{self, map};
use crate::{BED, FAILING};

struct Operator {
    child: Child,
    port: u16,
}

impl Operator {
    fn start(cluster: &Cluster, namespace: &str, work_millis: u64) -> Self {
        let mut example: PathBuf = std::env::current_exe().unwrap();
        example.pop();
        example.pop();
        example.push("examples/minimal");
        assert!(
            example.exists(),
            "build it with `cargo build -p kit --examples`"
        );
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let child = Command::new(example)
            .env("KARMADA_METRICS_ADDRESS", format!("127.0.0.1:{port}"))
            .arg(format!("--kubeconfig={}", cluster.kubeconfig().display()))
            .arg(format!("--lease-namespace={namespace}"))
            .arg(format!("--work-millis={work_millis}"))
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self { child, port }
    }

    async fn get(&self, path: &str) -> Result<(u16, String), std::io::Error> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        Ok((
            head.split(' ').nth(1).unwrap().parse().unwrap(),
            body.to_owned(),
        ))
    }

    /// Waits until `/metrics` or `/readyz` says so.
    async fn says(&self, path: &str, code: u16, text: &str) -> String {
        wait::until(
            format!("{path} to say {text}"),
            wait::PATIENCE,
            async || match self.get(path).await {
                Ok((seen, body)) if seen == code && body.contains(text) => Ok(body),
                Ok((seen, body)) => Err(format!("{seen}: {body}")),
                Err(error) => Err(error.to_string()),
            },
        )
        .await
        .unwrap()
    }

    async fn terminate(&mut self) -> ExitStatus {
        let pid = self.child.id().unwrap().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &pid])
                .status()
                .await
                .unwrap()
                .success()
        );
        self.ended().await
    }

    async fn ended(&mut self) -> ExitStatus {
        tokio::time::timeout(wait::PATIENCE, self.child.wait())
            .await
            .expect("the process ends")
            .unwrap()
    }
}

fn wanted(name: &str) -> ConfigMap {
    let mut map = map(name);
    map.metadata.labels = Some([("kit.karmada.io/wanted".to_owned(), String::new())].into());
    map
}

fn done(map: &ConfigMap) -> bool {
    map.metadata
        .annotations
        .as_ref()
        .is_some_and(|all| all.contains_key("kit.karmada.io/done"))
}

fn holder(lease: &Lease) -> Option<&str> {
    lease.spec.as_ref()?.holder_identity.as_deref()
}

#[tokio::test]
async fn a_process_that_is_asked_to_end_finishes_and_the_next_one_takes_over() {
    let bed = BED.get().await;
    let namespace = bed.namespace("life").await.unwrap();
    let client = bed.control_plane().client();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace.name());
    let leases: Api<Lease> = Api::namespaced(client, namespace.name());

    let mut first = Operator::start(bed.control_plane(), namespace.name(), 2000);
    first.says("/readyz", 200, "ok").await;
    assert_eq!(first.get("/healthz").await.unwrap().0, 200);
    let leader = leases.get("minimal").await.unwrap();
    let leader = holder(&leader).unwrap().to_owned();

    let mut second = Operator::start(bed.control_plane(), namespace.name(), 0);
    // It stands by: ready, but it does not act.
    second.says("/readyz", 200, "ok").await;
    maps.create(&PostParams::default(), &wanted("under-way"))
        .await
        .unwrap();
    first
        .says(
            "/metrics",
            200,
            r#"workqueue_queue_duration_seconds_count{name="maps"} 1"#,
        )
        .await;
    assert!(
        !second
            .get("/metrics")
            .await
            .unwrap()
            .1
            .contains("workqueue_queue_duration_seconds_count")
    );

    assert!(first.terminate().await.success());
    let finished = maps.get("under-way").await.unwrap();
    assert!(done(&finished), "work that had begun was dropped");
    let freed = leases.get("minimal").await.unwrap();
    assert_ne!(
        holder(&freed),
        Some(leader.as_str()),
        "the lease was not freed"
    );

    maps.create(&PostParams::default(), &wanted("later"))
        .await
        .unwrap();
    wait::object(&maps, "later", "marked by the second", wait::PATIENCE, done)
        .await
        .unwrap();
    let metrics = second.says("/metrics", 200, "karmada_build_info").await;
    for line in [
        r#"karmada_api_requests_total{server="host",verb="patch",resource="configmaps",code="200"} 1"#,
        r#"karmada_writes_total{resource="configmaps",outcome="sent"} 1"#,
        r#"workqueue_depth{name="maps"} 0"#,
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    check(&metrics).await;

    // Somebody else takes the lease: this process must not act any more.
    let stolen =
        json!({"spec": {"holderIdentity": "thief", "renewTime": MicroTime(Timestamp::now())}});
    leases
        .patch("minimal", &PatchParams::default(), &Patch::Merge(stolen))
        .await
        .unwrap();
    let ended = second.ended().await;
    assert_eq!(ended.code(), Some(1), "{ended}");
    let kept = leases.get("minimal").await.unwrap();
    assert_eq!(holder(&kept), Some("thief"));
}

/// `promtool check metrics`
async fn check(metrics: &str) {
    let mut promtool = Command::new(testbed::tool("promtool").unwrap())
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = promtool.stdin.take().unwrap();
    stdin.write_all(metrics.as_bytes()).await.unwrap();
    drop(stdin);
    let output = promtool.wait_with_output().await.unwrap();
    let findings = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success(),
        "{}\n{metrics}",
        String::from_utf8_lossy(&findings)
    );
}

#[tokio::test]
async fn a_leader_that_cannot_renew_ends() {
    let _failing = FAILING.lock().await;
    let cluster = BED.get().await.member("member2");
    access::namespace(cluster, "frozen").await;
    let mut operator = Operator::start(cluster, "frozen", 0);
    operator.says("/readyz", 200, "ok").await;
    let leases: Api<Lease> = Api::namespaced(cluster.client(), "frozen");
    wait::object(
        &leases,
        "minimal",
        "held",
        Duration::from_secs(30),
        |lease| holder(lease).is_some(),
    )
    .await
    .unwrap();
    cluster.freeze().unwrap();
    let ended = operator.ended().await;
    cluster.resume().await.unwrap();
    assert_eq!(ended.code(), Some(1), "{ended}");
}

#[tokio::test]
async fn what_is_wrong_at_the_start_is_said() {
    let bed = BED.get().await;
    let mut example: PathBuf = std::env::current_exe().unwrap();
    example.pop();
    example.pop();
    example.push("examples/minimal");
    let run = async |arguments: &[&str]| {
        let output = Command::new(&example)
            .args(arguments)
            .output()
            .await
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let missing = run(&["--kubeconfig=/does/not/exist"]).await;
    assert!(
        missing.contains("reading /does/not/exist (--kubeconfig)"),
        "{missing}"
    );
    let level = run(&["--log-level=a=b=c"]).await;
    assert!(level.contains("--log-level"), "{level}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("--metrics-address={}", taken.local_addr().unwrap());
    let kubeconfig = format!(
        "--kubeconfig={}",
        bed.control_plane().kubeconfig().display()
    );
    let port = run(&[&kubeconfig, &address, "--lease-namespace=default"]).await;
    assert!(port.contains("(--metrics-address)"), "{port}");
}

/// Several processes want a lease at the same moment. How many believed to have it at once, and how many do in the end.
async fn contend(namespace: &str, name: &'static str) -> (usize, usize) {
    let bed = BED.get().await;
    let runtime = access::runtime(bed.control_plane()).await;
    let leading = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let contenders: Vec<_> = (0..6)
        .map(|_| {
            let (client, namespace) = (runtime.client.clone(), namespace.to_owned());
            let (leading, most) = (Arc::clone(&leading), Arc::clone(&most));
            tokio::spawn(async move {
                let mut leadership = Leadership::acquire(client, name, &namespace).await.unwrap();
                most.fetch_max(leading.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                leadership.lost().await;
                leading.fetch_sub(1, Ordering::SeqCst);
            })
        })
        .collect();
    // Longer than a lease.
    tokio::time::sleep(Duration::from_secs(18)).await;
    let seen = (most.load(Ordering::SeqCst), leading.load(Ordering::SeqCst));
    for contender in contenders {
        contender.abort();
    }
    seen
}

#[tokio::test]
async fn of_several_processes_one_leads() {
    let bed = BED.get().await;
    let namespace = bed.namespace("contended").await.unwrap();
    let leases: Api<Lease> = Api::namespaced(bed.control_plane().client(), namespace.name());
    let long_ago = MicroTime(Timestamp::now() - Duration::from_secs(3600));
    let abandoned = serde_json::from_value(json!({"metadata": {"name": "abandoned"}, "spec": {
        "holderIdentity": "dead", "leaseDurationSeconds": 15, "acquireTime": long_ago, "renewTime": long_ago}}));
    leases
        .create(&PostParams::default(), &abandoned.unwrap())
        .await
        .unwrap();
    let (new, abandoned) = tokio::join!(
        contend(namespace.name(), "new"),
        contend(namespace.name(), "abandoned")
    );
    assert_eq!(new, (1, 1));
    // Two that find a lease run out at the same moment may overlap for a moment; not for longer.
    assert_eq!(abandoned.1, 1, "{abandoned:?}");
}
