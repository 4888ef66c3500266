use serde_json::json;

use super::*;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn customization(name: &str, created: &str, rules: &Value) -> ResourceInterpreterCustomization {
    let rules: serde_json::Map<String, Value> = rules
        .as_object()
        .unwrap()
        .iter()
        .map(|(field, script)| (field.clone(), json!({ "luaScript": script })))
        .collect();
    serde_json::from_value(json!({
        "apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
        "metadata": {"name": name, "creationTimestamp": created},
        "spec": {
            "target": {"apiVersion": "example.io/v1", "kind": "Widget"},
            "customizations": rules,
        },
    }))
    .unwrap()
}

fn widgets(rules: &Value) -> Customizations {
    let read = Customizations::new([&customization("widgets", "2026-01-01T00:00:00Z", rules)]);
    assert!(read.problems().is_empty(), "{:?}", read.problems());
    read
}

fn widget() -> Value {
    json!({
        "apiVersion": "example.io/v1", "kind": "Widget",
        "metadata": {"name": "w", "namespace": "shop", "generation": 4, "annotations": {}},
        "spec": {"size": 3, "paused": false, "pods": {"spec": {"containers": [
            {"name": "a", "resources": {"requests": {"cpu": "500m"}}},
        ]}}},
        "status": {"ready": 2, "phase": "Running", "private": "x"},
    })
}

#[test]
fn every_question_is_answered_by_its_function() {
    let all = widgets(&json!({
        "replicaResource": "local kube = require('kube')
            function GetReplicas(o) return o.spec.size, kube.accuratePodRequirements(o.spec.pods) end",
        "componentResource": "function GetComponents(o) return {{name = 'a', replicas = o.spec.size}} end",
        "replicaRevision": "function ReviseReplica(o, n) o.spec.size = n return o end",
        "retention": "function Retain(d, o) d.spec.paused = o.spec.paused return d end",
        "statusAggregation": "function AggregateStatus(d, items)
            local ready = 0
            for i = 1, #items do if items[i].status ~= nil then ready = ready + items[i].status.ready end end
            d.status = {ready = ready} return d end",
        "statusReflection": "function ReflectStatus(o) return {ready = o.status.ready, generation = o.metadata.generation} end",
        "healthInterpretation": "function InterpretHealth(o) return o.status.ready >= o.spec.size end",
        "dependencyInterpretation": "function GetDependencies(o)
            return {{apiVersion = 'v1', kind = 'ConfigMap', namespace = o.metadata.namespace, name = 'c'}} end",
    }));
    let widget = widget();

    let replicas = all.replicas(&widget, NOW).unwrap().unwrap();
    assert_eq!(replicas.count, Some(3));
    assert_eq!(
        replicas.requirements.unwrap().resource_request["cpu"].0,
        "500m"
    );
    let components = all.components(&widget, NOW).unwrap().unwrap();
    assert_eq!(
        (components[0].name.as_str(), components[0].replicas),
        ("a", 3)
    );

    let mut expected = widget.clone();
    expected["spec"]["size"] = json!(2);
    assert_eq!(all.revise(&widget, 2, NOW).unwrap().unwrap(), expected);
    let mut live = widget.clone();
    live["spec"]["paused"] = json!(true);
    assert_eq!(all.retain(&widget, &live, NOW).unwrap().unwrap(), live);

    let items: Vec<AggregatedStatusItem> = serde_json::from_value(json!([
        {"clusterName": "a", "status": {"ready": 2}}, {"clusterName": "b", "status": {"ready": 1}},
        {"clusterName": "c"},
    ]))
    .unwrap();
    assert_eq!(
        all.aggregate(&widget, &items, NOW).unwrap().unwrap(),
        json!({"ready": 3})
    );
    assert_eq!(
        all.reflect(&widget, NOW).unwrap().unwrap(),
        json!({"ready": 2, "generation": 4})
    );
    assert!(!all.health(&widget, NOW).unwrap().unwrap());
    let needs = all.dependencies(&widget, NOW).unwrap().unwrap();
    assert_eq!(needs[0].name.as_deref(), Some("c"));

    let other = json!({"apiVersion": "example.io/v2", "kind": "Widget"});
    assert!(all.replicas(&other, NOW).is_none());
    assert!(all.health(&other, NOW).is_none());
}

