//! `get`: objects of the control plane and of its members, in one list.
//!
//! Every server is asked at once, each for itself: what it calls the kind, and for the rows. One that cannot be reached is a
//! row and a warning.

mod fleet;
mod kinds;
mod list;
mod table;

use futures::future::join_all;

use crate::access::Access;
use crate::arguments::{Format, Get, Global, Scope};
use crate::trouble::Trouble;
use crate::ui::{self, Ui};
use fleet::{Place, Server};
use list::{Answer, Documents};
use table::Tables;

/// Nothing could be shown.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub(crate) enum Error {
    #[error("names cannot be given together with {with}")]
    #[diagnostic(help("leave out the names, or {with}"))]
    NamesAnd { with: &'static str },
    #[error("{word:?} is not understood here: either every word is TYPE/NAME, or none is")]
    #[diagnostic(help("write `get deployment demo` or `get deployment/demo service/demo`"))]
    Mixed { word: String },
    #[error("--clusters names members, and --operation-scope karmada leaves them out")]
    #[diagnostic(help("leave out one of the two"))]
    NoMembers,
    #[error("no member is called {unknown}; {known}")]
    #[diagnostic(help("`karmadactl get clusters` lists the members"))]
    UnknownMember { unknown: String, known: String },
    #[error("the control plane does not tell its members: {trouble}")]
    #[diagnostic(help("{}", trouble.next()))]
    Members { trouble: Trouble },
    #[error("no server that was asked serves {word:?}; asked were {places}{alike}")]
    #[diagnostic(help("`kubectl api-resources` lists what the control plane serves"))]
    UnknownType {
        word: String,
        places: String,
        alike: String,
    },
    #[error("{what} not found; looked {looked}")]
    #[diagnostic(help("check the name, the namespace (-n) and the scope (--operation-scope all)"))]
    NotFound { what: String, looked: String },
    #[error("{place}: {trouble}")]
    #[diagnostic(help("{}", trouble.next()))]
    ControlPlane { place: Place, trouble: Trouble },
}

/// What is asked of every server.
pub(crate) struct Request {
    /// Types with the names wanted of each; no names is all.
    wanted: Vec<Wanted>,
    /// `None`: all of them.
    namespace: Option<String>,
    selector: Option<String>,
    /// Tables for people, or whole objects.
    tables: bool,
}

pub(crate) struct Wanted {
    kind: String,
    names: Vec<String>,
}

/// Shows the objects.
pub(crate) async fn run(ui: &Ui, global: &Global, get: &Get) -> miette::Result<()> {
    let wanted = wanted(&get.what)?;
    contradictions(get, &wanted)?;
    let control = Access::control_plane(global).await?;
    let namespace = global
        .namespace
        .clone()
        .unwrap_or_else(|| control.config.default_namespace.clone());
    let request = Request {
        wanted,
        namespace: (!get.all_namespaces).then_some(namespace),
        selector: get.selector.clone(),
        tables: matches!(get.output, None | Some(Format::Wide)),
    };
    let servers =
        fleet::servers(&control, scope(get), &get.clusters, global.request_timeout).await?;
    let answers = join_all(servers.iter().map(async |server| {
        let answer = list::ask(server, &request, global.request_timeout).await;
        (server.place.clone(), answer)
    }))
    .await;
    report(ui, get, &request, &servers, answers)
}

fn scope(get: &Get) -> Scope {
    get.operation_scope.unwrap_or(if get.clusters.is_empty() {
        Scope::All
    } else {
        Scope::Members
    })
}

fn contradictions(get: &Get, wanted: &[Wanted]) -> Result<(), Error> {
    let names = wanted.iter().any(|one| !one.names.is_empty());
    if names && get.all_namespaces {
        return Err(Error::NamesAnd {
            with: "--all-namespaces",
        });
    }
    if names && get.selector.is_some() {
        return Err(Error::NamesAnd { with: "--selector" });
    }
    if !get.clusters.is_empty() && get.operation_scope == Some(Scope::Karmada) {
        return Err(Error::NoMembers);
    }
    Ok(())
}

/// Reads `TYPE`, `TYPE,TYPE`, `TYPE NAME…` or `TYPE/NAME…`.
fn wanted(words: &[String]) -> Result<Vec<Wanted>, Error> {
    let pair = |word: &String| {
        word.split_once('/')
            .map(|(kind, name)| (kind.to_owned(), name.to_owned()))
    };
    if words.first().is_some_and(|word| word.contains('/')) {
        return words
            .iter()
            .map(|word| match pair(word) {
                Some((kind, name)) if !kind.is_empty() && !name.is_empty() => Ok(Wanted {
                    kind,
                    names: vec![name],
                }),
                _ => Err(Error::Mixed { word: word.clone() }),
            })
            .collect();
    }
    let (kinds, names) = words
        .split_first()
        .expect("the command line asks for at least one word");
    if let Some(word) = names.iter().find(|word| word.contains('/')) {
        return Err(Error::Mixed { word: word.clone() });
    }
    Ok(kinds
        .split(',')
        .filter(|kind| !kind.is_empty())
        .map(|kind| Wanted {
            kind: kind.to_owned(),
            names: names.to_vec(),
        })
        .collect())
}

