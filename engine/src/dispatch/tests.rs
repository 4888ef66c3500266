use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crds::policy::{ClusterAffinity, Placement, PurgeMode, SuspendClusters};
use crds::work::{
    BindingSnapshot, BindingSuspension, GracefulEvictionTask, ResourceBindingSpec, TargetCluster,
    WorkSpec, WorkloadTemplate,
};
use crds::{annotations, labels};
use serde_json::{Value, json};

use super::*;
use crate::snapshot::{ClusterView, Fleet};

fn target(name: &str, replicas: i32) -> TargetCluster {
    TargetCluster {
        name: name.into(),
        replicas: Some(replicas),
        ..TargetCluster::default()
    }
}

fn spec(clusters: &[&str]) -> ResourceBindingSpec {
    ResourceBindingSpec {
        clusters: clusters.iter().map(|name| target(name, 1)).collect(),
        replicas: Some(1),
        placement: Some(Placement::default()),
        ..ResourceBindingSpec::default()
    }
}

fn fleet(names: &[&str]) -> Fleet {
    names
        .iter()
        .map(|name| {
            let view = ClusterView {
                name: (*name).into(),
                ..ClusterView::default()
            };
            ((*name).into(), Arc::new(view))
        })
        .collect()
}

fn present(cluster: &str, applied: bool) -> Present {
    Present {
        cluster: cluster.into(),
        deleting: false,
        applied,
    }
}

/// What becomes of the copy in `a`, in a fleet of `a`, `b` and `c`.
fn check(spec: &ResourceBindingSpec, owned: bool, others: &[Present], expected: &Fate) {
    let mut works = vec![present("a", true)];
    works.extend_from_slice(others);
    let situation = Situation {
        spec,
        deleting: false,
        owned,
        fleet: &fleet(&["a", "b", "c"]),
        needed: &BTreeSet::new(),
    };
    assert_eq!(&fates(situation, &works)[0], expected);
}

fn task(mode: Option<PurgeMode>, suppressed: Option<bool>) -> GracefulEvictionTask {
    GracefulEvictionTask {
        from_cluster: "a".into(),
        purge_mode: mode,
        suppress_deletion: suppressed,
        ..GracefulEvictionTask::default()
    }
}

#[test]
fn old_copy_stays_until_every_new_one_is_applied() {
    let moved = spec(&["b", "c"]);
    let waits = Fate::Stays(Keep::AwaitsReplacement(vec!["c".into()]));
    check(&moved, true, &[present("b", true)], &waits);
    check(
        &moved,
        true,
        &[present("b", true), present("c", false)],
        &waits,
    );
    check(
        &moved,
        true,
        &[present("b", true), present("c", true)],
        &Fate::Goes(Leave::Replaced),
    );
}

#[test]
fn copy_in_a_cluster_that_the_placement_excludes_goes_at_once() {
    let mut moved = spec(&["b"]);
    moved.placement = Some(Placement {
        cluster_affinity: Some(ClusterAffinity {
            cluster_names: vec!["b".into()],
            ..ClusterAffinity::default()
        }),
        ..Placement::default()
    });
    check(&moved, true, &[], &Fate::Goes(Leave::NotSelected));
}

#[test]
fn eviction_task_keeps_the_copy_unless_it_is_direct_or_released() {
    let with = |mode, suppressed| ResourceBindingSpec {
        graceful_eviction_tasks: vec![task(mode, suppressed)],
        ..spec(&["b"])
    };
    let stays = Fate::Stays(Keep::Evicting);
    let goes = Fate::Goes(Leave::Evicted);
    let applied = [present("b", true)];
    check(&with(None, None), true, &applied, &stays);
    check(
        &with(Some(PurgeMode::Gracefully), None),
        true,
        &applied,
        &stays,
    );
    check(&with(Some(PurgeMode::Never), None), true, &applied, &stays);
    check(
        &with(Some(PurgeMode::Never), Some(true)),
        true,
        &applied,
        &stays,
    );
    check(&with(Some(PurgeMode::Never), Some(false)), true, &[], &goes);
    check(&with(Some(PurgeMode::Directly), None), true, &[], &goes);
}

#[test]
fn direct_task_of_a_cluster_that_is_still_chosen_changes_nothing() {
    let mut still = spec(&["a"]);
    still.graceful_eviction_tasks = vec![task(Some(PurgeMode::Directly), None)];
    check(&still, true, &[], &Fate::Stays(Keep::Wanted));
}

#[test]
fn without_any_target_copies_stay_unless_no_replica_is_wanted() {
    let mut none = spec(&[]);
    check(&none, true, &[], &Fate::Stays(Keep::AwaitsTarget));
    none.replicas = Some(0);
    check(&none, true, &[], &Fate::Goes(Leave::NothingWanted));
}

