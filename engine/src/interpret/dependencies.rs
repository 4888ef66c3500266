//! What a template needs beside itself in the cluster that runs it.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Native, items, text};

/// An object, or all objects with some labels, that a template refers to.
///
/// Written as in the contract: in the annotation on the binding, and in answers of interpreters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    /// apiVersion.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace; absent for an object of cluster scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name; absent if the labels say which objects are meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The labels of the objects meant, where there is no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
}

/// Whether templates of a kind may refer to anything, so that their specs are worth reading.
pub fn has_dependencies(api_version: &str, kind: &str) -> bool {
    match Native::named(api_version, kind) {
        Native::Pod
        | Native::Deployment
        | Native::ReplicaSet
        | Native::StatefulSet
        | Native::DaemonSet
        | Native::Job
        | Native::CronJob
        | Native::Ingress => true,
        Native::Service
        | Native::ServiceAccount
        | Native::Secret
        | Native::PersistentVolume
        | Native::PersistentVolumeClaim
        | Native::PodDisruptionBudget
        | Native::HorizontalPodAutoscaler => false,
        Native::Other => is_imported(api_version, kind),
    }
}

/// What a template refers to, in a fixed order and each once.
///
/// What every namespace has of its own – the service account `default`, the certificate of the API server – is not among it.
pub fn dependencies(template: &Value) -> Vec<Dependency> {
    let namespace = text(template, "/metadata/namespace");
    let mut found = Found::default();
    let pod = match Native::of(template) {
        Native::Pod => "/spec",
        Native::Deployment
        | Native::ReplicaSet
        | Native::StatefulSet
        | Native::DaemonSet
        | Native::Job => "/spec/template/spec",
        Native::CronJob => "/spec/jobTemplate/spec/template/spec",
        Native::Ingress => {
            for entry in items(template, "/spec/tls") {
                found.add("Secret", text(entry, "/secretName"));
            }
            return found.list(namespace);
        }
        Native::Service
        | Native::ServiceAccount
        | Native::Secret
        | Native::PersistentVolume
        | Native::PersistentVolumeClaim
        | Native::PodDisruptionBudget
        | Native::HorizontalPodAutoscaler => return Vec::new(),
        Native::Other => return imported(template, namespace),
    };
    if let Some(pod) = template.pointer(pod) {
        found.pod(pod);
    }
    // A StatefulSet has its claims made in each cluster.
    for claim in items(template, "/spec/volumeClaimTemplates") {
        let key = (
            "PersistentVolumeClaim",
            text(claim, "/metadata/name").to_owned(),
        );
        found.0.remove(&key);
    }
    found.list(namespace)
}

/// What a pod of this spec refers to in its namespace.
pub(super) fn of_pod(pod: &Value, namespace: &str) -> Vec<Dependency> {
    let mut found = Found::default();
    found.pod(pod);
    found.list(namespace)
}

