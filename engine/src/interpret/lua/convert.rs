//! Between JSON and Lua.
//!
//! Lua has one kind of table for lists and objects, one kind of number, and no null. So that an object survives a script that does not
//! touch it:
//!
//! - tables made from JSON are marked as list or object, which counts once they are empty;
//! - an empty table that the script made itself is what the object it was made from has in that place, and is left out if that has nothing;
//! - a number that is equal to the one in that place is that one, with all its digits.

use mlua::{Integer, Lua, Table, Value as LuaValue};
use serde_json::{Map, Number, Value};

/// Deepest nesting that is read; deeper is a table that contains itself.
const MAX_DEPTH: usize = 128;

/// Whole numbers up to here are exact in Lua.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The metatables that mark what a table was in JSON. Scripts cannot reach them.
#[derive(Clone)]
pub(super) struct Marks {
    list: Table,
    object: Table,
}

impl Marks {
    pub(super) fn new(lua: &Lua) -> mlua::Result<Self> {
        Ok(Self {
            list: lua.create_table()?,
            object: lua.create_table()?,
        })
    }
}

/// A JSON value as Lua sees it; null is nil.
pub(super) fn to_lua(lua: &Lua, marks: &Marks, value: &Value) -> mlua::Result<LuaValue> {
    Ok(match value {
        Value::Null => LuaValue::Nil,
        Value::Bool(truth) => LuaValue::Boolean(*truth),
        Value::Number(number) => LuaValue::Number(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => LuaValue::String(lua.create_string(text)?),
        Value::Array(items) => {
            let table = lua.create_table_with_capacity(items.len(), 0)?;
            // A nil would end the list early.
            for (at, item) in items.iter().filter(|item| !item.is_null()).enumerate() {
                table.raw_set(at + 1, to_lua(lua, marks, item)?)?;
            }
            table.set_metatable(Some(marks.list.clone()))?;
            LuaValue::Table(table)
        }
        Value::Object(fields) => {
            let table = lua.create_table_with_capacity(0, fields.len())?;
            for (key, field) in fields {
                table.raw_set(key.as_str(), to_lua(lua, marks, field)?)?;
            }
            table.set_metatable(Some(marks.object.clone()))?;
            LuaValue::Table(table)
        }
    })
}

/// A Lua value as JSON; `like` is what it was made from, if anything. The error says what cannot be JSON.
pub(super) fn to_json(
    marks: &Marks,
    value: &LuaValue,
    like: Option<&Value>,
) -> Result<Value, String> {
    read(marks, value, like, 0).map(|value| {
        value.unwrap_or_else(|| {
            // An empty table of the script's own, with nothing to tell what it stands for.
            Value::Object(Map::new())
        })
    })
}

/// `None` is an empty table that nothing tells to be a list or an object.
fn read(
    marks: &Marks,
    value: &LuaValue,
    like: Option<&Value>,
    depth: usize,
) -> Result<Option<Value>, String> {
    Ok(Some(match value {
        LuaValue::Nil => Value::Null,
        LuaValue::Boolean(truth) => Value::Bool(*truth),
        LuaValue::Integer(number) => whole(*number, like),
        LuaValue::Number(number) => fraction(*number, like)?,
        LuaValue::String(text) => Value::String(
            text.to_str()
                .map_err(|_| "text that is not UTF-8".to_owned())?
                .to_owned(),
        ),
        LuaValue::Table(table) => return read_table(marks, table, like, depth),
        other => return Err(format!("a {}", other.type_name())),
    }))
}

fn whole(number: Integer, like: Option<&Value>) -> Value {
    match like {
        #[expect(clippy::cast_precision_loss, reason = "compared as Lua saw it")]
        Some(Value::Number(original)) if original.as_f64() == Some(number as f64) => {
            Value::Number(original.clone())
        }
        _ => Value::Number(number.into()),
    }
}

fn fraction(number: f64, like: Option<&Value>) -> Result<Value, String> {
    if let Some(Value::Number(original)) = like
        && original.as_f64() == Some(number)
    {
        return Ok(Value::Number(original.clone()));
    }
    if number.fract() == 0.0 && number.abs() < EXACT {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is whole and small enough"
        )]
        return Ok(Value::Number((number as i64).into()));
    }
    Number::from_f64(number)
        .map(Value::Number)
        .ok_or_else(|| format!("the number {number}"))
}

fn read_table(
    marks: &Marks,
    table: &Table,
    like: Option<&Value>,
    depth: usize,
) -> Result<Option<Value>, String> {
    if depth > MAX_DEPTH {
        return Err("a table that contains itself".to_owned());
    }
    let mut fields = Map::new();
    let mut numbered: usize = 0;
    for pair in table.pairs::<LuaValue, LuaValue>() {
        let (key, value) = pair.map_err(|error| error.to_string())?;
        match key {
            LuaValue::String(key) => {
                let key = key
                    .to_str()
                    .map_err(|_| "a field whose name is not UTF-8".to_owned())?
                    .to_owned();
                let like = like.and_then(|like| like.get(&key));
                let read = read(marks, &value, like, depth + 1).map_err(|e| within(&key, &e))?;
                if let Some(value) = read {
                    fields.insert(key, value);
                }
            }
            LuaValue::Integer(_) | LuaValue::Number(_) => numbered += 1,
            other => return Err(format!("a table with a {} as key", other.type_name())),
        }
    }
    if numbered > 0 {
        if !fields.is_empty() || table.raw_len() != numbered {
            return Err("a table that is neither a list nor an object".to_owned());
        }
        return read_list(marks, table, numbered, like, depth).map(Some);
    }
    // Fields may have been there and left out, so this is no question of `fields` alone.
    if !table.is_empty() {
        return Ok(Some(Value::Object(fields)));
    }
    let mark = table.metatable();
    Ok(if mark.as_ref() == Some(&marks.list) {
        Some(Value::Array(Vec::new()))
    } else if mark.as_ref() == Some(&marks.object) {
        Some(Value::Object(Map::new()))
    } else {
        match like {
            Some(Value::Array(_)) => Some(Value::Array(Vec::new())),
            Some(Value::Object(_)) => Some(Value::Object(Map::new())),
            _ => None,
        }
    })
}

fn read_list(
    marks: &Marks,
    table: &Table,
    length: usize,
    like: Option<&Value>,
    depth: usize,
) -> Result<Value, String> {
    let mut items = Vec::with_capacity(length);
    for at in 0..length {
        let value: LuaValue = table.raw_get(at + 1).map_err(|error| error.to_string())?;
        let like = like.and_then(|like| like.get(at));
        let item = read(marks, &value, like, depth + 1).map_err(|e| within(&at.to_string(), &e))?;
        items.push(item.unwrap_or_else(|| Value::Object(Map::new())));
    }
    Ok(Value::Array(items))
}

fn within(place: &str, error: &str) -> String {
    match error.split_once(" in /") {
        Some((what, path)) => format!("{what} in /{place}/{path}"),
        None => format!("{error} in /{place}"),
    }
}
