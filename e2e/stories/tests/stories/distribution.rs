//! A template becomes copies, and their status comes back.

use crds::conditions::{FULLY_APPLIED, FULLY_APPLIED_SUCCESS, SCHEDULED, SUCCESS, TRUE};
use crds::work::{ResourceBinding, ResourceHealth, Work};
use crds::{events, namespaces};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Service};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use testbed::wait;

use crate::props::{
    config_map, config_map_to, deployment, deployment_to, override_in, policy, selector, to, with,
};
use crate::world::{SOON, apply, conditions, names, placement, says, scene};

fn image(deployment: &Deployment) -> Option<&str> {
    let pod = deployment.spec.template.spec.as_ref()?;
    pod.containers.first()?.image.as_deref()
}

fn ready(deployment: &Deployment) -> i32 {
    let status = deployment.status.as_ref();
    status.and_then(|status| status.ready_replicas).unwrap_or(0)
}

#[tokio::test]
async fn deployment_runs_where_its_policy_says_and_differs_as_its_override_says() {
    let scene = scene("main").await;
    let selected = selector("apps/v1", "Deployment", "web");
    scene.apply(deployment("web", 2)).await;
    scene
        .apply(override_in(
            "member2",
            "web",
            &selected,
            json!({
                "plaintext": [{"path": "/spec/replicas", "operator": "replace", "value": 3}],
                "imageOverrider": [{"component": "Registry", "operator": "replace", "value": "registry.member2.example"}],
            }),
        ))
        .await;
    scene
        .apply(deployment_to("web", &["member1", "member2"]))
        .await;

    let first = scene
        .copy::<Deployment>("member1", "web", "2 replicas are ready", |copy| {
            ready(copy) == 2
        })
        .await;
    assert_eq!(image(&first), Some("docker.io/library/nginx:1.29"));
    assert_eq!(
        first.labels().get("karmada.io/managed").map(String::as_str),
        Some("true")
    );
    let second = scene
        .copy::<Deployment>("member2", "web", "3 replicas are ready", |copy| {
            ready(copy) == 3
        })
        .await;
    assert_eq!(
        image(&second),
        Some("registry.member2.example/library/nginx:1.29")
    );
    assert!(scene.works("member3").await.is_empty());
    let absent = scene.copies::<Deployment>("member3").get_opt("web").await;
    assert_eq!(absent.unwrap(), None);

    // The status of the copies is the status of the template.
    let template = scene
        .template::<Deployment>("web", "5 replicas are ready in all", |template| {
            ready(template) == 5
        })
        .await;
    let status = template.status.unwrap();
    assert_eq!(status.replicas, Some(5));
    assert_eq!(status.available_replicas, Some(5));
    assert_eq!(status.observed_generation, template.metadata.generation);

    let binding = scene
        .binding(
            "web-deployment",
            "everything is applied and healthy",
            |binding| {
                let healthy = binding.status.as_ref().is_some_and(|status| {
                    status.aggregated_status.len() == 2
                        && status
                            .aggregated_status
                            .iter()
                            .all(|item| item.health == Some(ResourceHealth::Healthy))
                });
                healthy
                    && says(
                        conditions(binding),
                        FULLY_APPLIED,
                        TRUE,
                        FULLY_APPLIED_SUCCESS,
                        &[],
                    )
            },
        )
        .await;
    assert!(says(conditions(&binding), SCHEDULED, TRUE, SUCCESS, &[]));
    assert_eq!(placement(&binding), [("member1", 2), ("member2", 2)]);
    let status = binding.status.unwrap();
    assert_eq!(
        status.scheduler_observed_generation,
        binding.metadata.generation
    );
    scene
        .event(
            "web",
            events::SCHEDULE_BINDING_SUCCEED,
            &["member1", "member2"],
        )
        .await;
    scene.event("web", events::SYNC_WORK_SUCCEED, &[]).await;
}

