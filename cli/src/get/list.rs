//! One server's answer.

use std::time::Duration;

use http::header::ACCEPT;
use kube::Client;
use kube::api::{GetParams, ListParams, Request as Call};
use kube::core::Resource as _;
use kube::core::dynamic::DynamicObject;
use serde_json::{Value, json};

use super::fleet::{Place, Server};
use super::kinds::{Catalogue, Served};
use super::table::Table;
use super::{Request, Wanted};
use crate::trouble::Trouble;

/// The server renders the columns, so that kinds of users show theirs.
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
/// Lists come in pieces, so that none is too large for a server.
const PAGE: u32 = 500;
/// On objects from members: which one. Known from Karmada's search.
const FOUND_IN: &str = "resource.karmada.io/cached-from-cluster";

/// What a server has.
#[derive(Default)]
pub(crate) struct Answer {
    pub(crate) tables: Vec<(Served, Table)>,
    pub(crate) objects: Vec<(Served, Value)>,
    /// Words that name nothing there, with what looks alike.
    pub(crate) unserved: Vec<(String, Vec<String>)>,
}

/// Asks one server for everything.
pub(crate) async fn ask(
    server: &Server,
    request: &Request,
    timeout: Duration,
) -> Result<Answer, Trouble> {
    let client = server.client.as_ref().map_err(Clone::clone)?;
    // A frozen server accepts connections, and then says nothing: each of a few requests may take that long.
    match tokio::time::timeout(timeout * 2, answer(client, request)).await {
        Ok(answer) => answer.map_err(|error| Trouble::of(&error)),
        Err(_) => Err(Trouble::Silence),
    }
}

async fn answer(client: &Client, request: &Request) -> Result<Answer, kube::Error> {
    let catalogue = Catalogue::of(client).await?;
    let mut answer = Answer::default();
    for wanted in &request.wanted {
        let Some(kind) = catalogue.find(&wanted.kind) else {
            let alike = catalogue.alike(&wanted.kind);
            answer.unserved.push((wanted.kind.clone(), alike));
            continue;
        };
        for document in documents(client, request, wanted, kind).await? {
            if request.tables {
                let table = serde_json::from_value(document).map_err(kube::Error::SerdeError)?;
                answer.tables.push((kind.clone(), table));
            } else {
                answer
                    .objects
                    .extend(items(kind, document).map(|object| (kind.clone(), object)));
            }
        }
    }
    Ok(answer)
}

/// The pages of a list, or the objects of these names.
async fn documents(
    client: &Client,
    request: &Request,
    wanted: &Wanted,
    kind: &Served,
) -> Result<Vec<Value>, kube::Error> {
    let namespace = request.namespace.as_deref().filter(|_| kind.namespaced);
    let call = Call::new(DynamicObject::url_path(&kind.resource, namespace));
    let mut documents = Vec::new();
    for name in &wanted.names {
        let get = call
            .get(name, &GetParams::default())
            .map_err(kube::Error::BuildRequest)?;
        match send(client, request, get).await {
            Ok(document) => documents.push(document),
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    if !wanted.names.is_empty() {
        return Ok(documents);
    }
    let mut parameters = ListParams::default().limit(PAGE);
    parameters.label_selector.clone_from(&request.selector);
    loop {
        let list = call.list(&parameters).map_err(kube::Error::BuildRequest)?;
        let page = send(client, request, list).await?;
        let next = page
            .pointer("/metadata/continue")
            .and_then(Value::as_str)
            .filter(|token| !token.is_empty())
            .map(str::to_owned);
        documents.push(page);
        match next {
            Some(token) => parameters.continue_token = Some(token),
            None => return Ok(documents),
        }
    }
}

async fn send(
    client: &Client,
    request: &Request,
    mut call: http::Request<Vec<u8>>,
) -> Result<Value, kube::Error> {
    if request.tables {
        call.headers_mut()
            .insert(ACCEPT, http::HeaderValue::from_static(TABLE));
    }
    client.request(call).await
}

/// The objects of a list, complete with kind; or the one object.
fn items(kind: &Served, document: Value) -> impl Iterator<Item = Value> + use<> {
    let (api_version, name) = (
        kind.resource.api_version.clone(),
        kind.resource.kind.clone(),
    );
    let items = match document {
        Value::Object(mut list) if list.get("items").is_some_and(Value::is_array) => {
            match list.remove("items") {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            }
        }
        object => vec![object],
    };
    items.into_iter().map(move |mut item| {
        // Servers leave them out of the items of lists.
        item["apiVersion"] = json!(api_version);
        item["kind"] = json!(name);
        item
    })
}

/// Whole objects, for scripts.
#[derive(Default)]
pub(crate) struct Documents {
    objects: Vec<(Served, Value)>,
}

impl Documents {
    /// Adds a server's objects; those from members say from which.
    pub(crate) fn add(&mut self, place: &Place, objects: Vec<(Served, Value)>) {
        for (kind, mut object) in objects {
            if let Place::Member(name) = place {
                let annotations = &mut object["metadata"]["annotations"];
                if !annotations.is_object() {
                    *annotations = json!({});
                }
                annotations[FOUND_IN] = json!(name);
            }
            self.objects.push((kind, object));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// One object by itself if just one was asked for, else a list.
    pub(crate) fn into_value(mut self, single: bool) -> Value {
        if single && self.objects.len() == 1 {
            return self.objects.remove(0).1;
        }
        let items: Vec<Value> = self.objects.into_iter().map(|(_, object)| object).collect();
        json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items})
    }

    /// `TYPE/NAME`, one a line.
    pub(crate) fn names(&self) -> String {
        let mut text = String::new();
        for (kind, object) in &self.objects {
            let name = object.pointer("/metadata/name").and_then(Value::as_str);
            text.push_str(&kind.title());
            text.push('/');
            text.push_str(name.unwrap_or_default());
            text.push('\n');
        }
        text
    }
}
