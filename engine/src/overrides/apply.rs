//! Applies chosen rules to a manifest.

use crds::policy::{
    CommandArgsOperator, CommandArgsOverrider, FieldOverrider, FieldPatch, ImageComponent,
    ImageOverrider, LabelAnnotationOverrider, OverriderOperator, Overriders, PlaintextOverrider,
};
use serde_json::{Value, json};

use super::image::Image;
use super::ledger::{Extent, Ledger};
use super::patch::{part, patch};
use super::{Applied, Chosen, OverrideProblem, Source, field};
use crate::interpret::{Native, items, text};

/// Fields that say which object this is.
const IDENTITY: [&str; 5] = [
    "/apiVersion",
    "/kind",
    "/metadata/name",
    "/metadata/namespace",
    "/metadata/uid",
];

/// Applies rules in their order.
///
/// # Errors
/// The first overrider that cannot be applied. The manifest is then half changed and must not be used.
pub fn apply(manifest: &mut Value, chosen: &[Chosen<'_>]) -> Result<Applied, OverrideProblem> {
    let identity = IDENTITY.map(|pointer| manifest.pointer(pointer).cloned());
    let mut ledger = Ledger::default();
    let (mut cluster_records, mut records) = (Vec::new(), Vec::new());
    for Chosen { policy, rules } in chosen {
        for (rule, overriders) in rules {
            let source = Source {
                policy: (*policy).clone(),
                rule: *rule,
            };
            let problem = |(path, message): (String, String)| OverrideProblem {
                policy: source.policy.clone(),
                rule: *rule,
                path,
                message,
            };
            let mut change = Change {
                manifest,
                source: &source,
                ledger: &mut ledger,
            };
            change.rule(overriders).map_err(problem)?;
            for (pointer, before) in IDENTITY.iter().zip(&identity) {
                if manifest.pointer(pointer) != before.as_ref() {
                    return Err(problem((
                        (*pointer).to_owned(),
                        "identifies the object and cannot be overridden".to_owned(),
                    )));
                }
            }
            let record = json!({"policyName": policy.name.as_str(), "overriders": overriders});
            if policy.namespace.is_empty() {
                cluster_records.push(record);
            } else {
                records.push(record);
            }
        }
    }
    let annotation =
        |records: Vec<Value>| (!records.is_empty()).then(|| Value::Array(records).to_string());
    Ok(Applied {
        provenance: ledger.provenance,
        conflicts: ledger.conflicts,
        cluster_policies: annotation(cluster_records),
        policies: annotation(records),
    })
}

/// Path and what is wrong with it.
type Problem = (String, String);

struct Change<'a> {
    manifest: &'a mut Value,
    /// The rule that makes the change.
    source: &'a Source,
    ledger: &'a mut Ledger,
}