#[tokio::test]
async fn change_of_the_template_reaches_every_copy_and_a_tool_may_replace_it_whole() {
    let scene = scene("change").await;
    scene.apply(deployment("web", 1)).await;
    scene
        .apply(deployment_to("web", &["member1", "member2"]))
        .await;
    for member in ["member1", "member2"] {
        scene
            .copy::<Deployment>(member, "web", "it runs", |copy| ready(copy) == 1)
            .await;
    }

    // A plain PUT without our labels, as client-side tools do: it must not fail, and what we put there comes back.
    let templates = scene.api::<Deployment>();
    let changed = with(
        with(deployment("web", 2), "/spec/paused", json!(false)),
        "/spec/template/spec/containers/0/image",
        json!("docker.io/library/nginx:1.30"),
    );
    let changed: Deployment = serde_json::from_value(changed).unwrap();
    templates
        .replace("web", &PostParams::default(), &changed)
        .await
        .unwrap();
    for member in ["member1", "member2"] {
        scene
            .copy::<Deployment>(member, "web", "the new version runs", |copy| {
                image(copy) == Some("docker.io/library/nginx:1.30") && ready(copy) == 2
            })
            .await;
    }
    scene
        .template::<Deployment>("web", "it is claimed and its status complete", |template| {
            let claimed = template
                .labels()
                .contains_key(crds::labels::PROPAGATION_POLICY_PERMANENT_ID);
            let status = template.status.as_ref();
            let observed = status.and_then(|status| status.observed_generation);
            claimed && ready(template) == 4 && observed == template.metadata.generation
        })
        .await;
}

#[tokio::test]
async fn change_of_the_policy_moves_the_copy() {
    let scene = scene("moves").await;
    scene.apply(deployment("web", 1)).await;
    scene.apply(deployment_to("web", &["member1"])).await;
    scene
        .copy::<Deployment>("member1", "web", "it runs", |copy| ready(copy) == 1)
        .await;
    scene.apply(deployment_to("web", &["member3"])).await;
    scene
        .copy::<Deployment>("member3", "web", "it runs", |copy| ready(copy) == 1)
        .await;
    scene.no_copy::<Deployment>("member1", "web").await;
    scene
        .binding("web-deployment", "only member3 is left", |binding| {
            let status = binding.status.as_ref();
            let seen = status.map(|status| status.aggregated_status.len());
            placement(binding) == [("member3", 1)] && seen == Some(1)
        })
        .await;
}

#[tokio::test]
async fn change_of_an_override_reaches_the_copy() {
    let scene = scene("override").await;
    let selected = selector("apps/v1", "Deployment", "web");
    scene.apply(deployment("web", 1)).await;
    scene.apply(deployment_to("web", &["member1"])).await;
    scene
        .copy::<Deployment>("member1", "web", "it exists", |_| true)
        .await;
    let overriders = json!({
        "labelsOverrider": [{"operator": "add", "value": {"tier": "gold"}}],
        "annotationsOverrider": [{"operator": "add", "value": {"note": "from the override"}}],
        "commandOverrider": [{"containerName": "web", "operator": "add", "value": ["nginx"]}],
        "argsOverrider": [{"containerName": "web", "operator": "add", "value": ["-g", "daemon off;"]}],
    });
    scene
        .apply(override_in("member1", "gold", &selected, overriders))
        .await;
    let copy = scene
        .copy::<Deployment>("member1", "web", "the override is in", |copy| {
            copy.labels().contains_key("tier")
        })
        .await;
    assert_eq!(
        copy.annotations().get("note").map(String::as_str),
        Some("from the override")
    );
    let pod = copy.spec.template.spec.unwrap();
    assert_eq!(pod.containers[0].command, Some(vec!["nginx".to_owned()]));
    assert_eq!(
        pod.containers[0].args,
        Some(vec!["-g".to_owned(), "daemon off;".to_owned()])
    );

    scene.delete::<crds::policy::OverridePolicy>("gold").await;
    scene
        .copy::<Deployment>("member1", "web", "the override is out", |copy| {
            !copy.labels().contains_key("tier")
        })
        .await;
}

