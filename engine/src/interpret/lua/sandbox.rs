//! What a script can see.
//!
//! A fresh environment for each call, with copies of the libraries: whatever a script does to them is gone with the call.

use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned, civil};
use mlua::{Function, Lua, MultiValue, Table, Value as LuaValue};

use super::convert::Marks;
use super::{Budget, kube};

/// Functions of the language that scripts may use.
const FUNCTIONS: [&str; 9] = [
    "assert", "error", "ipairs", "next", "pairs", "select", "tonumber", "tostring", "type",
];

/// Functions of the language that scripts may not use; they are there to say so.
const FORBIDDEN: [&str; 17] = [
    "collectgarbage",
    "dofile",
    "getfenv",
    "getmetatable",
    "load",
    "loadfile",
    "loadstring",
    "module",
    "newproxy",
    "print",
    "rawequal",
    "rawget",
    "rawset",
    "setfenv",
    "setmetatable",
    "coroutine",
    "xpcall",
];

const LIBRARIES: [&str; 3] = ["table", "string", "math"];

pub(super) struct Sandbox {
    /// What every environment has.
    shared: Vec<(&'static str, LuaValue)>,
    libraries: Vec<(&'static str, Table)>,
    kube: Table,
}

impl Sandbox {
    pub(super) fn new(lua: &Lua, marks: &Marks, budget: &Budget) -> mlua::Result<Self> {
        let globals = lua.globals();
        let mut shared = vec![("pcall", LuaValue::Function(pcall(lua, budget.clone())?))];
        for name in FUNCTIONS.into_iter().chain(["unpack"]) {
            shared.push((name, globals.raw_get(name)?));
        }
        for name in FORBIDDEN {
            let refuse = lua.create_function(move |_, _: MultiValue| -> mlua::Result<()> {
                Err(mlua::Error::runtime(format!("{name} may not be used here")))
            })?;
            shared.push((name, LuaValue::Function(refuse)));
        }
        let libraries = LIBRARIES
            .into_iter()
            .map(|name| Ok((name, globals.raw_get(name)?)))
            .collect::<mlua::Result<_>>()?;
        Ok(Self {
            shared,
            libraries,
            kube: kube::library(lua, marks)?,
        })
    }

    /// A new environment.
    pub(super) fn environment(&self, lua: &Lua, now: Timestamp) -> mlua::Result<Table> {
        let environment = lua.create_table()?;
        for (name, value) in &self.shared {
            environment.raw_set(*name, value)?;
        }
        for (name, library) in &self.libraries {
            environment.raw_set(*name, copy(lua, library)?)?;
        }
        let os = clock(lua, now)?;
        environment.raw_set("os", &os)?;
        let kube = copy(lua, &self.kube)?;
        let require = lua.create_function(move |_, name: String| {
            if name == "kube" {
                Ok(kube.clone())
            } else {
                Err(mlua::Error::runtime(format!(
                    "there is no library {name}, only kube"
                )))
            }
        })?;
        environment.raw_set("require", require)?;
        environment.raw_set("_G", &environment)?;
        Ok(environment)
    }
}

fn copy(lua: &Lua, table: &Table) -> mlua::Result<Table> {
    let copy = lua.create_table()?;
    table.for_each(|key: LuaValue, value: LuaValue| copy.raw_set(key, value))?;
    Ok(copy)
}

/// As Lua's own, except that it does not hide that the call is over its budget.
fn pcall(lua: &Lua, budget: Budget) -> mlua::Result<Function> {
    lua.create_function(
        move |lua, (function, arguments): (Function, MultiValue)| match function
            .call::<MultiValue>(arguments)
        {
            Ok(mut returned) => {
                returned.push_front(LuaValue::Boolean(true));
                Ok(returned)
            }
            Err(error) if budget.is_spent() => Err(error),
            Err(error) => {
                let (line, message) = super::words(&error);
                let text = match line {
                    Some(line) => format!("line {line}: {message}"),
                    None => message,
                };
                Ok(MultiValue::from_vec(vec![
                    LuaValue::Boolean(false),
                    LuaValue::String(lua.create_string(text)?),
                ]))
            }
        },
    )
}

/// `os.time` and `os.date`, in UTC, at the time of the call.
fn clock(lua: &Lua, now: Timestamp) -> mlua::Result<Table> {
    let os = lua.create_table()?;
    let time = lua.create_function(move |_, parts: Option<Table>| {
        let Some(parts) = parts else {
            return Ok(now.as_second());
        };
        from_parts(&parts).map(Timestamp::as_second)
    })?;
    os.raw_set("time", time)?;
    let date = lua.create_function(move |lua, (format, time): (Option<String>, Option<f64>)| {
        let time = match time {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "seconds; what is out of range is refused below"
            )]
            Some(seconds) => {
                Timestamp::from_second(seconds as i64).map_err(mlua::Error::external)?
            }
            None => now,
        };
        let time = time.to_zoned(TimeZone::UTC);
        let format = format.unwrap_or_else(|| "%c".to_owned());
        let format = format.strip_prefix('!').unwrap_or(&format);
        if format.starts_with("*t") {
            return parts(lua, &time).map(LuaValue::Table);
        }
        let text = strtime::format(format, &time).map_err(mlua::Error::external)?;
        lua.create_string(text).map(LuaValue::String)
    })?;
    os.raw_set("date", date)?;
    Ok(os)
}

fn from_parts(parts: &Table) -> mlua::Result<Timestamp> {
    let part = |name: &str, default: Option<i64>| -> mlua::Result<i64> {
        parts
            .raw_get::<Option<i64>>(name)?
            .or(default)
            .ok_or_else(|| mlua::Error::runtime(format!("os.time needs the field {name}")))
    };
    let small = |name: &str, default| -> mlua::Result<i8> {
        i8::try_from(part(name, default)?).map_err(mlua::Error::external)
    };
    let year = i16::try_from(part("year", None)?).map_err(mlua::Error::external)?;
    civil::DateTime::new(
        year,
        small("month", None)?,
        small("day", None)?,
        small("hour", Some(12))?,
        small("min", Some(0))?,
        small("sec", Some(0))?,
        0,
    )
    .and_then(|time| time.to_zoned(TimeZone::UTC))
    .map(|time| time.timestamp())
    .map_err(mlua::Error::external)
}

fn parts(lua: &Lua, time: &Zoned) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    for (name, value) in [
        ("year", i64::from(time.year())),
        ("month", i64::from(time.month())),
        ("day", i64::from(time.day())),
        ("hour", i64::from(time.hour())),
        ("min", i64::from(time.minute())),
        ("sec", i64::from(time.second())),
        ("wday", i64::from(time.weekday().to_sunday_one_offset())),
        ("yday", i64::from(time.day_of_year())),
    ] {
        table.raw_set(name, value)?;
    }
    table.raw_set("isdst", false)?;
    Ok(table)
}
