//! The bed, the operator in it, and what tests put there.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crds::cluster::Cluster;
use crds::policy::ConflictResolution;
use crds::work::{
    ObjectReference, ResourceBinding, ResourceBindingSpec, ResourceBindingStatus, TargetCluster,
    Work,
};
use crds::{Condition, conditions, finalizers, labels, names, namespaces};
use kit::CancellationToken;
use kit::metrics::Metrics;
use kit::process::Runtime;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind, TypeMeta};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use testbed::{Testbed, wait};
use tokio::sync::{Mutex, MutexGuard, OnceCell};

pub(crate) const SOON: Duration = Duration::from_secs(40);

pub(crate) const MEMBERS: [&str; 2] = ["member1", "member2"];

static BED: testbed::Shared =
    testbed::Shared::new(|| Testbed::builder().bare_members(2).without_controllers());

/// The operator, in a thread of its own, so that it outlives the test that started it.
struct Operator {
    stop: CancellationToken,
    thread: JoinHandle<()>,
}

/// One test at a time: some count requests, some break a member.
static TURN: OnceCell<Mutex<Option<Operator>>> = OnceCell::const_new();

static NUMBER: AtomicU32 = AtomicU32::new(1);

/// A test's part of the bed.
pub(crate) struct Scene {
    pub(crate) bed: &'static Testbed,
    pub(crate) namespace: String,
    turn: MutexGuard<'static, Option<Operator>>,
}

impl Operator {
    async fn start(bed: &Testbed) -> Self {
        let stop = CancellationToken::new();
        let kubeconfig = bed.control_plane().kubeconfig().to_owned();
        let (ready, is_ready) = tokio::sync::oneshot::channel();
        let shutdown = stop.clone();
        let thread = std::thread::spawn(move || {
            let threads = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()
                .unwrap();
            threads.block_on(async move {
                let kubeconfig = kube::config::Kubeconfig::read_from(kubeconfig).unwrap();
                let config = kube::Config::from_custom_kubeconfig(
                    kubeconfig,
                    &kube::config::KubeConfigOptions::default(),
                )
                .await
                .unwrap();
                let metrics = Metrics::new("work-executor");
                let client = kit::client::connect(
                    config,
                    kit::client::Server::Host,
                    kit::client::Limits::HOST,
                    &metrics,
                )
                .unwrap();
                let runtime = Runtime::new("work-executor", client, metrics);
                work_executor::run(runtime.clone()).await.unwrap();
                runtime.readiness.ready().await;
                let _ = ready.send(());
                shutdown.cancelled().await;
                runtime.shutdown.cancel();
                tokio::time::sleep(Duration::from_millis(300)).await;
            });
        });
        is_ready.await.unwrap();
        Self { stop, thread }
    }

    async fn end(self) {
        self.stop.cancel();
        tokio::task::spawn_blocking(|| self.thread.join())
            .await
            .unwrap()
            .unwrap();
    }
}

/// Opens a scene; the first one prepares the bed.
pub(crate) async fn scene(prefix: &str) -> Scene {
    let bed = BED.get().await;
    let turn = TURN
        .get_or_init(|| async {
            bed.install_crds().await.unwrap();
            for member in bed.members() {
                bed.join_directly(member).await.unwrap();
                let space = namespaces::execution(member.name());
                create(&bed.control_plane().client(), "", namespace(&space)).await;
                set_ready(bed, member.name(), true).await;
            }
            Mutex::new(Some(Operator::start(bed).await))
        })
        .await
        .lock()
        .await;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let scene = Scene {
        bed,
        namespace: format!("{prefix}-{number}"),
        turn,
    };
    create(&scene.plane(), "", namespace(&scene.namespace)).await;
    for member in MEMBERS {
        scene
            .present(member, "v1", "Namespace", "", &scene.namespace)
            .await;
    }
    scene
}

/// Says that a member is ready, or that it does not answer.
pub(crate) async fn set_ready(bed: &Testbed, member: &str, ready: bool) {
    let clusters: Api<Cluster> = Api::all(bed.control_plane().client());
    let (status, reason) = if ready {
        (conditions::TRUE, conditions::CLUSTER_READY)
    } else {
        (conditions::UNKNOWN, conditions::CLUSTER_STATUS_UNKNOWN)
    };
    let patch = json!({"status": {"conditions": [{
        "type": "Ready", "status": status, "reason": reason, "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}});
    clusters
        .patch_status(member, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

pub(crate) fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

pub(crate) fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}})
}

pub(crate) fn deployment(name: &str, replicas: i32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "web", "image": "nginx", "resources": {"requests": {"cpu": "1000m"}}}]},
            },
        },
    })
}

