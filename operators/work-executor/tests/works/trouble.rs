//! What a member will not take is told, holds up nobody else, and heals.

use kube::ResourceExt as _;
use kube::api::DeleteParams;
use serde_json::json;

use crate::scene::{MEMBERS, complains, config_map, create, deployment, scene, value};

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
