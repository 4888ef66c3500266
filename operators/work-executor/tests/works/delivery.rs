//! Templates reach members, and stay there as they are wanted.

use crds::annotations::{WORK_NAME, WORK_NAMESPACE};
use crds::{conditions, labels};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::scene::{MEMBERS, complains, config_map, create, deployment, scene, value};

#[tokio::test]
async fn template_reaches_every_target_and_its_binding_says_so() {
    let scene = scene("reach").await;
    let before = scene.bed.control_plane().requests().await.unwrap();
    let template = scene.create(config_map("settings", "one")).await;
    let name = scene
        .bind(&template, &MEMBERS.map(|member| (member, None)), |_| {})
        .await;
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
        .writes();
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
    let template = scene.create(config_map("settings", "one")).await;
    let name = scene.bind(&template, &[("member1", None)], |_| {}).await;
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
async fn object_of_somebody_else_is_left_alone_until_overwrite_is_asked_for() {
    let scene = scene("theirs").await;
    let mut theirs = config_map("settings", "theirs");
    theirs["metadata"]["namespace"] = json!(scene.namespace);
    let untouched = create(&scene.member("member1"), &scene.namespace, theirs).await;
    let template = scene.create(config_map("settings", "ours")).await;
    let name = scene
        .bind(&template, &MEMBERS.map(|member| (member, None)), |_| {})
        .await;
    scene
        .copy(
            "member2",
            "v1",
            "ConfigMap",
            "settings",
            "the other is ours",
            |copy| value(copy) == Some("ours"),
        )
        .await;
    scene
        .binding(&name, "it names what is in the way", |binding| {
            complains(binding, &["member1", "settings", "Overwrite"])
        })
        .await;
    let copy = scene
        .copies("member1", "v1", "ConfigMap")
        .get("settings")
        .await
        .unwrap();
    assert_eq!(copy.resource_version(), untouched.resource_version());

    scene
        .rebind(&name, json!({"spec": {"conflictResolution": "Overwrite"}}))
        .await;
    scene
        .copy(
            "member1",
            "v1",
            "ConfigMap",
            "settings",
            "it is ours",
            |copy| value(copy) == Some("ours") && copy.uid() == untouched.uid(),
        )
        .await;
    scene.fully_applied(&name).await;
}

#[tokio::test]
async fn refusal_of_a_member_is_told_in_its_own_words_and_heals() {
    let scene = scene("refused").await;
    let mut bad = deployment("web", 1);
    bad["spec"]["template"]["spec"]["priorityClassName"] = json!("");
    let template = scene.create(bad).await;
    // The member has a quota-like refusal of its own: the namespace is on its way out.
    let missing = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": format!("no-web-{}", scene.namespace)},
    "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": scene.namespace}},
            "resourceRules": [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}],
        },
        "validations": [{"expression": "false", "message": "no workloads on Fridays"}],
    }});
    let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": format!("no-web-{}", scene.namespace)},
        "spec": {"policyName": format!("no-web-{}", scene.namespace), "validationActions": ["Deny"]}});
    create(&scene.member("member1"), "", missing).await;
    create(&scene.member("member1"), "", binding).await;
    // It takes the member a moment to enforce it.
    let probe = scene.copies("member1", "apps/v1", "Deployment");
    testbed::wait::until("the member to refuse", crate::scene::SOON, async || {
        let mut object: kube::api::DynamicObject =
            serde_json::from_value(deployment("probe", 1)).unwrap();
        object.metadata.namespace = Some(scene.namespace.clone());
        let dry_run = kube::api::PostParams {
            dry_run: true,
            ..Default::default()
        };
        match probe.create(&dry_run, &object).await {
            Ok(_) => Err("accepted"),
            Err(_) => Ok(()),
        }
    })
    .await
    .unwrap();
    let name = scene
        .bind(
            &template,
            &[("member1", Some(1)), ("member2", Some(1))],
            |_| {},
        )
        .await;
    scene
        .binding(&name, "it repeats what the member said", |binding| {
            complains(
                binding,
                &[
                    "member1",
                    "Deployment",
                    "no workloads on Fridays",
                    "HTTP 422",
                ],
            )
        })
        .await;
    scene
        .copy(
            "member2",
            "apps/v1",
            "Deployment",
            "web",
            "the other has it",
            |_| true,
        )
        .await;
    let policies = kube::core::ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingAdmissionPolicyBinding",
    ));
    kube::Api::<kube::api::DynamicObject>::all_with(scene.member("member1"), &policies)
        .delete(
            &format!("no-web-{}", scene.namespace),
            &DeleteParams::default(),
        )
        .await
        .unwrap();
    scene.fully_applied(&name).await;
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
async fn template_tells_which_of_two_override_policies_has_the_last_word() {
    let scene = scene("last-word").await;
    for (policy, value) in [("first", "a"), ("second", "b")] {
        scene
            .create(json!({
                "apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy",
                "metadata": {"name": policy},
                "spec": {
                    "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}],
                    "overrideRules": [{"overriders": {
                        "plaintext": [{"path": "/data/key", "operator": "replace", "value": value}],
                    }}],
                },
            }))
            .await;
    }
    let template = scene.create(config_map("settings", "one")).await;
    scene.bind(&template, &[("member1", None)], |_| {}).await;
    scene
        .copy(
            "member1",
            "v1",
            "ConfigMap",
            "settings",
            "the second has won",
            |copy| copy.data["data"]["key"] == json!("b"),
        )
        .await;
    let events = scene.api("v1", "Event");
    testbed::wait::until("an event that tells it", crate::scene::SOON, async || {
        let events = events
            .list(&kube::api::ListParams::default())
            .await
            .map_err(|error| error.to_string())?;
        let notes: Vec<&str> = events
            .items
            .iter()
            .filter_map(|event| event.data["message"].as_str())
            .collect();
        let said = notes.iter().any(|note| {
            [
                "/data/key",
                "second, rule 1 wins over",
                "first, rule 1",
                "(in member1)",
            ]
            .iter()
            .all(|part| note.contains(part))
        });
        if said {
            Ok(())
        } else {
            Err(format!("{notes:?}"))
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn override_that_cannot_be_applied_blocks_its_cluster_alone_until_it_is_put_right() {
    let scene = scene("override").await;
    let policy = json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy",
        "metadata": {"name": "differ"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}],
            "overrideRules": [{
                "targetCluster": {"clusterNames": ["member1"]},
                "overriders": {"plaintext": [{"path": "/data/absent", "operator": "replace", "value": "x"}]},
            }],
        },
    });
    scene.create(policy).await;
    let template = scene.create(config_map("settings", "one")).await;
    let name = scene
        .bind(&template, &MEMBERS.map(|member| (member, None)), |_| {})
        .await;
    scene
        .copy(
            "member2",
            "v1",
            "ConfigMap",
            "settings",
            "it is there",
            |_| true,
        )
        .await;
    scene
        .binding(
            &name,
            "it names cluster, policy, rule and path",
            |binding| complains(binding, &["member1", "differ", "rule 1", "/data/absent"]),
        )
        .await;
    let events = scene.api("v1", "Event");
    testbed::wait::until("one event that tells it", crate::scene::SOON, async || {
        let events = events
            .list(&kube::api::ListParams::default())
            .await
            .map_err(|error| error.to_string())?;
        let told = events
            .items
            .iter()
            .filter(|event| event.data["reason"] == json!("ApplyOverridePolicyFailed"))
            .count();
        if told == 1 {
            Ok(())
        } else {
            Err(format!("{told} events"))
        }
    })
    .await
    .unwrap();
    let right = json!({"spec": {"overrideRules": [{
        "targetCluster": {"clusterNames": ["member1"]},
        "overriders": {"plaintext": [{"path": "/data/key", "operator": "replace", "value": "x"}]},
    }]}});
    scene
        .api("policy.karmada.io/v1alpha1", "OverridePolicy")
        .patch("differ", &PatchParams::default(), &Patch::Merge(right))
        .await
        .unwrap();
    scene
        .copy(
            "member1",
            "v1",
            "ConfigMap",
            "settings",
            "it differs",
            |copy| value(copy) == Some("x"),
        )
        .await;
    scene.fully_applied(&name).await;
}

