//! What users' customizations say about their kinds: which script answers which question, and what it answered.
//!
//! A kind may have several customizations; each question goes to the oldest one that has a script for it, and the others are told. Only
//! dependencies come from all of them.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use crds::config::{CustomizationRules, LuaScript, ResourceInterpreterCustomization};
use crds::work::{AggregatedStatusItem, Component, ReplicaRequirements};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::lua::{Script, ScriptError, Vm};
use super::{Dependency, Replicas};
use crate::snapshot::Name;

/// A question about an object that a script can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// How many replicas it wants, and what one needs.
    Replicas,
    /// Its parts, if it has several pod templates.
    Components,
    /// The copy with a cluster's share of the replicas.
    Revision,
    /// The copy with what the member's own controllers wrote.
    Retention,
    /// The template with the statuses of all copies in its own.
    Aggregation,
    /// What of a copy's status is reported.
    Reflection,
    /// Whether a copy is healthy.
    Health,
    /// What it refers to.
    Dependencies,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Replicas,
        Self::Components,
        Self::Revision,
        Self::Retention,
        Self::Aggregation,
        Self::Reflection,
        Self::Health,
        Self::Dependencies,
    ];

    /// The name of the script's function.
    pub fn function(self) -> &'static str {
        match self {
            Self::Replicas => "GetReplicas",
            Self::Components => "GetComponents",
            Self::Revision => "ReviseReplica",
            Self::Retention => "Retain",
            Self::Aggregation => "AggregateStatus",
            Self::Reflection => "ReflectStatus",
            Self::Health => "InterpretHealth",
            Self::Dependencies => "GetDependencies",
        }
    }

    /// The field of `spec.customizations` that holds the script.
    pub fn field(self) -> &'static str {
        match self {
            Self::Replicas => "replicaResource",
            Self::Components => "componentResource",
            Self::Revision => "replicaRevision",
            Self::Retention => "retention",
            Self::Aggregation => "statusAggregation",
            Self::Reflection => "statusReflection",
            Self::Health => "healthInterpretation",
            Self::Dependencies => "dependencyInterpretation",
        }
    }

    /// The script in these rules.
    pub fn of(self, rules: &CustomizationRules) -> Option<&LuaScript> {
        match self {
            Self::Replicas => &rules.replica_resource,
            Self::Components => &rules.component_resource,
            Self::Revision => &rules.replica_revision,
            Self::Retention => &rules.retention,
            Self::Aggregation => &rules.status_aggregation,
            Self::Reflection => &rules.status_reflection,
            Self::Health => &rules.health_interpretation,
            Self::Dependencies => &rules.dependency_interpretation,
        }
        .as_ref()
    }
}

/// What is wrong with a customization.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ResourceInterpreterCustomization {customization}, spec.customizations.{}: {fault}", .operation.field())]
pub struct Problem {
    /// Its name.
    pub customization: Name,
    /// The script.
    pub operation: Operation,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is not used, because an older customization of the kind has one, too.
    #[error("not used: {by} is older and answers this for the same kind")]
    Shadowed {
        /// The older one.
        by: Name,
    },
    /// It failed, or cannot be read.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

struct Rule {
    customization: Name,
    /// A script that cannot be read fails whenever it is asked: the built-in rules would give a wrong answer in silence.
    script: Result<Script, ScriptError>,
}

type Rules = BTreeMap<Operation, Vec<Rule>>;

/// The customizations there are, ready to answer.
#[derive(Default)]
pub struct Customizations {
    vm: Vm,
    /// By apiVersion and kind.
    kinds: BTreeMap<(String, String), Rules>,
    problems: Vec<Problem>,
}

impl fmt::Debug for Customizations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Customizations")
            .field("kinds", &self.kinds.keys())
            .field("problems", &self.problems)
            .finish_non_exhaustive()
    }
}