fn api_of(client: &Client, namespace: &str, api_version: &str, kind: &str) -> Api<DynamicObject> {
    let types = TypeMeta {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
    };
    let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(&types).unwrap());
    if namespace.is_empty() {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), namespace, &resource)
    }
}

/// Creates an object.
pub(crate) async fn create(client: &Client, namespace: &str, document: Value) -> DynamicObject {
    let object: DynamicObject = serde_json::from_value(document).unwrap();
    let types = object.types.clone().unwrap();
    api_of(client, namespace, &types.api_version, &types.kind)
        .create(&PostParams::default(), &object)
        .await
        .unwrap()
}

impl Scene {
    pub(crate) fn plane(&self) -> Client {
        self.bed.control_plane().client()
    }

    pub(crate) fn member(&self, name: &str) -> Client {
        self.bed.member(name).client()
    }

    /// Ends the operator and starts it again.
    pub(crate) async fn restart(&mut self) {
        self.stop().await;
        self.start().await;
    }

    pub(crate) async fn stop(&mut self) {
        if let Some(operator) = self.turn.take() {
            operator.end().await;
        }
    }

    pub(crate) async fn start(&mut self) {
        *self.turn = Some(Operator::start(self.bed).await);
    }

    /// Creates an object of the scene's namespace on the control plane.
    pub(crate) async fn create(&self, document: Value) -> DynamicObject {
        create(&self.plane(), &self.namespace, document).await
    }

