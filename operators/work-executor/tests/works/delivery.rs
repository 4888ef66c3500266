//! Templates reach members, and stay there as they are wanted.

use crds::annotations::{WORK_NAME, WORK_NAMESPACE};
use crds::{conditions, labels};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::scene::{MEMBERS, config_map, create, deployment, scene, value};

#[tokio::test]
async fn template_reaches_every_target_and_its_binding_says_so() {
    let scene = scene("reach").await;
    let before = scene.bed.control_plane().requests().await.unwrap();
    let name = scene.bind_settings(&MEMBERS).await;
    for member in MEMBERS {
        let copy = scene
            .copy(member, "v1", "ConfigMap", "settings", "it exists", |_| true)
            .await;
        assert_eq!(value(&copy), Some("one"));
        assert_eq!(copy.labels()[labels::MANAGED], labels::TRUE);
        let work = scene.work_name("ConfigMap", "settings");
        assert_eq!(copy.annotations()[WORK_NAME], work);
        assert_eq!(
            copy.annotations()[WORK_NAMESPACE],
            format!("karmada-es-{member}")
        );
    }
    let binding = scene.fully_applied(&name).await;
    let status = binding.status.unwrap();
    let seen: Vec<_> = status
        .aggregated_status
        .iter()
        .map(|item| (item.cluster_name.as_str(), item.applied))
        .collect();
    assert_eq!(seen, [("member1", Some(true)), ("member2", Some(true))]);

    // Two were the test's own: template and binding.
    let writes = scene
        .bed
        .control_plane()
        .requests()
        .await
        .unwrap()
        .since(&before)
        .writes()
        .without("leases");
    println!("one ConfigMap to two members, with the test's own two POSTs:\n{writes}");
    assert!(writes.total() <= 2 + 2 + 2 + 1 + 1, "{writes}");
}

#[tokio::test]
async fn each_copy_has_the_replicas_of_its_cluster_and_follows_the_binding() {
    let scene = scene("replicas").await;
    let template = scene.create(deployment("web", 3)).await;
    let clusters = [("member1", Some(1)), ("member2", Some(2))];
    let name = scene
        .bind(&template, &clusters, |spec| spec.replicas = Some(3))
        .await;
    for (member, replicas) in clusters {
        scene
            .copy(
                member,
                "apps/v1",
                "Deployment",
                "web",
                "it has its share",
                |copy| copy.data["spec"]["replicas"] == json!(replicas),
            )
            .await;
    }
    scene
        .rebind(
            &name,
            json!({"spec": {"clusters": [{"name": "member1", "replicas": 3}, {"name": "member2", "replicas": 0}]}}),
        )
        .await;
    scene
        .copy(
            "member1",
            "apps/v1",
            "Deployment",
            "web",
            "it has all",
            |copy| copy.data["spec"]["replicas"] == json!(3),
        )
        .await;
}