#[test]
fn copies_of_a_binding_nobody_answers_for_stay() {
    check(&spec(&["b"]), false, &[], &Fate::Stays(Keep::Frozen));
    let labels = BTreeMap::from([(
        labels::PROPAGATION_POLICY_PERMANENT_ID.to_owned(),
        "id".to_owned(),
    )]);
    assert!(is_owned(&labels, &spec(&["b"])));
    assert!(!is_owned(&BTreeMap::new(), &spec(&["b"])));
}

#[test]
fn copies_of_a_binding_or_cluster_that_goes_go() {
    let all = spec(&["a"]);
    let fleet = fleet(&["a"]);
    let nobody = BTreeSet::new();
    let mut situation = Situation {
        spec: &all,
        deleting: true,
        owned: false,
        fleet: &fleet,
        needed: &nobody,
    };
    let works = [present("a", true)];
    assert_eq!(fates(situation, &works), [Fate::Goes(Leave::Deleted)]);
    let (nowhere, empty) = (spec(&["b"]), Fleet::new());
    situation = Situation {
        spec: &nowhere,
        deleting: false,
        owned: true,
        fleet: &empty,
        needed: &nobody,
    };
    assert_eq!(fates(situation, &works), [Fate::Goes(Leave::ClusterGone)]);
}

#[test]
fn attached_binding_goes_where_the_bindings_go_that_need_it() {
    let mut attached = spec(&[]);
    attached.placement = None;
    let required = |clusters: &[&str]| BindingSnapshot {
        name: "web-deployment".into(),
        clusters: clusters.iter().map(|name| target(name, 3)).collect(),
        ..BindingSnapshot::default()
    };
    attached.required_by = vec![required(&["b"]), required(&["b", "c"])];
    let targets = targets(&attached);
    let seen: Vec<_> = targets
        .iter()
        .map(|target| (target.cluster.as_str(), target.replicas))
        .collect();
    assert_eq!(seen, [("b", None), ("c", None)]);
    check(&attached, true, &[], &Fate::Goes(Leave::NotSelected));
}

#[test]
fn what_copies_that_are_still_there_need_outlives_them() {
    let (left, fleet) = (spec(&["b"]), fleet(&["a", "b"]));
    for placement in [None, left.placement.clone()] {
        let spec = ResourceBindingSpec {
            placement,
            ..left.clone()
        };
        for (needed, stays) in [("a", true), ("b", false)] {
            let situation = Situation {
                spec: &spec,
                deleting: false,
                owned: true,
                fleet: &fleet,
                needed: &[needed.into()].into(),
            };
            let works = [present("a", true), present("b", true)];
            let fate = &fates(situation, &works)[0];
            assert_eq!(*fate == Fate::Stays(Keep::Needed), stays, "{fate:?}");
        }
    }
}

#[test]
fn sending_is_suspended_everywhere_or_where_the_user_says() {
    let suspended = |suspension| {
        let spec = ResourceBindingSpec {
            suspension: Some(suspension),
            ..spec(&["a", "b"])
        };
        targets(&spec)
            .into_iter()
            .map(|target| target.suspended)
            .collect::<Vec<_>>()
    };
    let everywhere = BindingSuspension {
        dispatching: Some(true),
        ..BindingSuspension::default()
    };
    assert_eq!(suspended(everywhere), [true, true]);
    let on_b = BindingSuspension {
        dispatching_on_clusters: Some(SuspendClusters {
            cluster_names: vec!["b".into()],
        }),
        ..BindingSuspension::default()
    };
    assert_eq!(suspended(on_b), [false, true]);
}

fn strings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn owner(labels: &BTreeMap<String, String>, annotations: &BTreeMap<String, String>) -> Ownership {
    ownership(labels, annotations, "karmada-es-m1", "web-1")
}

#[test]
fn only_what_carries_the_label_and_names_this_work_is_ours() {
    let managed = strings(&[(labels::MANAGED, "true")]);
    let of = |name: &str| {
        strings(&[
            (annotations::WORK_NAMESPACE, "karmada-es-m1"),
            (annotations::WORK_NAME, name),
        ])
    };
    assert_eq!(owner(&managed, &of("web-1")), Ownership::Ours);
    assert_eq!(owner(&managed, &BTreeMap::new()), Ownership::Ours);
    assert_eq!(
        owner(&managed, &of("web-2")),
        Ownership::OtherWork {
            namespace: "karmada-es-m1".into(),
            name: "web-2".into()
        }
    );
    assert_eq!(owner(&BTreeMap::new(), &of("web-1")), Ownership::Foreign);
    assert_eq!(
        owner(&strings(&[(labels::MANAGED, "false")]), &of("web-1")),
        Ownership::Foreign
    );
}