    pub(crate) fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        api_of(&self.plane(), &self.namespace, api_version, kind)
    }

    pub(crate) fn copies(&self, member: &str, api_version: &str, kind: &str) -> Api<DynamicObject> {
        api_of(&self.member(member), &self.namespace, api_version, kind)
    }

    pub(crate) fn bindings(&self) -> Api<ResourceBinding> {
        Api::namespaced(self.plane(), &self.namespace)
    }

    pub(crate) fn works(&self, member: &str) -> Api<Work> {
        Api::namespaced(self.plane(), &namespaces::execution(member))
    }

    /// The name of the Work of an object of the scene.
    pub(crate) fn work_name(&self, kind: &str, name: &str) -> String {
        names::work(kind, name, Some(&self.namespace))
    }

    /// Binds a template as the scheduler does: with finalizer and id.
    pub(crate) async fn bind(
        &self,
        template: &DynamicObject,
        clusters: &[(&str, Option<i32>)],
        change: impl FnOnce(&mut ResourceBindingSpec),
    ) -> String {
        let types = template.types.clone().unwrap();
        let name = names::binding(&template.name_any(), &types.kind);
        let mut spec = ResourceBindingSpec {
            resource: ObjectReference {
                api_version: types.api_version,
                kind: types.kind,
                namespace: Some(self.namespace.clone()),
                name: template.name_any(),
                uid: template.uid(),
                resource_version: None,
            },
            replicas: clusters.iter().filter_map(|(_, replicas)| *replicas).max(),
            clusters: targets(clusters),
            placement: Some(crds::policy::Placement::default()),
            conflict_resolution: ConflictResolution::Abort,
            ..ResourceBindingSpec::default()
        };
        change(&mut spec);
        let mut binding = ResourceBinding::new(&name, spec);
        binding.metadata.finalizers = Some(vec![finalizers::BINDING.to_owned()]);
        binding.metadata.labels = Some(
            [
                (
                    labels::RESOURCE_BINDING_PERMANENT_ID,
                    "11111111-2222-3333-4444-555555555555",
                ),
                (
                    labels::PROPAGATION_POLICY_PERMANENT_ID,
                    "66666666-2222-3333-4444-555555555555",
                ),
            ]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        );
        self.bindings()
            .create(&PostParams::default(), &binding)
            .await
            .unwrap();
        name
    }

    /// Creates the `ConfigMap` `settings` with the value `one` and binds it to members; returns the name of the binding.
    pub(crate) async fn bind_settings(&self, members: &[&str]) -> String {
        let template = self.create(config_map("settings", "one")).await;
        let clusters: Vec<_> = members.iter().map(|member| (*member, None)).collect();
        self.bind(&template, &clusters, |_| {}).await
    }

    /// Changes the binding.
    pub(crate) async fn rebind(&self, binding: &str, patch: Value) {
        self.bindings()
            .patch(binding, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    pub(crate) async fn unbind(&self, binding: &str) {
        self.bindings()
            .delete(binding, &DeleteParams::default())
            .await
            .unwrap();
    }

    /// Waits until a binding says so.
    pub(crate) async fn binding(
        &self,
        name: &str,
        what: &str,
        holds: impl FnMut(&ResourceBinding) -> bool,
    ) -> ResourceBinding {
        wait::object(&self.bindings(), name, what, SOON, holds)
            .await
            .unwrap()
    }

    pub(crate) async fn fully_applied(&self, name: &str) -> ResourceBinding {
        self.binding(name, "it is fully applied", |binding| {
            condition(binding.status.as_ref()).is_some_and(|c| c.status == conditions::TRUE)
        })
        .await
    }

    /// Waits until a member has a copy that is so.
    pub(crate) async fn copy(
        &self,
        member: &str,
        api_version: &str,
        kind: &str,
        name: &str,
        what: &str,
        holds: impl FnMut(&DynamicObject) -> bool,
    ) -> DynamicObject {
        let api = self.copies(member, api_version, kind);
        wait::object(&api, name, format!("in {member}, {what}"), SOON, holds)
            .await
            .unwrap()
    }

    /// Waits until a member has an object, anywhere in it.
    pub(crate) async fn present(
        &self,
        member: &str,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) {
        let api = api_of(&self.member(member), namespace, api_version, kind);
        wait::object(&api, name, format!("it is in {member}"), SOON, |_| true)
            .await
            .unwrap();
    }

    pub(crate) async fn gone(&self, member: &str, api_version: &str, kind: &str, name: &str) {
        wait::gone(&self.copies(member, api_version, kind), name, SOON)
            .await
            .unwrap();
    }

    /// Waits until the events of the namespace are so.
    pub(crate) async fn events(&self, what: &str, mut holds: impl FnMut(&[DynamicObject]) -> bool) {
        let api = self.api("v1", "Event");
        wait::until(format!("events: {what}"), SOON, async || {
            let list = api.list(&ListParams::default()).await;
            let events = list.map_err(|error| error.to_string())?.items;
            if holds(&events) {
                return Ok(());
            }
            let notes = events.iter().map(|event| event.data["message"].to_string());
            Err(notes.collect::<Vec<_>>().join("; "))
        })
        .await
        .unwrap();
    }

    /// Waits until no Work of that name is left for a member.
    pub(crate) async fn no_work(&self, member: &str, name: &str) {
        wait::gone(&self.works(member), name, SOON).await.unwrap();
    }

    /// Waits until a Work is so.
    pub(crate) async fn work(
        &self,
        member: &str,
        name: &str,
        what: &str,
        holds: impl FnMut(&Work) -> bool,
    ) -> Work {
        wait::object(&self.works(member), name, what, SOON, holds)
            .await
            .unwrap()
    }
}

pub(crate) fn targets(clusters: &[(&str, Option<i32>)]) -> Vec<TargetCluster> {
    clusters
        .iter()
        .map(|(name, replicas)| TargetCluster {
            name: (*name).to_owned(),
            replicas: *replicas,
            ..TargetCluster::default()
        })
        .collect()
}

/// What a binding says about its copies.
pub(crate) fn condition(status: Option<&ResourceBindingStatus>) -> Option<&Condition> {
    kit::conditions::get(&status?.conditions, conditions::FULLY_APPLIED)
}

/// Whether the binding says that something is missing, and its message names all of `words`.
pub(crate) fn complains(binding: &ResourceBinding, words: &[&str]) -> bool {
    condition(binding.status.as_ref()).is_some_and(|condition| {
        condition.status == conditions::FALSE
            && words.iter().all(|word| condition.message.contains(word))
    })
}

pub(crate) fn value(copy: &DynamicObject) -> Option<&str> {
    copy.data["data"]["key"].as_str()
}