#[tokio::test]
async fn deleted_template_takes_everything_along() {
    let scene = scene("deleted").await;
    scene.apply(deployment("web", 1)).await;
    scene
        .apply(deployment_to("web", &["member1", "member2"]))
        .await;
    for member in ["member1", "member2"] {
        scene
            .copy::<Deployment>(member, "web", "it exists", |_| true)
            .await;
    }
    scene.delete::<Deployment>("web").await;
    for member in ["member1", "member2"] {
        scene.no_copy::<Deployment>(member, "web").await;
    }
    wait::gone(&scene.api::<ResourceBinding>(), "web-deployment", SOON)
        .await
        .unwrap();
    let works: Api<Work> = Api::namespaced(scene.plane(), &namespaces::execution("member1"));
    let name = crds::names::work("Deployment", "web", Some(scene.name()));
    wait::gone(&works, &name, SOON).await.unwrap();
}

#[tokio::test]
async fn deleted_policy_leaves_the_copies_and_lets_go_of_the_template() {
    let scene = scene("let-go").await;
    scene.apply(config_map("settings", "one")).await;
    scene.apply(config_map_to("settings", &["member1"])).await;
    scene
        .copy::<ConfigMap>("member1", "settings", "it exists", |_| true)
        .await;
    scene
        .delete::<crds::policy::PropagationPolicy>("settings")
        .await;
    let label = crds::labels::PROPAGATION_POLICY_PERMANENT_ID;
    scene
        .template::<ConfigMap>("settings", "it belongs to no policy", |template| {
            !template.labels().contains_key(label)
        })
        .await;
    scene
        .binding("settings-configmap", "it belongs to no policy", |binding| {
            !binding.labels().contains_key(label)
        })
        .await;
    let copy = scene.copies::<ConfigMap>("member1").get("settings").await;
    assert!(copy.is_ok());
}

#[tokio::test]
async fn other_kinds_are_distributed_too() {
    let scene = scene("kinds").await;
    scene.apply(config_map("settings", "one")).await;
    scene
        .apply(json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web"},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
        }))
        .await;
    scene
        .apply(json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "once"},
            "spec": {"template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "once", "image": "busybox"}],
            }}},
        }))
        .await;
    let selectors = [
        selector("v1", "ConfigMap", "settings"),
        selector("v1", "Service", "web"),
        selector("batch/v1", "Job", "once"),
    ];
    scene
        .apply(policy("all", &selectors, to(&["member1", "member2"])))
        .await;
    for member in ["member1", "member2"] {
        scene
            .copy::<ConfigMap>(member, "settings", "it has its data", |copy| {
                let data = copy.data.as_ref();
                data.and_then(|data| data.get("key")).map(String::as_str) == Some("one")
            })
            .await;
        // Each member gives its own address; ours must not fight over it.
        scene
            .copy::<Service>(member, "web", "it has an address", |copy| {
                let spec = copy.spec.as_ref();
                spec.is_some_and(|spec| spec.cluster_ip.is_some())
            })
            .await;
    }
    scene
        .template::<Job>("once", "it succeeded in both", |job| {
            job.status.as_ref().and_then(|status| status.succeeded) == Some(2)
        })
        .await;
}

