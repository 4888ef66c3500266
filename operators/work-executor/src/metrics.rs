//! What the platform sees of the work. Names are Karmada's; a counter is printed with `_total` besides.

use std::time::Instant;

use kit::metrics::latency;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;

use crate::key::ObjectKey;
use crate::seen::WorkSeen;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CreateLabels {
    result: &'static str,
    apiversion: String,
    kind: String,
    member_cluster: String,
    recreate: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WriteLabels {
    result: &'static str,
    apiversion: String,
    kind: String,
    member_cluster: String,
}

type Seconds = Family<ResultLabels, Histogram, fn() -> Histogram>;

/// The operator's own families.
pub(crate) struct Metrics {
    sync_work: Seconds,
    sync_workload: Seconds,
    created: Family<CreateLabels, Counter>,
    updated: Family<WriteLabels, Counter>,
    deleted: Family<WriteLabels, Counter>,
}

/// Measures how long something takes.
pub(crate) struct Timer {
    family: Seconds,
    start: Instant,
}

impl Timer {
    pub(crate) fn stop(self, succeeded: bool) {
        self.family
            .get_or_create(&ResultLabels {
                result: result(succeeded),
            })
            .observe(self.start.elapsed().as_secs_f64());
    }
}

fn result(succeeded: bool) -> &'static str {
    if succeeded { "success" } else { "error" }
}

impl Metrics {
    pub(crate) fn register(metrics: &kit::metrics::Metrics) -> Self {
        let seconds = || Seconds::new_with_constructor(latency as fn() -> Histogram);
        let new = Self {
            sync_work: seconds(),
            sync_workload: seconds(),
            created: Family::default(),
            updated: Family::default(),
            deleted: Family::default(),
        };
        metrics.register(|registry| {
            registry.register(
                "binding_sync_work_duration_seconds",
                "Time it took to bring the Works of a binding or namespace in line",
                new.sync_work.clone(),
            );
            registry.register(
                "work_sync_workload_duration_seconds",
                "Time it took to bring the objects of a Work in line in its member",
                new.sync_workload.clone(),
            );
            registry.register(
                "create_resource_to_cluster",
                "Objects created in members",
                new.created.clone(),
            );
            registry.register(
                "update_resource_to_cluster",
                "Objects changed in members",
                new.updated.clone(),
            );
            registry.register(
                "delete_resource_from_cluster",
                "Objects deleted from members, or made the member's own",
                new.deleted.clone(),
            );
        });
        for family in [&new.sync_work, &new.sync_workload] {
            for outcome in [true, false] {
                // So that dashboards show a zero rather than nothing.
                drop(family.get_or_create(&ResultLabels {
                    result: result(outcome),
                }));
            }
        }
        new
    }

    pub(crate) fn sync_work(&self) -> Timer {
        Self::timer(&self.sync_work)
    }

    pub(crate) fn sync_workload(&self) -> Timer {
        Self::timer(&self.sync_workload)
    }

    fn timer(family: &Seconds) -> Timer {
        Timer {
            family: family.clone(),
            start: Instant::now(),
        }
    }

    pub(crate) fn created(&self, work: &WorkSeen, object: &ObjectKey, again: bool, done: bool) {
        let WriteLabels {
            result,
            apiversion,
            kind,
            member_cluster,
        } = labels(work, object, done);
        self.created
            .get_or_create(&CreateLabels {
                result,
                apiversion,
                kind,
                member_cluster,
                recreate: if again { "true" } else { "false" },
            })
            .inc();
    }

    pub(crate) fn updated(&self, work: &WorkSeen, object: &ObjectKey, done: bool) {
        self.updated
            .get_or_create(&labels(work, object, done))
            .inc();
    }

    pub(crate) fn deleted(&self, work: &WorkSeen, object: &ObjectKey, done: bool) {
        self.deleted
            .get_or_create(&labels(work, object, done))
            .inc();
    }
}

fn labels(work: &WorkSeen, object: &ObjectKey, done: bool) -> WriteLabels {
    WriteLabels {
        result: result(done),
        apiversion: object.gvk.api_version(),
        kind: object.gvk.kind.clone(),
        member_cluster: work.key.cluster.as_str().to_owned(),
    }
}