impl Customizations {
    /// Reads customizations; what cannot be read is among the [`Customizations::problems`].
    pub fn new<'a>(all: impl IntoIterator<Item = &'a ResourceInterpreterCustomization>) -> Self {
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_by(|a, b| by_age(a, b));
        let mut read = Self::default();
        for customization in all {
            read.add(customization);
        }
        read
    }

    fn add(&mut self, customization: &ResourceInterpreterCustomization) {
        let name = Name::from(customization.metadata.name.as_deref().unwrap_or_default());
        let target = &customization.spec.target;
        let kind = (target.api_version.clone(), target.kind.clone());
        for operation in Operation::ALL {
            let Some(source) = operation.of(&customization.spec.customizations) else {
                continue;
            };
            let rules = self.kinds.entry(kind.clone()).or_default();
            let rules = rules.entry(operation).or_default();
            let script = self.vm.read(&source.lua_script);
            let older = rules.iter().find(|rule| rule.script.is_ok());
            let fault = match (&script, older) {
                (Err(error), _) => Some(Fault::Script(error.clone())),
                (Ok(_), Some(older)) if operation != Operation::Dependencies => {
                    Some(Fault::Shadowed {
                        by: older.customization.clone(),
                    })
                }
                (Ok(_), _) => None,
            };
            if !matches!(fault, Some(Fault::Shadowed { .. })) {
                rules.push(Rule {
                    customization: name.clone(),
                    script,
                });
            }
            self.problems.extend(fault.map(|fault| Problem {
                customization: name.clone(),
                operation,
                fault,
            }));
        }
    }

    /// What is wrong with them, found without running them.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The kinds that have customizations, as apiVersion and kind.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, &str)> {
        self.kinds.keys().map(|(v, k)| (v.as_str(), k.as_str()))
    }

    /// Whether they answer a question about a kind.
    pub fn answer(&self, api_version: &str, kind: &str, operation: Operation) -> bool {
        !self.rules(api_version, kind, operation).is_empty()
    }

    /// How many replicas a template wants, and what one needs; `None` if no script says.
    ///
    /// # Errors
    ///
    /// If the script fails.
    pub fn replicas(&self, template: &Value, now: Timestamp) -> Option<Result<Replicas, Problem>> {
        let rule = self.first(template, Operation::Replicas)?;
        Some(self.ask(
            rule,
            Operation::Replicas,
            &[template],
            None,
            now,
            |[count, needs]| {
                let count = count
                    .as_i64()
                    .and_then(|count| i32::try_from(count).ok())
                    .filter(|count| *count >= 0)
                    .ok_or_else(|| ("a number of replicas", kind_of(&count)))?;
                let requirements: Option<ReplicaRequirements> =
                    typed("requirements or nil", needs)?;
                Ok(Replicas {
                    count: Some(count),
                    requirements: requirements.map(Into::into),
                })
            },
        ))
    }

    /// The parts of a template; `None` if no script says.
    ///
    /// # Errors
    ///
    /// If the script fails.
    pub fn components(
        &self,
        template: &Value,
        now: Timestamp,
    ) -> Option<Result<Vec<Component>, Problem>> {
        let rule = self.first(template, Operation::Components)?;
        Some(self.ask(
            rule,
            Operation::Components,
            &[template],
            None,
            now,
            |[found, _]| list("a list of components or nil", found),
        ))
    }

    /// A copy with its share of the replicas; `None` if no script says.
    ///
    /// # Errors
    ///
    /// If the script fails.
    pub fn revise(
        &self,
        manifest: &Value,
        replicas: i32,
        now: Timestamp,
    ) -> Option<Result<Value, Problem>> {
        let rule = self.first(manifest, Operation::Revision)?;
        let arguments = [manifest, &json!(replicas)];
        Some(self.ask(
            rule,
            Operation::Revision,
            &arguments,
            Some(manifest),
            now,
            |[copy, _]| object(copy),
        ))
    }

    /// A copy with what the member's own controllers wrote; `None` if no script says.
    ///
    /// # Errors
    ///
    /// If the script fails.
    pub fn retain(
        &self,
        manifest: &Value,
        live: &Value,
        now: Timestamp,
    ) -> Option<Result<Value, Problem>> {
        let rule = self.first(manifest, Operation::Retention)?;
        let arguments = [manifest, live];
        Some(self.ask(
            rule,
            Operation::Retention,
            &arguments,
            Some(manifest),
            now,
            |[copy, _]| object(copy),
        ))
    }

    /// The status of a template, out of those of its copies; `None` if no script says.
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
        let rule = self.first(template, Operation::Aggregation)?;
        let items = json!(items);
        let arguments = [template, &items];
        Some(self.ask(
            rule,
            Operation::Aggregation,
            &arguments,
            Some(template),
            now,
            |[whole, _]| {
                let mut whole = object(whole)?;
                Ok(whole.get_mut("status").map_or(Value::Null, Value::take))
            },
        ))
    }

    /// What of a copy's status is reported; `None` if no script says.
    ///
    /// # Errors
    ///
    /// If the script fails.
    pub fn reflect(&self, live: &Value, now: Timestamp) -> Option<Result<Value, Problem>> {
        let rule = self.first(live, Operation::Reflection)?;
        let status = live.get("status");
        Some(self.ask(
            rule,
            Operation::Reflection,
            &[live],
            status,
            now,
            |[status, _]| object(status),
        ))
    }

    /// Whether a copy is healthy; `None` if no script says.
    ///
    /// # Errors
    ///
    /// If the script fails.
    pub fn health(&self, live: &Value, now: Timestamp) -> Option<Result<bool, Problem>> {
        let rule = self.first(live, Operation::Health)?;
        Some(self.ask(
            rule,
            Operation::Health,
            &[live],
            None,
            now,
            |[healthy, _]| {
                healthy
                    .as_bool()
                    .ok_or_else(|| ("true or false", kind_of(&healthy)))
            },
        ))
    }

    /// What a template refers to, according to all scripts of its kind, each once; `None` if no script says.
    ///
    /// # Errors
    ///
    /// If one of the scripts fails.
    pub fn dependencies(
        &self,
        template: &Value,
        now: Timestamp,
    ) -> Option<Result<Vec<Dependency>, Problem>> {
        let rules = self.rules_of(template, Operation::Dependencies);
        if rules.is_empty() {
            return None;
        }
        let mut all: Vec<Dependency> = Vec::new();
        for rule in rules {
            let found = self.ask(
                rule,
                Operation::Dependencies,
                &[template],
                None,
                now,
                |[found, _]| list("a list of references", found),
            );
            match found {
                Ok(found) => {
                    for dependency in found {
                        if !all.contains(&dependency) {
                            all.push(dependency);
                        }
                    }
                }
                Err(problem) => return Some(Err(problem)),
            }
        }
        Some(Ok(all))
    }

    fn rules(&self, api_version: &str, kind: &str, operation: Operation) -> &[Rule] {
        self.kinds
            .get(&(api_version.to_owned(), kind.to_owned()))
            .and_then(|rules| rules.get(&operation))
            .map_or(&[], Vec::as_slice)
    }

    fn rules_of(&self, object: &Value, operation: Operation) -> &[Rule] {
        let word = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        self.rules(word("apiVersion"), word("kind"), operation)
    }

    fn first(&self, object: &Value, operation: Operation) -> Option<&Rule> {
        let rules = self.rules_of(object, operation);
        let readable = rules.iter().find(|rule| rule.script.is_ok());
        readable.or(rules.first())
    }

    /// Runs a script, and takes its answer or says what it should have been.
    fn ask<T>(
        &self,
        rule: &Rule,
        operation: Operation,
        arguments: &[&Value],
        like: Option<&Value>,
        now: Timestamp,
        take: impl FnOnce([Value; 2]) -> Result<T, (&'static str, String)>,
    ) -> Result<T, Problem> {
        let function = operation.function();
        rule.script
            .as_ref()
            .map_err(ScriptError::clone)
            .and_then(|script| self.vm.pair(script, function, arguments, like, now))
            .and_then(|returned| {
                take(returned).map_err(|(expected, found)| ScriptError::Returned {
                    function,
                    expected,
                    found,
                })
            })
            .map_err(|error| Problem {
                customization: rule.customization.clone(),
                operation,
                fault: error.into(),
            })
    }
}

fn by_age(a: &ResourceInterpreterCustomization, b: &ResourceInterpreterCustomization) -> Ordering {
    let age = |c: &ResourceInterpreterCustomization| {
        (
            c.metadata.creation_timestamp.as_ref().map(|time| time.0),
            c.metadata.name.clone(),
        )
    };
    age(a).cmp(&age(b))
}

fn object(value: Value) -> Result<Value, (&'static str, String)> {
    if value.is_object() {
        Ok(value)
    } else {
        Err(("an object", kind_of(&value)))
    }
}

/// A list; nothing, or a table without content, is an empty one.
fn list<T: DeserializeOwned>(
    expected: &'static str,
    value: Value,
) -> Result<Vec<T>, (&'static str, String)> {
    match &value {
        Value::Null => Ok(Vec::new()),
        Value::Object(fields) if fields.is_empty() => Ok(Vec::new()),
        _ => typed(expected, value),
    }
}

fn typed<T: DeserializeOwned>(
    expected: &'static str,
    value: Value,
) -> Result<T, (&'static str, String)> {
    T::deserialize(value).map_err(|error| (expected, error.to_string()))
}

fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("the text {text:?}"),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a table".to_owned(),
    }
}

#[cfg(test)]
mod tests;