/// Kinds and names.
#[derive(Default)]
struct Found(BTreeSet<(&'static str, String)>);

/// The configuration that each cluster puts into each namespace for itself.
const ROOT_CERTIFICATE: &str = "kube-root-ca.crt";

/// Where volumes name a secret in the pod's namespace.
const VOLUME_SECRETS: [&str; 10] = [
    "/azureFile/secretName",
    "/cephfs/secretRef/name",
    "/cinder/secretRef/name",
    "/csi/nodePublishSecretRef/name",
    "/flexVolume/secretRef/name",
    "/iscsi/secretRef/name",
    "/rbd/secretRef/name",
    "/scaleIO/secretRef/name",
    "/secret/secretName",
    "/storageos/secretRef/name",
];

impl Found {
    fn add(&mut self, kind: &'static str, name: &str) {
        if !name.is_empty() && (kind, name) != ("ConfigMap", ROOT_CERTIFICATE) {
            self.0.insert((kind, name.to_owned()));
        }
    }

    fn pod(&mut self, pod: &Value) {
        let account = text(pod, "/serviceAccountName");
        if account != "default" {
            self.add("ServiceAccount", account);
        }
        for secret in items(pod, "/imagePullSecrets") {
            self.add("Secret", text(secret, "/name"));
        }
        for list in ["/containers", "/initContainers", "/ephemeralContainers"] {
            for container in items(pod, list) {
                self.container(container);
            }
        }
        for volume in items(pod, "/volumes") {
            self.volume(volume);
        }
    }

    fn container(&mut self, container: &Value) {
        for variable in items(container, "/env") {
            self.add(
                "ConfigMap",
                text(variable, "/valueFrom/configMapKeyRef/name"),
            );
            self.add("Secret", text(variable, "/valueFrom/secretKeyRef/name"));
        }
        for source in items(container, "/envFrom") {
            self.add("ConfigMap", text(source, "/configMapRef/name"));
            self.add("Secret", text(source, "/secretRef/name"));
        }
    }

    fn volume(&mut self, volume: &Value) {
        self.add("ConfigMap", text(volume, "/configMap/name"));
        for secret in VOLUME_SECRETS {
            self.add("Secret", text(volume, secret));
        }
        let claim = text(volume, "/persistentVolumeClaim/claimName");
        self.add("PersistentVolumeClaim", claim);
        for source in items(volume, "/projected/sources") {
            self.add("ConfigMap", text(source, "/configMap/name"));
            self.add("Secret", text(source, "/secret/name"));
        }
    }

    /// All that is found is of the core group.
    fn list(self, namespace: &str) -> Vec<Dependency> {
        self.0
            .into_iter()
            .map(|(kind, name)| Dependency {
                api_version: "v1".to_owned(),
                kind: kind.to_owned(),
                namespace: given(namespace),
                name: Some(name),
                label_selector: None,
            })
            .collect()
    }
}

fn given(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

fn is_imported(api_version: &str, kind: &str) -> bool {
    kind == "ServiceImport" && api_version.starts_with("multicluster.x-k8s.io/")
}

/// An imported service: the Service that stands for it, and the endpoints behind that.
fn imported(template: &Value, namespace: &str) -> Vec<Dependency> {
    if !is_imported(text(template, "/apiVersion"), text(template, "/kind")) {
        return Vec::new();
    }
    let service = format!("derived-{}", text(template, "/metadata/name"));
    let labels = BTreeMap::from([("kubernetes.io/service-name".to_owned(), service.clone())]);
    vec![
        Dependency {
            api_version: "v1".to_owned(),
            kind: "Service".to_owned(),
            namespace: given(namespace),
            name: Some(service),
            label_selector: None,
        },
        Dependency {
            api_version: "discovery.k8s.io/v1".to_owned(),
            kind: "EndpointSlice".to_owned(),
            namespace: given(namespace),
            name: None,
            label_selector: Some(LabelSelector {
                match_labels: Some(labels),
                match_expressions: None,
            }),
        },
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn template(api_version: &str, kind: &str, spec: &Value) -> Value {
        json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": {"name": "web", "namespace": "shop"}, "spec": spec,
        })
    }

    #[track_caller]
    fn check(template: &Value, expected: &[(&str, &str)]) {
        let found = dependencies(template);
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|dependency| {
                assert_eq!(dependency.namespace.as_deref(), Some("shop"));
                (
                    dependency.kind.as_str(),
                    dependency.name.as_deref().unwrap_or_default(),
                )
            })
            .collect();
        assert_eq!(found, expected);
    }

    fn of_pod(pod: &Value, expected: &[(&str, &str)]) {
        let inside = json!({"template": {"spec": pod}});
        for (api_version, kind, spec) in [
            ("v1", "Pod", pod.clone()),
            ("apps/v1", "Deployment", inside.clone()),
            ("apps/v1", "StatefulSet", inside.clone()),
            ("apps/v1", "DaemonSet", inside.clone()),
            ("batch/v1", "Job", inside.clone()),
            (
                "batch/v1",
                "CronJob",
                json!({"jobTemplate": {"spec": inside}}),
            ),
        ] {
            check(&template(api_version, kind, &spec), expected);
        }
    }

    #[test]
    fn a_pod_needs_what_its_containers_read() {
        of_pod(
            &json!({
                "containers": [{
                    "env": [
                        {"name": "a", "value": "plain"},
                        {"name": "b", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "b"}}},
                        {"name": "c", "valueFrom": {"secretKeyRef": {"name": "password", "key": "c"}}},
                    ],
                    "envFrom": [{"configMapRef": {"name": "more"}}],
                }],
                "initContainers": [{"envFrom": [{"secretRef": {"name": "first"}}]}],
                "imagePullSecrets": [{"name": "registry"}],
            }),
            &[
                ("ConfigMap", "more"),
                ("ConfigMap", "settings"),
                ("Secret", "first"),
                ("Secret", "password"),
                ("Secret", "registry"),
            ],
        );
    }

    #[test]
    fn a_pod_needs_what_its_volumes_hold_each_once() {
        of_pod(
            &json!({"volumes": [
                {"name": "a", "configMap": {"name": "settings"}},
                {"name": "b", "secret": {"secretName": "password"}},
                {"name": "c", "persistentVolumeClaim": {"claimName": "data"}},
                {"name": "d", "projected": {"sources": [
                    {"configMap": {"name": "settings"}}, {"secret": {"name": "key"}}, {"serviceAccountToken": {}},
                ]}},
                {"name": "e", "csi": {"driver": "x", "nodePublishSecretRef": {"name": "driver"}}},
                {"name": "f", "emptyDir": {}},
            ]}),
            &[
                ("ConfigMap", "settings"),
                ("PersistentVolumeClaim", "data"),
                ("Secret", "driver"),
                ("Secret", "key"),
                ("Secret", "password"),
            ],
        );
    }

    #[test]
    fn what_every_namespace_has_of_its_own_is_not_taken_along() {
        let injected = json!([{"name": "kube-api-access-x", "projected": {"sources": [
            {"configMap": {"name": "kube-root-ca.crt"}},
        ]}}]);
        of_pod(
            &json!({"serviceAccountName": "default", "volumes": injected}),
            &[],
        );
        of_pod(
            &json!({"serviceAccountName": "bot"}),
            &[("ServiceAccount", "bot")],
        );
    }

    #[test]
    fn claims_of_a_stateful_set_are_made_in_each_cluster() {
        let volume =
            |claim: &str| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}});
        let spec = json!({
            "template": {"spec": {"volumes": [volume("data"), volume("shared")]}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
        });
        check(
            &template("apps/v1", "StatefulSet", &spec),
            &[("PersistentVolumeClaim", "shared")],
        );
    }

    #[test]
    fn an_ingress_needs_its_certificates() {
        let spec = json!({"tls": [{"hosts": ["a"], "secretName": "cert"}, {"hosts": ["b"]}]});
        check(
            &template("networking.k8s.io/v1", "Ingress", &spec),
            &[("Secret", "cert")],
        );
    }

    #[test]
    fn an_imported_service_needs_the_service_and_the_endpoints_behind_it() {
        let import = template(
            "multicluster.x-k8s.io/v1alpha1",
            "ServiceImport",
            &json!({}),
        );
        assert_eq!(
            serde_json::to_value(dependencies(&import)).unwrap(),
            json!([
                {"apiVersion": "v1", "kind": "Service", "namespace": "shop", "name": "derived-web"},
                {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "namespace": "shop",
                    "labelSelector": {"matchLabels": {"kubernetes.io/service-name": "derived-web"}}},
            ])
        );
        check(&template("example.io/v1", "Thing", &json!({})), &[]);
    }
}