#[tokio::test]
async fn drift_is_put_right_and_what_others_add_stays() {
    let scene = scene("drift").await;
    let template = scene.create(deployment("web", 2)).await;
    let name = scene.bind(&template, &[("member1", Some(2))], |_| {}).await;
    scene.fully_applied(&name).await;
    let copies = scene.copies("member1", "apps/v1", "Deployment");
    let patch = json!({
        "metadata": {"labels": {"theirs": "stays"}},
        "spec": {"replicas": 7, "minReadySeconds": 3},
    });
    copies
        .patch("web", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    let copy = scene
        .copy(
            "member1",
            "apps/v1",
            "Deployment",
            "web",
            "it has 2 replicas again",
            |copy| copy.data["spec"]["replicas"] == json!(2) && copy.metadata.generation > Some(2),
        )
        .await;
    assert_eq!(copy.labels()["theirs"], "stays");
    assert_eq!(copy.data["spec"]["minReadySeconds"], json!(3));
}

#[tokio::test]
async fn deleted_copy_is_made_again() {
    let scene = scene("again").await;
    let name = scene.bind_settings(&["member1"]).await;
    scene.fully_applied(&name).await;
    let before = scene
        .copy(
            "member1",
            "v1",
            "ConfigMap",
            "settings",
            "it exists",
            |_| true,
        )
        .await;
    scene
        .copies("member1", "v1", "ConfigMap")
        .delete("settings", &DeleteParams::default())
        .await
        .unwrap();
    scene
        .copy(
            "member1",
            "v1",
            "ConfigMap",
            "settings",
            "it is another one",
            |copy| copy.uid() != before.uid(),
        )
        .await;
}

#[tokio::test]
async fn field_that_leaves_the_template_leaves_the_copy() {
    let scene = scene("fields").await;
    let mut map = config_map("settings", "one");
    map["metadata"]["labels"] = json!({"ours": "x", "kept": "y"});
    map["data"]["second"] = json!("two");
    let template = scene.create(map).await;
    let name = scene.bind(&template, &[("member1", None)], |_| {}).await;
    scene.fully_applied(&name).await;
    scene
        .copies("member1", "v1", "ConfigMap")
        .patch(
            "settings",
            &PatchParams::default(),
            &Patch::Merge(json!({"metadata": {"labels": {"theirs": "stays"}}})),
        )
        .await
        .unwrap();
    // Twice: the first change of an object is special.
    for (gone, patch) in [
        (
            "ours",
            json!({"metadata": {"labels": {"ours": null}}, "data": {"second": null}}),
        ),
        ("kept", json!({"metadata": {"labels": {"kept": null}}})),
    ] {
        scene
            .api("v1", "ConfigMap")
            .patch("settings", &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
        let copy = scene
            .copy(
                "member1",
                "v1",
                "ConfigMap",
                "settings",
                "the label is gone",
                |copy| !copy.labels().contains_key(gone),
            )
            .await;
        assert_eq!(copy.labels()["theirs"], "stays");
        assert!(copy.data["data"].get("second").is_none(), "{:?}", copy.data);
    }
}

#[tokio::test]
async fn suspended_binding_sends_nothing_until_it_is_resumed() {
    let scene = scene("paused").await;
    let template = scene.create(config_map("settings", "one")).await;
    let name = scene
        .bind(&template, &[("member1", None)], |spec| {
            spec.suspension = Some(crds::work::BindingSuspension {
                dispatching: Some(true),
                ..Default::default()
            });
        })
        .await;
    let work = scene.work_name("ConfigMap", "settings");
    scene
        .work("member1", &work, "it says that it is held back", |work| {
            work.status.as_ref().is_some_and(|status| {
                kit::conditions::get(&status.conditions, conditions::DISPATCHING)
                    .is_some_and(|c| c.reason == conditions::SUSPEND_DISPATCHING)
            })
        })
        .await;
    let copy = scene
        .copies("member1", "v1", "ConfigMap")
        .get_opt("settings")
        .await
        .unwrap();
    assert!(copy.is_none());
    scene
        .rebind(&name, json!({"spec": {"suspension": null}}))
        .await;
    scene.fully_applied(&name).await;
}

#[tokio::test]
async fn replicas_that_belong_to_the_member_stay_through_changes_of_everything_else() {
    let scene = scene("scaled").await;
    let mut web = deployment("web", 2);
    web["metadata"]["labels"] = json!({labels::RETAIN_REPLICAS: labels::TRUE});
    let template = scene.create(web).await;
    let name = scene.bind(&template, &[("member1", Some(2))], |_| {}).await;
    scene.fully_applied(&name).await;
    scene
        .copies("member1", "apps/v1", "Deployment")
        .patch(
            "web",
            &PatchParams::default(),
            &Patch::Merge(json!({"spec": {"replicas": 5}})),
        )
        .await
        .unwrap();
    for image in ["nginx:1", "nginx:2"] {
        scene
            .api("apps/v1", "Deployment")
            .patch(
                "web",
                &PatchParams::default(),
                &Patch::Json::<()>(
                    serde_json::from_value(json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image}]))
                        .unwrap(),
                ),
            )
            .await
            .unwrap();
        let copy = scene
            .copy(
                "member1",
                "apps/v1",
                "Deployment",
                "web",
                "it has the image",
                |copy| {
                    copy.data["spec"]["template"]["spec"]["containers"][0]["image"] == json!(image)
                },
            )
            .await;
        assert_eq!(copy.data["spec"]["replicas"], json!(5));
    }
}

#[tokio::test]
async fn object_without_namespace_is_bound_the_same_way() {
    let scene = scene("cluster").await;
    let name = format!("reader-{}", scene.namespace);
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    });
    let template = create(&scene.plane(), "", role).await;
    let mut binding = crds::work::ClusterResourceBinding::new(
        &crds::names::binding(&name, "ClusterRole"),
        crds::work::ResourceBindingSpec {
            resource: crds::work::ObjectReference {
                api_version: "rbac.authorization.k8s.io/v1".to_owned(),
                kind: "ClusterRole".to_owned(),
                name: name.clone(),
                uid: template.uid(),
                ..Default::default()
            },
            clusters: crate::scene::targets(&[("member1", None)]),
            placement: Some(crds::policy::Placement::default()),
            ..Default::default()
        },
    );
    binding.metadata.finalizers = Some(vec![crds::finalizers::CLUSTER_RESOURCE_BINDING.to_owned()]);
    binding.metadata.labels = Some(
        [
            (labels::CLUSTER_RESOURCE_BINDING_PERMANENT_ID, "an-id"),
            (labels::CLUSTER_PROPAGATION_POLICY_PERMANENT_ID, "an-id"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into(),
    );
    let bindings: kube::Api<crds::work::ClusterResourceBinding> = kube::Api::all(scene.plane());
    let binding = bindings
        .create(&kube::api::PostParams::default(), &binding)
        .await
        .unwrap();
    testbed::wait::object(
        &bindings,
        &binding.name_any(),
        "it is fully applied",
        crate::scene::SOON,
        |binding| {
            crate::scene::condition(binding.status.as_ref())
                .is_some_and(|c| c.status == conditions::TRUE)
        },
    )
    .await
    .unwrap();
    scene
        .present(
            "member1",
            "rbac.authorization.k8s.io/v1",
            "ClusterRole",
            "",
            &name,
        )
        .await;
    bindings
        .delete(&binding.name_any(), &DeleteParams::default())
        .await
        .unwrap();
    testbed::wait::gone(&bindings, &binding.name_any(), crate::scene::SOON)
        .await
        .unwrap();
}