#[tokio::test]
async fn cluster_scoped_object_is_distributed_by_a_cluster_policy() {
    let scene = scene("scoped").await;
    let name = format!("{}-reader", scene.name());
    let roles: Api<ClusterRole> = Api::all(scene.plane());
    scene
        .apply(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        }))
        .await;
    scene
        .apply(json!({
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "ClusterPropagationPolicy",
            "metadata": {"name": name},
            "spec": {
                "resourceSelectors": [selector("rbac.authorization.k8s.io/v1", "ClusterRole", &name)],
                "placement": to(&["member2"]),
            },
        }))
        .await;
    let copies: Api<ClusterRole> = Api::all(scene.member("member2").client());
    wait::object(&copies, &name, "it exists", SOON, |_| true)
        .await
        .unwrap();
    roles.delete(&name, &DeleteParams::default()).await.unwrap();
    wait::gone(&copies, &name, SOON).await.unwrap();
    let policies: Api<crds::policy::ClusterPropagationPolicy> = Api::all(scene.plane());
    policies
        .delete(&name, &DeleteParams::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn namespace_exists_in_every_member_and_leaves_them_again() {
    let scene = scene("space").await;
    for member in ["member1", "member2", "member3"] {
        scene.namespace_in(member).await;
    }
    let name = scene.name().to_owned();
    let members = scene.world.bed.members();
    drop(scene);
    for member in members {
        let namespaces: Api<Namespace> = Api::all(member.client());
        wait::gone(&namespaces, &name, SOON).await.unwrap();
    }
}

/// The definition of a kind that nobody has heard of, and the permission to handle it: labels put the rules of such a role
/// into the roles of the operators, and of the account in a member.
fn widgets(group: &str, labels: &[&str]) -> [Value; 2] {
    let labels: serde_json::Map<_, _> = labels
        .iter()
        .map(|label| (format!("rbac.karmada.io/{label}"), json!("true")))
        .collect();
    [
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("widgets.{group}")},
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {"kind": "Widget", "plural": "widgets"},
                "versions": [{
                    "name": "v1",
                    "served": true,
                    "storage": true,
                    "schema": {"openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": true,
                    }},
                }],
            },
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": format!("widgets.{group}"), "labels": labels},
            "rules": [{
                "apiGroups": [group],
                "resources": ["widgets", "widgets/status"],
                "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
            }],
        }),
    ]
}

#[tokio::test]
async fn kind_that_was_defined_a_moment_ago_is_distributed() {
    let scene = scene("crd").await;
    let group = format!("{}.example", scene.name());
    let define = async |client: &Client, labels: &[&str]| {
        for document in widgets(&group, labels) {
            apply(client, scene.name(), document).await.unwrap();
        }
    };
    let plane = scene.plane();
    define(
        &plane,
        &[
            "aggregate-to-template-claims",
            "aggregate-to-template-status",
        ],
    )
    .await;
    let member = |name| scene.member(name).client();
    define(&member("member1"), &["aggregate-to-member"]).await;
    let widget = json!({
        "apiVersion": format!("{group}/v1"),
        "kind": "Widget",
        "metadata": {"name": "one"},
        "spec": {"anything": {"deep": [1, 2.5, null, "text"]}},
    });
    wait::until("the new kind to be served", SOON, async || {
        apply(&plane, scene.name(), widget.clone()).await
    })
    .await
    .unwrap();
    scene
        .apply(policy(
            "widgets",
            &[selector(&format!("{group}/v1"), "Widget", "one")],
            to(&["member1", "member2"]),
        ))
        .await;
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(&group, "v1", "Widget"));
    let copies: Api<DynamicObject> =
        Api::namespaced_with(member("member1"), scene.name(), &resource);
    let copy = wait::object(&copies, "one", "it exists", SOON, |_| true)
        .await
        .unwrap();
    assert_eq!(copy.data["spec"], widget["spec"], "it arrives whole");
    // member2 does not know the kind, and the binding does not name it.
    scene
        .binding("one-widget", "only member1 has it", |binding| {
            names(binding) == ["member1"]
        })
        .await;

    // Once member2 knows the kind, it gets its copy.
    define(&member("member2"), &["aggregate-to-member"]).await;
    scene
        .binding("one-widget", "member2 has it too", |binding| {
            names(binding) == ["member1", "member2"]
        })
        .await;
    let copies: Api<DynamicObject> =
        Api::namespaced_with(member("member2"), scene.name(), &resource);
    wait::object(&copies, "one", "it exists", SOON, |_| true)
        .await
        .unwrap();
}