#[tokio::test]
async fn kind_that_a_member_lacks_is_named_and_follows_when_it_appears() {
    let scene = scene("kind").await;
    let plural = format!("things{}", scene.namespace.replace('-', ""));
    let kind = format!("Thing{}", scene.namespace.replace('-', ""));
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.io")},
        "spec": {
            "group": "example.io", "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    });
    create(&scene.plane(), "", definition.clone()).await;
    let group = kube::core::GroupVersionKind::gvk("example.io", "v1", &kind);
    let resource = kube::core::ApiResource::from_gvk_with_plural(&group, &plural);
    let thing: kube::api::DynamicObject = serde_json::from_value(
        json!({"apiVersion": "example.io/v1", "kind": kind, "metadata": {"name": "one"}, "spec": {"size": 3}}),
    )
    .unwrap();
    let things: kube::Api<kube::api::DynamicObject> =
        kube::Api::namespaced_with(scene.plane(), &scene.namespace, &resource);
    let template = testbed::wait::until("the kind to be served", crate::scene::SOON, async || {
        things
            .create(&kube::api::PostParams::default(), &thing)
            .await
    })
    .await
    .unwrap();
    let name = scene.bind(&template, &[("member1", None)], |_| {}).await;
    scene
        .binding(&name, "it names the kind", |binding| {
            complains(binding, &["member1", "does not serve", &kind])
        })
        .await;
    create(&scene.member("member1"), "", definition).await;
    scene.fully_applied(&name).await;
    let copies: kube::Api<kube::api::DynamicObject> =
        kube::Api::namespaced_with(scene.member("member1"), &scene.namespace, &resource);
    assert_eq!(
        copies.get("one").await.unwrap().data["spec"]["size"],
        json!(3)
    );
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
