//! Tables of several servers as one.

use serde::Deserialize;
use serde_json::Value;

use super::Request;
use super::fleet::Place;
use super::kinds::Served;
use crate::ui::columns;

/// What stands in a cell that a server did not fill.
const NOTHING: &str = "<none>";
const UNREACHABLE: &str = "<unreachable>";

/// A table as an API server renders it (`meta.k8s.io/v1`).
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Table {
    #[serde(default)]
    column_definitions: Vec<Column>,
    #[serde(default)]
    rows: Vec<Row>,
}

#[derive(Clone, Debug, Deserialize)]
struct Column {
    name: String,
    #[serde(default)]
    priority: i32,
}

#[derive(Clone, Debug, Deserialize)]
struct Row {
    #[serde(default)]
    cells: Vec<Value>,
    #[serde(default)]
    object: Value,
}

/// One table for each kind, in the order in which they were found.
#[derive(Default)]
pub(crate) struct Tables {
    kinds: Vec<OneKind>,
    unreachable: Vec<(Place, Vec<String>)>,
}

struct OneKind {
    kind: Served,
    columns: Vec<Column>,
    lines: Vec<Line>,
}

/// One object.
struct Line {
    place: Place,
    namespace: String,
    /// By the column's name: servers of different versions have different columns.
    cells: Vec<(String, String)>,
    managed: bool,
}

impl Tables {
    /// Adds what a server answered.
    pub(crate) fn add(&mut self, place: &Place, tables: Vec<(Served, Table)>) {
        for (kind, table) in tables {
            let names: Vec<String> = table
                .column_definitions
                .iter()
                .map(|column| column.name.clone())
                .collect();
            let whole = self.kind(kind);
            for column in table.column_definitions {
                if !whole.columns.iter().any(|one| one.name == column.name) {
                    whole.columns.push(column);
                }
            }
            whole
                .lines
                .extend(table.rows.iter().map(|row| Line::new(place, &names, row)));
        }
    }

    /// Adds a server that did not answer, with the names that were asked of it.
    pub(crate) fn unreachable(&mut self, place: &Place, request: &Request) {
        let names = request
            .wanted
            .iter()
            .flat_map(|one| one.names.iter().cloned())
            .collect();
        self.unreachable.push((place.clone(), names));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kinds.iter().all(|kind| kind.lines.is_empty())
    }

    /// Kinds of one name are one table, whatever versions the servers prefer.
    fn kind(&mut self, kind: Served) -> &mut OneKind {
        let index = self
            .kinds
            .iter()
            .position(|one| one.kind.title() == kind.title());
        let index = index.unwrap_or_else(|| {
            self.kinds.push(OneKind {
                kind,
                columns: Vec::new(),
                lines: Vec::new(),
            });
            self.kinds.len() - 1
        });
        &mut self.kinds[index]
    }

    /// The text for a terminal.
    pub(crate) fn render(&self, request: &Request, wide: bool, headers: bool) -> String {
        let several = self.kinds.len() > 1;
        let mut parts: Vec<String> = self
            .kinds
            .iter()
            .filter(|kind| !kind.lines.is_empty())
            .map(|kind| {
                let layout = Layout {
                    wide,
                    headers,
                    title: several.then(|| kind.kind.title()),
                    namespaces: request.namespace.is_none() && kind.kind.namespaced,
                };
                kind.render(&layout, &self.unreachable)
            })
            .collect();
        if parts.is_empty() && !self.unreachable.is_empty() {
            parts.push(self.only_unreachable(headers));
        }
        parts.join("\n")
    }

    fn only_unreachable(&self, headers: bool) -> String {
        let title = ["NAME", "CLUSTER"].map(str::to_owned).to_vec();
        let mut rows = Vec::from_iter(headers.then_some(title));
        rows.extend(
            self.unreachable
                .iter()
                .flat_map(|(place, names)| unreachable_cells(place, names)),
        );
        columns(&rows)
    }
}

/// How a table is laid out.
struct Layout {
    wide: bool,
    headers: bool,
    /// What stands before each name, where several kinds are shown.
    title: Option<String>,
    namespaces: bool,
}

impl OneKind {
    fn render(&self, layout: &Layout, unreachable: &[(Place, Vec<String>)]) -> String {
        let shown: Vec<&str> = self
            .columns
            .iter()
            .filter(|column| layout.wide || column.priority == 0)
            .map(|column| column.name.as_str())
            .collect();
        let members = self
            .lines
            .iter()
            .any(|line| line.place != Place::ControlPlane);
        let mut rows = Vec::new();
        if layout.headers {
            rows.push(header(layout, &shown, members));
        }
        for line in &self.lines {
            rows.push(line.row(layout, &shown, members));
        }
        for (place, names) in unreachable {
            for mut cells in unreachable_cells(place, names) {
                if layout.namespaces {
                    cells.insert(0, String::new());
                }
                rows.push(cells);
            }
        }
        columns(&rows)
    }
}

fn unreachable_cells(place: &Place, names: &[String]) -> Vec<Vec<String>> {
    if names.is_empty() {
        return vec![vec![UNREACHABLE.to_owned(), place.cell().to_owned()]];
    }
    names
        .iter()
        .map(|name| {
            vec![
                name.clone(),
                place.cell().to_owned(),
                UNREACHABLE.to_owned(),
            ]
        })
        .collect()
}

/// NAME and CLUSTER come first, then the server's columns; ADOPTION says whether a member's object was propagated.
fn header(layout: &Layout, shown: &[&str], members: bool) -> Vec<String> {
    let mut cells = Vec::new();
    if layout.namespaces {
        cells.push("NAMESPACE".to_owned());
    }
    for (index, name) in shown.iter().enumerate() {
        cells.push(name.to_uppercase());
        if index == 0 {
            cells.push("CLUSTER".to_owned());
        }
    }
    if members {
        cells.push("ADOPTION".to_owned());
    }
    cells
}

impl Line {
    fn new(place: &Place, names: &[String], row: &Row) -> Self {
        let text = |pointer: &str| {
            let value = row.object.pointer(pointer).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let labels = row.object.pointer("/metadata/labels");
        let managed = labels
            .and_then(|labels| labels.get(crds::labels::MANAGED))
            .and_then(Value::as_str)
            == Some(crds::labels::TRUE);
        Self {
            place: place.clone(),
            namespace: text("/metadata/namespace"),
            cells: names
                .iter()
                .cloned()
                .zip(row.cells.iter().map(cell))
                .collect(),
            managed,
        }
    }

    fn row(&self, layout: &Layout, shown: &[&str], members: bool) -> Vec<String> {
        let mut cells = Vec::new();
        if layout.namespaces {
            cells.push(self.namespace.clone());
        }
        for (index, column) in shown.iter().enumerate() {
            let found = self.cells.iter().find(|(name, _)| name == column);
            let text = found.map_or(NOTHING, |(_, text)| text.as_str());
            match &layout.title {
                Some(title) if index == 0 => cells.push(format!("{title}/{text}")),
                _ => cells.push(text.to_owned()),
            }
            if index == 0 {
                cells.push(self.place.cell().to_owned());
            }
        }
        if members {
            cells.push(match self.place {
                Place::ControlPlane => String::new(),
                Place::Member(_) if self.managed => "Y".to_owned(),
                Place::Member(_) => "N".to_owned(),
            });
        }
        cells
    }
}

/// A cell as kubectl prints it.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => NOTHING.to_owned(),
        Value::String(text) => text.lines().next().unwrap_or_default().to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
