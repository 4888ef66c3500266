//! The library `kube` of Karmada's customizations.

use mlua::{Lua, Table, Value as LuaValue, Variadic};
use serde_json::Value;

use super::convert::{Marks, to_json, to_lua};
use crate::interpret::{dependencies, pod};
use crate::quantity::Quantity;

pub(super) fn library(lua: &Lua, marks: &Marks) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    let add = lua.create_function(|_, amounts: Variadic<LuaValue>| {
        amounts
            .iter()
            .map(amount)
            .sum::<mlua::Result<Quantity>>()
            .map(|sum| sum.to_string())
    })?;
    library.raw_set("resourceAdd", add)?;

    let number = lua.create_function(|_, value: LuaValue| {
        let amount = amount(&value)?;
        if amount.is_negative() {
            return Err(mlua::Error::runtime(format!("{amount} is negative")));
        }
        Ok(amount.as_f64())
    })?;
    library.raw_set("getResourceQuantity", number)?;

    let known = marks.clone();
    let requirements = lua.create_function(move |lua, template: LuaValue| {
        let template = json(&known, &template)?;
        let pod = template.get("spec").unwrap_or(&Value::Null);
        let requirements =
            serde_json::to_value(pod::requirements(pod, "")).map_err(mlua::Error::external)?;
        to_lua(lua, &known, &requirements)
    })?;
    library.raw_set("accuratePodRequirements", requirements)?;

    let known = marks.clone();
    let needs = lua.create_function(
        move |lua, (template, namespace): (LuaValue, Option<String>)| {
            let template = json(&known, &template)?;
            let namespace = namespace.as_deref().unwrap_or("default");
            let pod = template.get("spec").unwrap_or(&Value::Null);
            let needs = serde_json::to_value(dependencies::of_pod(pod, namespace))
                .map_err(mlua::Error::external)?;
            to_lua(lua, &known, &needs)
        },
    )?;
    library.raw_set("getPodDependencies", needs)?;
    Ok(library)
}

fn json(marks: &Marks, value: &LuaValue) -> mlua::Result<Value> {
    if !value.is_table() {
        return Err(mlua::Error::runtime(format!(
            "a pod template is needed, not a {}",
            value.type_name()
        )));
    }
    to_json(marks, value, None).map_err(mlua::Error::runtime)
}

/// An amount as scripts have it: text, a number, or nothing.
fn amount(value: &LuaValue) -> mlua::Result<Quantity> {
    let text = match value {
        LuaValue::Nil => return Ok(Quantity::ZERO),
        LuaValue::String(text) => text.to_str()?.to_owned(),
        LuaValue::Integer(number) => number.to_string(),
        LuaValue::Number(number) => number.to_string(),
        other => {
            return Err(mlua::Error::runtime(format!(
                "an amount like \"500m\" is needed, not a {}",
                other.type_name()
            )));
        }
    };
    Quantity::parse(&text).map_err(|error| mlua::Error::runtime(format!("{text}: {error}")))
}
