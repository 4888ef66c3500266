//! Clients and queues of members.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kit::Failure;
use kit::members::{Access, MemberError, MemberQueues, Pool};
use kit::queue::Outcome;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;
use testbed::{Cluster, Network, wait};
use tokio::sync::mpsc;

use crate::access;
use crate::{BED, FAILING};

async fn token(member: &Cluster) -> String {
    let account = member.service_account("default", "kit").await.unwrap();
    account.bind("cluster-admin").await.unwrap();
    account.token().await.unwrap()
}

fn access(member: &Cluster, secret: &str) -> Access {
    Access {
        endpoint: member.url_through_proxy(),
        secret: Some(("karmada-cluster".to_owned(), secret.to_owned())),
        insecure: false,
        proxy: None,
        proxy_headers: Vec::new(),
    }
}

async fn store_secret(name: &str, member: &Cluster, token: &str) -> Api<Secret> {
    let control_plane = BED.get().await.control_plane();
    // Creates the namespace.
    control_plane
        .service_account("karmada-cluster", "any")
        .await
        .unwrap();
    let secrets = Api::namespaced(control_plane.client(), "karmada-cluster");
    let secret = serde_json::from_value(json!({
        "metadata": {"name": name},
        "stringData": {"token": token, "caBundle": member.certificate_authority()},
    }));
    secrets
        .create(&PostParams::default(), &secret.unwrap())
        .await
        .unwrap();
    secrets
}

#[tokio::test]
async fn rotated_credentials_work_without_a_restart() {
    let bed = BED.get().await;
    let member = bed.member("member1");
    let runtime = access::runtime(bed.control_plane()).await;
    let (tell, mut changed) = mpsc::unbounded_channel();
    let pool = Pool::start(&runtime, move |name| {
        let _ = tell.send(name.to_owned());
    });
    runtime.readiness.ready().await;
    assert_eq!(
        pool.member("rotating").err(),
        Some(MemberError::Unknown("rotating".to_owned()))
    );
    assert!(pool.set("rotating", access(member, "rotating")));
    assert!(
        !pool.set("rotating", access(member, "rotating")),
        "nothing differs"
    );
    let missing = pool.member("rotating").err().unwrap();
    assert_eq!(
        missing.to_string(),
        "cluster rotating: secret karmada-cluster/rotating does not exist; join it again with `karmadactl join`"
    );

    let secrets = store_secret("rotating", member, "expired").await;
    assert_eq!(changed.recv().await.as_deref(), Some("rotating"));
    let old = pool.member("rotating").unwrap();
    let refused = old.client.apiserver_version().await;
    let refused = match refused {
        // Anybody may ask for the version.
        Ok(_) => Api::<ConfigMap>::default_namespaced(old.client.clone())
            .get("a")
            .await
            .unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(Failure::of(&refused), Failure::Unauthorized);
    assert_eq!(
        pool.member("rotating").unwrap().revision,
        old.revision,
        "kept until something changes"
    );

    let patch = Patch::Merge(json!({"stringData": {"token": token(member).await}}));
    secrets
        .patch("rotating", &PatchParams::default(), &patch)
        .await
        .unwrap();
    assert_eq!(changed.recv().await.as_deref(), Some("rotating"));
    let new = pool.member("rotating").unwrap();
    assert_ne!(new.revision, old.revision);
    let missing = Api::<ConfigMap>::default_namespaced(new.client)
        .get("a")
        .await
        .unwrap_err();
    assert_eq!(Failure::of(&missing), Failure::NotFound);

    // Another certificate authority: the server is not the one that is expected.
    let ca = json!({"stringData": {"caBundle": bed.member("member2").certificate_authority()}});
    secrets
        .patch("rotating", &PatchParams::default(), &Patch::Merge(ca))
        .await
        .unwrap();
    changed.recv().await.unwrap();
    let stranger = pool.member("rotating").unwrap().client;
    let error = Api::<ConfigMap>::default_namespaced(stranger)
        .get("a")
        .await
        .unwrap_err();
    assert_eq!(Failure::of(&error), Failure::Tls, "{error:?}");

    let broken = json!({"stringData": {"caBundle": "not PEM"}});
    secrets
        .patch("rotating", &PatchParams::default(), &Patch::Merge(broken))
        .await
        .unwrap();
    changed.recv().await.unwrap();
    let unusable = pool.member("rotating").err().unwrap().to_string();
    assert!(
        unusable.contains("caBundle holds no PEM certificate"),
        "{unusable}"
    );
    runtime.shutdown.cancel();
}

#[tokio::test]
async fn a_silent_member_holds_up_nobody_else() {
    const KEYS: usize = 40;
    let _failing = FAILING.lock().await;
    let bed = BED.get().await;
    let runtime = access::runtime(bed.control_plane()).await;
    let pool = Pool::start(&runtime, |_| {});
    for (name, of) in [("healthy", "member1"), ("silent", "member2")] {
        let member = bed.member(of);
        store_secret(name, member, &token(member).await).await;
        pool.set(name, access(member, name));
    }
    wait::until("the credentials", wait::PATIENCE, async || {
        pool.member("healthy").and_then(|_| pool.member("silent"))
    })
    .await
    .unwrap();

    let done = Arc::new(Mutex::new(BTreeSet::<(String, usize)>::new()));
    let (members, finished) = (Arc::clone(&pool), Arc::clone(&done));
    let queues = MemberQueues::new("test", &runtime, 4, move |member: Arc<str>, key: usize| {
        let (members, finished) = (Arc::clone(&members), Arc::clone(&finished));
        async move {
            let Ok(client) = members.member(&member).map(|member| member.client) else {
                return Outcome::Retry;
            };
            match Api::<ConfigMap>::default_namespaced(client)
                .get_opt("none")
                .await
            {
                Ok(_) => {
                    finished.lock().unwrap().insert((member.to_string(), key));
                    Outcome::Done
                }
                Err(_) => Outcome::Retry,
            }
        }
    });
    let count = |name: &str| {
        done.lock()
            .unwrap()
            .iter()
            .filter(|(of, _)| of == name)
            .count()
    };

    bed.member("member2").set_network(Network::Blackhole);
    for key in 0..KEYS {
        queues.of("silent").add(key);
        queues.of("healthy").add(key);
    }
    let start = Instant::now();
    wait::until(
        "the healthy member's work",
        Duration::from_secs(10),
        async || match count("healthy") {
            KEYS => Ok(()),
            fewer => Err(format!("{fewer} done")),
        },
    )
    .await
    .unwrap();
    assert_eq!(count("silent"), 0);
    assert!(start.elapsed() < Duration::from_secs(10));

    bed.member("member2").set_network(Network::Up);
    wait::until(
        "the silent member's work",
        Duration::from_secs(90),
        async || match count("silent") {
            KEYS => Ok(()),
            fewer => Err(format!("{fewer} done")),
        },
    )
    .await
    .unwrap();
    runtime.shutdown.cancel();
}
