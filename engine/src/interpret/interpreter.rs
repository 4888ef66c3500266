//! What kinds mean: users' customizations first, then the rules that are built in.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::config::ResourceInterpreterCustomization;
use crds::work::{AggregatedStatusItem, Component, ResourceHealth};
use jiff::Timestamp;
use serde_json::Value;

use super::custom::{Customizations, Operation, Problem};
use super::{Dependency, Replicas, text};
use crate::snapshot::Name;

/// Answers what an object means.
///
/// An error is a script's: what the built-in rules would say instead is not asked, because the author of the script knows that they are wrong.
#[derive(Debug, Default)]
pub struct Interpreter {
    custom: Customizations,
}

impl Interpreter {
    /// What is wrong with the customizations, found without running them.
    pub fn problems(&self) -> &[Problem] {
        self.custom.problems()
    }

    /// Whether replicas, parts or references of a kind are found by looking into its objects.
    pub fn looks_into(&self, api_version: &str, kind: &str) -> bool {
        super::has_replicas(api_version, kind)
            || super::has_dependencies(api_version, kind)
            || [
                Operation::Replicas,
                Operation::Components,
                Operation::Dependencies,
            ]
            .into_iter()
            .any(|operation| self.custom.answer(api_version, kind, operation))
    }

    /// The replicas of a template.
    ///
    /// # Errors
    ///
    /// If a script fails.
    pub fn replicas(&self, template: &Value, now: Timestamp) -> Result<Replicas, Problem> {
        self.custom.replicas(template, now).unwrap_or_else(|| {
            Ok(super::replicas(
                text(template, "/apiVersion"),
                text(template, "/kind"),
                template,
                text(template, "/metadata/namespace"),
            ))
        })
    }

    /// The parts of a template; none for a kind that nobody has described as having several.
    ///
    /// # Errors
    ///
    /// If a script fails.
    pub fn components(&self, template: &Value, now: Timestamp) -> Result<Vec<Component>, Problem> {
        self.custom
            .components(template, now)
            .unwrap_or(Ok(Vec::new()))
    }

    /// Puts a cluster's share of the replicas into its copy; a kind without replicas stays as it is.
    ///
    /// # Errors
    ///
    /// If a script fails; the copy is as it was.
    pub fn revise(
        &self,
        manifest: &mut Value,
        replicas: i32,
        now: Timestamp,
    ) -> Result<(), Problem> {
        match self.custom.revise(manifest, replicas, now) {
            Some(revised) => replace(manifest, revised?),
            None => super::revise(manifest, replicas),
        }
        Ok(())
    }

    /// Whether [`Interpreter::retain`] may have something to say, so that the live object has to be read before it is changed.
    pub fn retains(&self, manifest: &Value) -> bool {
        self.retains_by_script(manifest) || super::retains(manifest)
    }

    /// Whether a script says what of the live object stays.
    pub fn retains_by_script(&self, manifest: &Value) -> bool {
        let (api_version, kind) = (text(manifest, "/apiVersion"), text(manifest, "/kind"));
        self.custom.answer(api_version, kind, Operation::Retention)
    }

    /// Adapts what is about to be sent to what is there.
    ///
    /// # Errors
    ///
    /// If a script fails; the manifest is as it was.
    pub fn retain(
        &self,
        manifest: &mut Value,
        live: &Value,
        now: Timestamp,
    ) -> Result<(), Problem> {
        match self.custom.retain(manifest, live, now) {
            Some(retained) => replace(manifest, retained?),
            None => super::retain(manifest, live),
        }
        Ok(())
    }

    /// What of a copy's status counts; `None` for an object without status.
    ///
    /// # Errors
    ///
    /// If a script fails.
    pub fn reflect(&self, live: &Value, now: Timestamp) -> Result<Option<Value>, Problem> {
        match self.custom.reflect(live, now) {
            Some(status) => status.map(Some),
            None => Ok(super::reflect(live)),
        }
    }

    /// Whether a copy is healthy.
    ///
    /// # Errors
    ///
    /// If a script fails: nobody knows.
    pub fn health(&self, live: &Value, now: Timestamp) -> Result<ResourceHealth, Problem> {
        match self.custom.health(live, now) {
            Some(healthy) => healthy.map(|healthy| {
                if healthy {
                    ResourceHealth::Healthy
                } else {
                    ResourceHealth::Unhealthy
                }
            }),
            None => Ok(super::health(live)),
        }
    }

    /// The status of a template according to a script; `None` if none is for that.
    ///
    /// # Errors
    ///
    /// If the script fails.
    pub fn aggregate(
        &self,
        template: &Value,
        items: &[AggregatedStatusItem],
        now: Timestamp,
    ) -> Option<Result<Value, Problem>> {
        self.custom.aggregate(template, items, now)
    }

    /// What a template refers to.
    ///
    /// # Errors
    ///
    /// If a script fails.
    pub fn dependencies(
        &self,
        template: &Value,
        now: Timestamp,
    ) -> Result<Vec<Dependency>, Problem> {
        self.custom
            .dependencies(template, now)
            .unwrap_or_else(|| Ok(super::dependencies(template)))
    }
}

