//! The definitions that teach an API server the kinds: structural schemas with defaults, merge keys and rules.
//!
//! The shape comes from the Rust types. What a type cannot say is added here, path by path: `shape` makes the schema
//! what the wire contract has, `rules` refuses what nobody can have meant.

mod edit;
mod rules;
mod shape;

use crate::{
    Kind,
    apps::WorkloadRebalancer,
    cluster::Cluster,
    config::ResourceInterpreterCustomization,
    policy::{
        ClusterOverridePolicy, ClusterPropagationPolicy, ClusterTaintPolicy,
        FederatedResourceQuota, OverridePolicy, PropagationPolicy,
    },
    work::{ClusterResourceBinding, ResourceBinding, Work},
};
use edit::Schema;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec, CustomResourceDefinitionVersion, CustomResourceSubresourceStatus,
    CustomResourceSubresources, CustomResourceValidation,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The definitions of all kinds, in the order of their names.
pub fn all() -> Vec<CustomResourceDefinition> {
    let mut all = vec![
        definition::<Cluster>(),
        definition::<ClusterOverridePolicy>(),
        definition::<ClusterPropagationPolicy>(),
        definition::<ClusterResourceBinding>(),
        definition::<ClusterTaintPolicy>(),
        definition::<FederatedResourceQuota>(),
        definition::<OverridePolicy>(),
        definition::<PropagationPolicy>(),
        definition::<ResourceBinding>(),
        definition::<ResourceInterpreterCustomization>(),
        definition::<Work>(),
        definition::<WorkloadRebalancer>(),
    ];
    all.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    all
}

/// A kind that can be defined: its names, its documentation and its raw schema.
pub(crate) trait Definable {
    /// What it is called.
    const KIND: Kind;
    /// The columns that `kubectl get` prints after the name: name, type, path, and whether only `-o wide` shows it.
    const COLUMNS: &'static [Column];

    /// The schema that the Rust types give: `description`, `spec` and perhaps `status`.
    fn raw() -> Schema;
}

/// A column that `kubectl get` prints.
pub(crate) struct Column {
    name: &'static str,
    kind: &'static str,
    path: &'static str,
    wide: bool,
}

const fn column(name: &'static str, path: &'static str) -> Column {
    Column {
        name,
        kind: "string",
        path,
        wide: false,
    }
}

const fn wide(name: &'static str, path: &'static str) -> Column {
    Column {
        name,
        kind: "string",
        path,
        wide: true,
    }
}

const AGE: Column = Column {
    name: "AGE",
    kind: "date",
    path: ".metadata.creationTimestamp",
    wide: false,
};

fn definition<K: Definable>() -> CustomResourceDefinition {
    let kind = K::KIND;
    let mut schema = K::raw();
    shape::finish(&mut schema);
    shape::merge_keys(kind, &mut schema);
    rules::add(kind, &mut schema);
    let status = schema.has("status").then(|| CustomResourceSubresources {
        status: Some(CustomResourceSubresourceStatus(serde_json::json!({}))),
        scale: None,
    });
    CustomResourceDefinition {
        metadata: ObjectMeta {
            name: Some(kind.crd_name()),
            ..ObjectMeta::default()
        },
        spec: CustomResourceDefinitionSpec {
            group: kind.group.to_owned(),
            names: names(kind),
            scope: if kind.namespaced {
                "Namespaced"
            } else {
                "Cluster"
            }
            .to_owned(),
            versions: vec![CustomResourceDefinitionVersion {
                name: kind.version.to_owned(),
                served: true,
                storage: true,
                schema: Some(CustomResourceValidation {
                    open_api_v3_schema: Some(schema.into_props()),
                }),
                subresources: status,
                additional_printer_columns: columns(K::COLUMNS),
                ..CustomResourceDefinitionVersion::default()
            }],
            ..CustomResourceDefinitionSpec::default()
        },
        status: None,
    }
}