#[test]
fn a_failure_names_customization_field_and_line() {
    let all = widgets(&json!({
        "healthInterpretation": "function InterpretHealth(o)\n  return o.status.conditions[1].type == 'Ready'\nend",
        "replicaResource": "function GetReplicas(o) return 'three' end",
        "statusReflection": "function GetStatus(o) return {} end",
    }));
    let words = |problem: Problem| problem.to_string();
    let health = words(all.health(&widget(), NOW).unwrap().unwrap_err());
    assert!(
        health.starts_with("ResourceInterpreterCustomization widgets, spec.customizations.healthInterpretation: line 2: attempt to index"),
        "{health}"
    );
    let replicas = words(all.replicas(&widget(), NOW).unwrap().unwrap_err());
    assert!(
        replicas
            .ends_with("GetReplicas has to return a number of replicas, not the text \"three\""),
        "{replicas}"
    );
    let status = words(all.reflect(&widget(), NOW).unwrap().unwrap_err());
    assert!(
        status.ends_with("there is no function ReflectStatus"),
        "{status}"
    );
}

#[test]
fn the_oldest_of_several_customizations_answers_and_the_others_are_told() {
    let yes = json!({"healthInterpretation": "function InterpretHealth() return true end"});
    let no = json!({
        "healthInterpretation": "function InterpretHealth() return false end",
        "retention": "function Retain(d) return d end",
    });
    let older = customization("z", "2026-01-01T00:00:00Z", &yes);
    let newer = customization("a", "2026-02-01T00:00:00Z", &no);
    for order in [[&older, &newer], [&newer, &older]] {
        let all = Customizations::new(order);
        assert!(all.health(&widget(), NOW).unwrap().unwrap());
        assert!(all.retain(&widget(), &widget(), NOW).is_some());
        let told: Vec<String> = all.problems().iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "ResourceInterpreterCustomization a, spec.customizations.healthInterpretation: not used: z is older and answers this for the same kind"
            ]
        );
    }
}

#[test]
fn dependencies_come_from_all_customizations_each_once() {
    let needs = |name: &str| {
        json!({"dependencyInterpretation": format!(
            "function GetDependencies() return {{{{apiVersion = 'v1', kind = 'Secret', name = '{name}'}}, {{apiVersion = 'v1', kind = 'Secret', name = 'both'}}}} end"
        )})
    };
    let all = Customizations::new([
        &customization("a", "2026-01-01T00:00:00Z", &needs("one")),
        &customization("b", "2026-02-01T00:00:00Z", &needs("two")),
    ]);
    assert!(all.problems().is_empty());
    let found = all.dependencies(&widget(), NOW).unwrap().unwrap();
    let names: Vec<_> = found.iter().filter_map(|d| d.name.as_deref()).collect();
    assert_eq!(names, ["one", "both", "two"]);
}

#[test]
fn a_script_that_cannot_be_read_gives_way_to_one_that_can() {
    let bad = customization(
        "bad",
        "2026-01-01T00:00:00Z",
        &json!({"healthInterpretation": "function ("}),
    );
    let good = json!({"healthInterpretation": "function InterpretHealth() return true end"});
    let good = customization("good", "2026-02-01T00:00:00Z", &good);
    let all = Customizations::new([&bad, &good]);
    assert!(all.health(&widget(), NOW).unwrap().unwrap());
    assert_eq!(all.problems().len(), 1);
    assert_eq!(all.problems()[0].customization, "bad");
}

#[test]
fn a_script_that_cannot_be_read_is_not_replaced_by_a_rule_that_would_be_wrong() {
    let bad = json!({"replicaResource": "function (", "dependencyInterpretation": "("});
    let bad = customization("bad", "2026-01-01T00:00:00Z", &bad);
    let all = Customizations::new([&bad]);
    let replicas = all.replicas(&widget(), NOW).unwrap().unwrap_err();
    assert_eq!(replicas.operation, Operation::Replicas);
    assert_eq!(replicas, all.problems()[0]);
    assert!(all.dependencies(&widget(), NOW).unwrap().is_err());
    assert!(all.answer("example.io/v1", "Widget", Operation::Replicas));
}