/// Takes a script's version of a manifest, except for what says which object it is and what only a server may write.
fn replace(manifest: &mut Value, mut new: Value) {
    for field in [
        "/apiVersion",
        "/kind",
        "/metadata/name",
        "/metadata/namespace",
    ] {
        let (parent, name) = field.rsplit_once('/').unwrap_or_default();
        let Some(fields) = new.pointer_mut(parent).and_then(Value::as_object_mut) else {
            continue;
        };
        match manifest.pointer(field) {
            Some(value) => fields.insert(name.to_owned(), value.clone()),
            None => fields.remove(name),
        };
    }
    if let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in [
            "managedFields",
            "resourceVersion",
            "uid",
            "generation",
            "creationTimestamp",
        ] {
            metadata.remove(field);
        }
    }
    *manifest = new;
}

/// The customizations as they come and go, and the interpreter made of them.
#[derive(Debug, Default)]
pub struct Library {
    all: BTreeMap<Name, Arc<ResourceInterpreterCustomization>>,
    made: Option<Arc<Interpreter>>,
}

impl Library {
    /// A customization is there or has changed; `None` if it is gone. Returns the kinds, as apiVersion and kind, that mean something else now.
    pub fn put(
        &mut self,
        name: &str,
        new: Option<&Arc<ResourceInterpreterCustomization>>,
    ) -> BTreeSet<(String, String)> {
        let old = match new {
            Some(new) => self.all.insert(name.into(), Arc::clone(new)),
            None => self.all.remove(name),
        };
        if let (Some(old), Some(new)) = (&old, new)
            && old.spec == new.spec
        {
            return BTreeSet::new();
        }
        self.made = None;
        old.iter()
            .chain(new)
            .map(|customization| &customization.spec.target)
            .map(|target| (target.api_version.clone(), target.kind.clone()))
            .collect()
    }

    /// A customization.
    pub fn get(&self, name: &str) -> Option<&Arc<ResourceInterpreterCustomization>> {
        self.all.get(name)
    }

    /// The interpreter of what is there now.
    pub fn interpreter(&mut self) -> Arc<Interpreter> {
        let all = &self.all;
        Arc::clone(self.made.get_or_insert_with(|| {
            Arc::new(Interpreter {
                custom: Customizations::new(all.values().map(|customization| &**customization)),
            })
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn healthy(name: &str, kind: &str, verdict: bool) -> Arc<ResourceInterpreterCustomization> {
        Arc::new(
            serde_json::from_value(json!({
                "metadata": {"name": name},
                "spec": {
                    "target": {"apiVersion": "apps/v1", "kind": kind},
                    "customizations": {"healthInterpretation": {
                        "luaScript": format!("function InterpretHealth() return {verdict} end"),
                    }},
                },
            }))
            .unwrap(),
        )
    }

    #[test]
    fn a_script_comes_before_the_built_in_rule_and_leaves_the_other_rules() {
        let mut library = Library::default();
        let live = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 2}});
        let health = |library: &mut Library| {
            library
                .interpreter()
                .health(&live, Timestamp::UNIX_EPOCH)
                .unwrap()
        };
        assert_eq!(health(&mut library), ResourceHealth::Unhealthy);
        let deployments = [("apps/v1".to_owned(), "Deployment".to_owned())].into();
        let changed = library.put("a", Some(&healthy("a", "Deployment", true)));
        assert_eq!(changed, deployments);
        assert_eq!(health(&mut library), ResourceHealth::Healthy);
        let replicas = library.interpreter().replicas(&live, Timestamp::UNIX_EPOCH);
        assert_eq!(replicas.unwrap().count, Some(2));
        assert_eq!(library.put("a", None), deployments);
        assert_eq!(health(&mut library), ResourceHealth::Unhealthy);
    }

    #[test]
    fn a_script_cannot_make_another_object_of_it() {
        let mut library = Library::default();
        let customization = json!({
            "metadata": {"name": "a"},
            "spec": {
                "target": {"apiVersion": "apps/v1", "kind": "Deployment"},
                "customizations": {"retention": {"luaScript": "function Retain(d, o) o.spec.size = d.spec.size return o end"}},
            },
        });
        let customization = Arc::new(serde_json::from_value(customization).unwrap());
        library.put("a", Some(&customization));
        let mut manifest = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"size": 1},
        });
        let live = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "other", "namespace": "x", "uid": "u", "resourceVersion": "9", "labels": {"a": "b"}},
            "spec": {"size": 2, "theirs": true},
        });
        let interpreter = library.interpreter();
        interpreter
            .retain(&mut manifest, &live, Timestamp::UNIX_EPOCH)
            .unwrap();
        assert_eq!(
            manifest,
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "web", "labels": {"a": "b"}}, "spec": {"size": 1, "theirs": true},
            })
        );
    }

    #[test]
    fn what_changes_concerns_the_former_kind_and_the_new_one() {
        let mut library = Library::default();
        library.put("a", Some(&healthy("a", "Deployment", true)));
        assert!(
            library
                .put("a", Some(&healthy("a", "Deployment", true)))
                .is_empty()
        );
        let kinds: Vec<String> = library
            .put("a", Some(&healthy("a", "DaemonSet", true)))
            .into_iter()
            .map(|(_, kind)| kind)
            .collect();
        assert_eq!(kinds, ["DaemonSet", "Deployment"]);
    }
}