fn report(
    ui: &Ui,
    get: &Get,
    request: &Request,
    servers: &[Server],
    answers: Vec<(Place, Result<Answer, Trouble>)>,
) -> miette::Result<()> {
    let (mut tables, mut documents) = (Tables::default(), Documents::default());
    let mut unserved: Vec<(String, Vec<String>)> = Vec::new();
    let (mut asked, mut failed) = (Vec::new(), 0);
    for (place, answer) in answers {
        match answer {
            Ok(answer) => {
                for (word, alike) in answer.unserved {
                    unserved.push((word, alike));
                }
                asked.push(place.clone());
                tables.add(&place, answer.tables);
                documents.add(&place, answer.objects);
            }
            // Without the control plane the answer would look complete and not be.
            Err(trouble) if place == Place::ControlPlane => {
                return Err(Error::ControlPlane { place, trouble }.into());
            }
            Err(trouble) => {
                ui.warning(format_args!("{place}: {trouble}"));
                tables.unreachable(&place, request);
                failed += 1;
            }
        }
    }
    for one in &request.wanted {
        let lacking: Vec<&(String, Vec<String>)> = unserved
            .iter()
            .filter(|(word, _)| *word == one.kind)
            .collect();
        if !asked.is_empty() && lacking.len() == asked.len() {
            return Err(Error::UnknownType {
                word: one.kind.clone(),
                places: places(&asked),
                alike: alike(&lacking),
            }
            .into());
        }
    }
    let empty = tables.is_empty() && documents.is_empty();
    let looked = looked(request, servers);
    if failed == 0 && empty {
        if let Some(missing) = request.wanted.iter().find(|one| !one.names.is_empty()) {
            return Err(Error::NotFound {
                what: format!("{} {}", missing.kind, missing.names.join(" ")),
                looked,
            }
            .into());
        }
        if request.tables {
            ui.note(format_args!("No resources found; looked {looked}."));
            return Ok(());
        }
    }
    let single =
        request.wanted.len() == 1 && request.wanted[0].names.len() == 1 && servers.len() == 1;
    let text = match get.output {
        None => tables.render(request, false, !get.no_headers),
        Some(Format::Wide) => tables.render(request, true, !get.no_headers),
        Some(Format::Json) => ui::json(&documents.into_value(single)),
        Some(Format::Yaml) => ui::yaml(&documents.into_value(single)),
        Some(Format::Name) => documents.names(),
    };
    Ok(ui.result(&text)?)
}

fn places(asked: &[Place]) -> String {
    let names: Vec<String> = asked.iter().map(ToString::to_string).collect();
    names.join(", ")
}

fn looked(request: &Request, servers: &[Server]) -> String {
    let places: Vec<Place> = servers.iter().map(|server| server.place.clone()).collect();
    let places = if places.is_empty() {
        "nowhere, since there are no members".to_owned()
    } else {
        format!("in {}", self::places(&places))
    };
    match &request.namespace {
        Some(namespace) => format!("{places}, namespace {namespace}"),
        None => format!("{places}, all namespaces"),
    }
}

fn alike(lacking: &[&(String, Vec<String>)]) -> String {
    let mut names: Vec<&str> = lacking
        .iter()
        .flat_map(|(_, alike)| alike.iter().map(String::as_str))
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        String::new()
    } else {
        format!(". Similar are {}", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Vec<(String, Vec<String>)>, Error> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        Ok(wanted(&words)?
            .into_iter()
            .map(|one| (one.kind, one.names))
            .collect())
    }

    fn pair(kind: &str, names: &[&str]) -> (String, Vec<String>) {
        (
            kind.to_owned(),
            names.iter().map(|&name| name.to_owned()).collect(),
        )
    }

    #[test]
    fn types_and_names_are_read_as_kubectl_does() {
        assert_eq!(read(&["pods"]).ok(), Some(vec![pair("pods", &[])]));
        assert_eq!(
            read(&["deploy,svc", "demo"]).ok(),
            Some(vec![pair("deploy", &["demo"]), pair("svc", &["demo"])])
        );
        assert_eq!(
            read(&["pod", "a", "b"]).ok(),
            Some(vec![pair("pod", &["a", "b"])])
        );
        assert_eq!(
            read(&["deploy/demo", "svc/web"]).ok(),
            Some(vec![pair("deploy", &["demo"]), pair("svc", &["web"])])
        );
    }

    #[test]
    fn mixed_forms_are_refused() {
        for words in [
            &["deploy/demo", "web"][..],
            &["deploy", "svc/web"],
            &["deploy/"],
        ] {
            assert!(matches!(read(words), Err(Error::Mixed { .. })), "{words:?}");
        }
    }
}