impl Change<'_> {
    fn note(&mut self, pointer: &str, extent: Extent<'_>) {
        self.ledger.note(pointer, extent, self.source);
    }

    /// In the contract's order.
    fn rule(&mut self, overriders: &Overriders) -> Result<(), Problem> {
        let Overriders {
            plaintext,
            image_overrider,
            command_overrider,
            args_overrider,
            labels_overrider,
            annotations_overrider,
            field_overrider,
        } = overriders;
        for overrider in image_overrider {
            self.image(overrider)?;
        }
        for overrider in command_overrider {
            self.words("command", overrider)?;
        }
        for overrider in args_overrider {
            self.words("args", overrider)?;
        }
        for overrider in labels_overrider {
            self.marks("labels", overrider)?;
        }
        for overrider in annotations_overrider {
            self.marks("annotations", overrider)?;
        }
        for overrider in field_overrider {
            self.field(overrider)?;
        }
        for overrider in plaintext {
            self.plaintext(overrider)?;
        }
        Ok(())
    }

    fn plaintext(&mut self, overrider: &PlaintextOverrider) -> Result<(), Problem> {
        let PlaintextOverrider {
            path,
            operator,
            value,
        } = overrider;
        patch(self.manifest, path, *operator, value.as_ref()).map_err(|why| (path.clone(), why))?;
        // `-` names no field but the end of a list.
        match path.strip_suffix("/-") {
            Some(list) if *operator == OverriderOperator::Add && self.list(list) => {
                self.note(list, Extent::Amended);
            }
            _ => self.note(path, Extent::Whole),
        }
        Ok(())
    }

    fn list(&self, pointer: &str) -> bool {
        self.manifest.pointer(pointer).is_some_and(Value::is_array)
    }

    fn image(&mut self, overrider: &ImageOverrider) -> Result<(), Problem> {
        let places = match &overrider.predicate {
            Some(predicate) => vec![predicate.path.clone()],
            None => containers(self.manifest)
                .map(|(pointer, _)| format!("{pointer}/image"))
                .collect(),
        };
        for place in places {
            let problem = |why: String| (place.clone(), why);
            let Some(field) = self.manifest.pointer_mut(&place) else {
                // A container without an image has it filled in by somebody else; a place that was named has to exist.
                if overrider.predicate.is_none() {
                    continue;
                }
                return Err(problem("there is no image".to_owned()));
            };
            let Some(name) = field.as_str() else {
                return Err(problem("is no name of an image".to_owned()));
            };
            let mut image = Image::parse(name).map_err(problem)?;
            image
                .change(
                    overrider.component,
                    overrider.operator,
                    overrider.value.as_deref().unwrap_or_default(),
                )
                .map_err(problem)?;
            *field = Value::String(image.to_string());
            self.note(&place, Extent::Part(component_name(overrider.component)));
        }
        Ok(())
    }

    /// Words of a command or its arguments. A container of another name is none of the rule's business.
    fn words(&mut self, list: &str, overrider: &CommandArgsOverrider) -> Result<(), Problem> {
        let CommandArgsOverrider {
            container_name,
            operator,
            value,
        } = overrider;
        let found: Vec<String> = containers(self.manifest)
            .filter(|(_, container)| text(container, "/name") == container_name)
            .map(|(pointer, _)| format!("{pointer}/{list}"))
            .collect();
        for place in found {
            let present = self.manifest.pointer(&place);
            let mut words = match present {
                None | Some(Value::Null) => Vec::new(),
                Some(Value::Array(words)) => words.clone(),
                Some(_) => return Err((place, "is no list".to_owned())),
            };
            let before = words.len();
            match operator {
                CommandArgsOperator::Add => words.extend(value.iter().cloned().map(Value::String)),
                CommandArgsOperator::Remove => {
                    words.retain(|word| !value.iter().any(|gone| word == gone));
                }
            }
            // A list that is not there is not made for nothing: the member would see a difference.
            if words.len() == before {
                continue;
            }
            patch(
                self.manifest,
                &place,
                OverriderOperator::Add,
                Some(&Value::Array(words)),
            )
            .map_err(|why| (place.clone(), why))?;
            self.note(&place, Extent::Amended);
        }
        Ok(())
    }

    fn marks(&mut self, map: &str, overrider: &LabelAnnotationOverrider) -> Result<(), Problem> {
        let LabelAnnotationOverrider { operator, value } = overrider;
        let metadata = self
            .manifest
            .get_mut("metadata")
            .and_then(Value::as_object_mut)
            .ok_or_else(|| ("/metadata".to_owned(), "is no map".to_owned()))?;
        let entry = metadata.entry(map).or_insert_with(|| json!({}));
        if entry.is_null() {
            *entry = json!({});
        }
        let marks = entry
            .as_object_mut()
            .ok_or_else(|| (format!("/metadata/{map}"), "is no map".to_owned()))?;
        let mut touched = Vec::new();
        for (key, text) in value {
            let exists = marks.contains_key(key);
            match operator {
                OverriderOperator::Add => _ = marks.insert(key.clone(), json!(text)),
                OverriderOperator::Replace if exists => _ = marks.insert(key.clone(), json!(text)),
                OverriderOperator::Remove if exists => _ = marks.remove(key),
                OverriderOperator::Replace | OverriderOperator::Remove => continue,
            }
            touched.push(format!("/metadata/{map}/{}", part(key)));
        }
        if marks.is_empty() {
            metadata.remove(map);
        }
        for pointer in touched {
            self.note(&pointer, Extent::Whole);
        }
        Ok(())
    }

    fn field(&mut self, overrider: &FieldOverrider) -> Result<(), Problem> {
        let path = &overrider.field_path;
        let problem = |why: String| (path.clone(), why);
        let field = self
            .manifest
            .pointer_mut(path)
            .ok_or_else(|| problem("there is no such field".to_owned()))?;
        let text = field
            .as_str()
            .ok_or_else(|| problem("is no string that holds a document".to_owned()))?;
        *field = Value::String(field::change(text, overrider).map_err(problem)?);
        for FieldPatch { sub_path, .. } in overrider.json.iter().chain(&overrider.yaml) {
            self.note(path, Extent::Part(sub_path));
        }
        Ok(())
    }
}

fn component_name(component: ImageComponent) -> &'static str {
    match component {
        ImageComponent::Registry => "registry",
        ImageComponent::Repository => "repository",
        ImageComponent::Tag => "tag",
    }
}

/// The containers of a workload, with their JSON pointers. Init containers are not meant.
fn containers(manifest: &Value) -> impl Iterator<Item = (String, &Value)> {
    let list = match Native::of(manifest) {
        Native::Pod => "/spec/containers",
        Native::Deployment
        | Native::ReplicaSet
        | Native::StatefulSet
        | Native::DaemonSet
        | Native::Job => "/spec/template/spec/containers",
        Native::CronJob
        | Native::Service
        | Native::ServiceAccount
        | Native::Secret
        | Native::Ingress
        | Native::PersistentVolume
        | Native::PersistentVolumeClaim
        | Native::PodDisruptionBudget
        | Native::HorizontalPodAutoscaler
        | Native::Other => "",
    };
    let found = if list.is_empty() {
        &[]
    } else {
        items(manifest, list)
    };
    found
        .iter()
        .enumerate()
        .map(move |(index, container)| (format!("{list}/{index}"), container))
}