fn work(data: &Value) -> WorkSpec {
    WorkSpec {
        workload: WorkloadTemplate {
            manifests: vec![data.clone()],
        },
        ..WorkSpec::default()
    }
}

#[test]
fn work_that_is_right_is_not_written() {
    let spec = work(&json!({"kind": "ConfigMap"}));
    let labels = strings(&[(labels::WORK_PERMANENT_ID, "id"), ("theirs", "stays")]);
    let annotations = strings(&[("theirs", "stays")]);
    let stored = Stored {
        labels: &labels,
        annotations: &annotations,
        spec: &spec,
    };
    let mut draft = Draft {
        labels: strings(&[(labels::WORK_PERMANENT_ID, "id")]),
        annotations: BTreeMap::new(),
        spec: spec.clone(),
    };
    assert_eq!(difference(stored, &draft), None);
    draft.spec.suspend_dispatching = Some(false);
    assert_eq!(difference(stored, &draft), None);
}

#[test]
fn only_what_differs_is_written_and_what_is_ours_is_taken_away() {
    let old = WorkSpec {
        suspend_dispatching: Some(true),
        ..work(&json!({"kind": "ConfigMap"}))
    };
    let labels = strings(&[("theirs", "stays")]);
    let annotations = strings(&[(annotations::APPLIED_OVERRIDES, "[]")]);
    let stored = Stored {
        labels: &labels,
        annotations: &annotations,
        spec: &old,
    };
    let draft = Draft {
        spec: work(&json!({"kind": "ConfigMap", "data": {"a": "b"}})),
        ..Draft::default()
    };
    assert_eq!(
        difference(stored, &draft),
        Some(json!({
            "metadata": {"annotations": {"policy.karmada.io/applied-overrides": null}},
            "spec": {
                "workload": {"manifests": [{"kind": "ConfigMap", "data": {"a": "b"}}]},
                "suspendDispatching": null,
            },
        }))
    );
}

/// A manifest, and the object the server made of it.
fn pod() -> (Value, Value) {
    let manifest = json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {
            "replicas": 2,
            "paused": false,
            "containers": [{"name": "web", "image": "nginx", "resources": {"limits": {"cpu": "1000m", "memory": 1024}}}],
            "args": ["--a", "--b"],
        },
    });
    let live = json!({
        "metadata": {"labels": {"app": "web", "theirs": "x"}, "uid": "1"},
        "spec": {
            "replicas": 2,
            "strategy": "RollingUpdate",
            "containers": [
                {"name": "sidecar", "image": "envoy"},
                {"name": "web", "image": "nginx", "pull": "Always", "resources": {"limits": {"cpu": "1", "memory": "1024"}}},
            ],
            "args": ["--a", "--b"],
        },
        "status": {"ready": 2},
    });
    (manifest, live)
}

/// Whether a change of the live object counts as drift, by both ways to tell.
fn check_drift(path: &str, value: Value, drifted: bool) {
    let (manifest, mut live) = pod();
    let before = drift::print(&manifest, &live);
    assert!(drift::holds(&manifest, &live), "as applied");
    *live.pointer_mut(path).unwrap() = value;
    assert_eq!(drift::print(&manifest, &live) != before, drifted, "{path}");
    assert_eq!(drift::holds(&manifest, &live), !drifted, "{path}");
}

#[test]
fn change_of_what_the_manifest_sets_is_drift() {
    check_drift("/spec/replicas", json!(5), true);
    check_drift("/metadata/labels/app", json!("other"), true);
    check_drift("/spec/containers/1/image", json!("apache"), true);
    check_drift("/spec/args", json!(["--b", "--a"]), true);
    check_drift("/spec/containers/1/resources/limits", json!({}), true);
}

#[test]
fn what_servers_and_others_add_is_no_drift() {
    check_drift("/metadata/labels/theirs", json!("y"), false);
    check_drift("/spec/strategy", json!("Recreate"), false);
    check_drift("/spec/containers/0/image", json!("envoy:2"), false);
    check_drift("/status/ready", json!(1), false);
}

#[test]
fn burst_of_statuses_becomes_few_writes() {
    let second = Duration::from_secs(1);
    let (now, settled, moving) = (Duration::ZERO, Pace::Settled, Pace::Moving);
    assert_eq!(wait(settled, now, None), now);
    assert_eq!(wait(settled, now, Some(second / 4)), second * 3 / 4);
    assert_eq!(wait(settled, now, Some(second * 5)), now);
    let first = wait(moving, now, None);
    assert!(first > now && first < second);
    assert_eq!(wait(moving, first, None), now);
    assert!(wait(moving, now, Some(second)) > wait(settled, now, Some(second)));
}