fn names(kind: Kind) -> CustomResourceDefinitionNames {
    CustomResourceDefinitionNames {
        kind: kind.kind.to_owned(),
        list_kind: Some(format!("{}List", kind.kind)),
        plural: kind.plural.to_owned(),
        singular: Some(kind.kind.to_lowercase()),
        short_names: (!kind.short.is_empty())
            .then(|| kind.short.iter().map(|s| (*s).to_owned()).collect()),
        categories: kind.categorised.then(|| vec!["karmada-io".to_owned()]),
    }
}

fn columns(columns: &[Column]) -> Option<Vec<CustomResourceColumnDefinition>> {
    let columns: Vec<_> = columns
        .iter()
        .map(|column| CustomResourceColumnDefinition {
            name: column.name.to_owned(),
            type_: column.kind.to_owned(),
            json_path: column.path.to_owned(),
            priority: column.wide.then_some(1),
            ..CustomResourceColumnDefinition::default()
        })
        .collect();
    (!columns.is_empty()).then_some(columns)
}

macro_rules! definable {
    ($($kind:ident: $spec:ty $(, $status:ty)? => [$($column:expr),*];)+) => {
        $(impl Definable for $kind {
            const KIND: Kind = $kind::KIND;
            const COLUMNS: &'static [Column] = &[$($column),*];

            fn raw() -> Schema {
                Schema::root($kind::DOC)
                    .property("spec", Schema::of::<$spec>())
                    $(.property("status", Schema::of::<$status>()))?
            }
        })+
    };
}

const CONFLICT_RESOLUTION: Column = column("CONFLICT-RESOLUTION", ".spec.conflictResolution");
const PRIORITY: Column = column("PRIORITY", ".spec.priority");
const SCHEDULED: Column = column(
    "SCHEDULED",
    r#".status.conditions[?(@.type=="Scheduled")].status"#,
);
const FULLY_APPLIED: Column = column(
    "FULLYAPPLIED",
    r#".status.conditions[?(@.type=="FullyApplied")].status"#,
);

definable! {
    Cluster: crate::cluster::ClusterSpec, crate::cluster::ClusterStatus => [
        column("VERSION", ".status.kubernetesVersion"),
        column("MODE", ".spec.syncMode"),
        column("READY", r#".status.conditions[?(@.type=="Ready")].status"#),
        AGE,
        wide("ZONES", ".spec.zones"),
        wide("REGION", ".spec.region"),
        wide("PROVIDER", ".spec.provider"),
        wide("API-ENDPOINT", ".spec.apiEndpoint"),
        wide("PROXY-URL", ".spec.proxyURL")
    ];
    PropagationPolicy: crate::policy::PropagationSpec => [CONFLICT_RESOLUTION, PRIORITY, AGE];
    ClusterPropagationPolicy: crate::policy::PropagationSpec => [CONFLICT_RESOLUTION, PRIORITY, AGE];
    OverridePolicy: crate::policy::OverrideSpec => [];
    ClusterOverridePolicy: crate::policy::OverrideSpec => [];
    ClusterTaintPolicy: crate::policy::ClusterTaintPolicySpec => [];
    FederatedResourceQuota: crate::policy::FederatedResourceQuotaSpec, crate::policy::FederatedResourceQuotaStatus => [
        column("OVERALL", ".status.overall"),
        column("OVERALL_USED", ".status.overallUsed")
    ];
    ResourceBinding: crate::work::ResourceBindingSpec, crate::work::ResourceBindingStatus => [SCHEDULED, FULLY_APPLIED, AGE];
    ClusterResourceBinding: crate::work::ResourceBindingSpec, crate::work::ResourceBindingStatus => [SCHEDULED, FULLY_APPLIED, AGE];
    Work: crate::work::WorkSpec, crate::work::WorkStatus => [
        column("WORKLOAD-KIND", ".spec.workload.manifests[*].kind"),
        column("APPLIED", r#".status.conditions[?(@.type=="Applied")].status"#),
        AGE
    ];
    ResourceInterpreterCustomization: crate::config::ResourceInterpreterCustomizationSpec => [
        column("TARGET-API-VERSION", ".spec.target.apiVersion"),
        column("TARGET-KIND", ".spec.target.kind"),
        AGE
    ];
    WorkloadRebalancer: crate::apps::WorkloadRebalancerSpec, crate::apps::WorkloadRebalancerStatus => [];
}
