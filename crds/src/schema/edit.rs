//! A schema that is edited by path.
//!
//! A path is the way `kubectl explain` writes it, plus `[]` for the items of a list and `{}` for the values of a map:
//! `spec.placement.spreadConstraints[].maxGroups`.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// A structural schema in the making.
#[derive(Clone)]
pub(crate) struct Schema(Value);

impl Schema {
    /// The schema of a whole object, with nothing in it yet.
    pub(super) fn root(description: &str) -> Self {
        Self(json!({
            "type": "object",
            "description": description,
            "properties": {
                "apiVersion": {"type": "string", "description": "The group and version of the kind."},
                "kind": {"type": "string", "description": "The kind."},
                "metadata": {"type": "object"},
            },
            "required": ["spec"],
        }))
    }

    /// The schema that a Rust type gives.
    pub(super) fn of<T: JsonSchema>() -> Self {
        let generator = SchemaSettings::openapi3()
            .with(|settings| {
                settings.inline_subschemas = true;
                settings.meta_schema = None;
            })
            .with_transform(kube::core::schema::StructuralSchemaRewriter)
            .into_generator();
        Self(generator.into_root_schema_for::<T>().to_value())
    }

    /// Adds a property to the root.
    pub(super) fn property(mut self, name: &str, schema: Self) -> Self {
        self.0["properties"][name] = schema.0;
        self
    }

    /// Whether the root has this property.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0["properties"].get(name).is_some()
    }

    /// The node at a path; an empty path is the root.
    ///
    /// # Panics
    /// When the schema has no such path: the callers' paths are constants, and every build of the definitions, so any
    /// test, walks all of them.
    pub(super) fn at(&mut self, path: &str) -> Node<'_> {
        let mut node = &mut self.0;
        for segment in path.split('.').filter(|segment| !segment.is_empty()) {
            let name = segment.trim_end_matches(['[', ']', '{', '}']);
            node = child(node, "properties", path);
            node = child(node, name, path);
            let mut rest = &segment[name.len()..];
            while let Some((step, after)) = rest.split_at_checked(2) {
                node = match step {
                    "[]" => child(node, "items", path),
                    "{}" => child(node, "additionalProperties", path),
                    _ => break,
                };
                rest = after;
            }
        }
        Node(
            node.as_object_mut()
                .expect("every node of a structural schema is an object"),
        )
    }

    /// Changes every node, the innermost first.
    pub(super) fn each(&mut self, change: &mut impl FnMut(&mut Map<String, Value>)) {
        each(&mut self.0, change);
    }

    /// The finished schema.
    pub(super) fn into_props(self) -> JSONSchemaProps {
        serde_json::from_value(self.0)
            .expect("what was built from JSON schema keywords is a JSON schema")
    }
}

fn child<'a>(node: &'a mut Value, key: &str, path: &str) -> &'a mut Value {
    node.get_mut(key)
        .unwrap_or_else(|| unreachable!("the schema has no {key} on the way to {path}"))
}

fn each(node: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    let Some(node) = node.as_object_mut() else {
        return;
    };
    if let Some(properties) = node.get_mut("properties").and_then(Value::as_object_mut) {
        properties
            .values_mut()
            .for_each(|property| each(property, change));
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = node.get_mut(key) {
            each(inner, change);
        }
    }
    change(node);
}

/// One node of a schema.
pub(super) struct Node<'a>(&'a mut Map<String, Value>);

impl Node<'_> {
    /// Sets a keyword.
    pub(super) fn set(self, keyword: &str, value: impl Into<Value>) -> Self {
        self.0.insert(keyword.to_owned(), value.into());
        self
    }

    /// Documents the node.
    pub(super) fn describe(self, text: &str) -> Self {
        self.set("description", text)
    }

    /// Lets only these strings through.
    pub(super) fn one_of(self, values: &[&str]) -> Self {
        self.set("enum", values)
    }

    /// Refuses the empty string.
    pub(super) fn not_empty(self) -> Self {
        self.set("minLength", 1)
    }

    /// Narrows raw JSON of any type to an object of any fields.
    pub(super) fn whole_object(self) -> Self {
        self.0.remove("nullable");
        self.set("type", "object")
    }

    /// Makes a list one that is merged item by item: two items with the same keys are refused.
    pub(super) fn keyed_by(self, keys: &[&str]) -> Self {
        self.set("x-kubernetes-list-type", "map")
            .set("x-kubernetes-list-map-keys", keys)
    }

    /// Refuses values for which the CEL expression is false.
    pub(super) fn rule(self, cel: &str, message: &str) -> Self {
        self.push(json!({"rule": cel, "message": message}))
    }

    /// Refuses values for which the CEL expression is false, and blames one of the value's fields.
    pub(super) fn rule_at(self, field: &str, cel: &str, message: &str) -> Self {
        self.push(json!({"rule": cel, "message": message, "fieldPath": format!(".{field}")}))
    }

    fn push(self, rule: Value) -> Self {
        match self
            .0
            .entry("x-kubernetes-validations")
            .or_insert_with(|| json!([]))
        {
            Value::Array(rules) => rules.push(rule),
            _ => unreachable!("only this function writes the rules"),
        }
        self
    }
}
