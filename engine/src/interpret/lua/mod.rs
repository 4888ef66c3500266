//! Scripts of users, in Lua 5.1, that say what a kind means.
//!
//! A script gets JSON and gives JSON back. It sees nothing else: no files, no clock but the time it is given, no other script. Each call has
//! an environment of its own, so nothing that a script leaves behind is seen by the next call. A call that runs too long (counted in
//! instructions, so that the same input always comes to the same end) or needs too much memory ends with an error.
//!
//! The language, the names of the functions and the library `kube` are Karmada's, so that its users' scripts run unchanged.

mod convert;
mod kube;
mod sandbox;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jiff::Timestamp;
use mlua::chunk::ChunkMode;
use mlua::{Function, HookTriggers, Lua, LuaOptions, MultiValue, StdLib, VmState};
use serde_json::Value;

use convert::Marks;
use sandbox::Sandbox;

/// Instructions after which a call is ended: some tens of milliseconds. Shipped scripts need a few thousand.
const MAX_INSTRUCTIONS: u32 = 10_000_000;

/// Instructions between two looks at the budget.
const PACE: u32 = 10_000;

/// Memory of all scripts together, in bytes.
const MAX_MEMORY: usize = 32 * 1024 * 1024;

/// Longest script, in bytes.
const MAX_SOURCE: usize = 64 * 1024;

/// Runs scripts, one at a time.
pub struct Vm {
    lua: Lua,
    sandbox: Sandbox,
    marks: Marks,
    budget: Budget,
}

/// What is left of the instructions of the running call, in units of [`PACE`].
#[derive(Clone, Default)]
struct Budget(Arc<AtomicU32>);

impl Budget {
    fn fill(&self) {
        self.0.store(MAX_INSTRUCTIONS / PACE, Ordering::Relaxed);
    }

    fn spend(&self) -> bool {
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.saturating_sub(1), Ordering::Relaxed);
        left > 0
    }

    fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// A script that was read without error.
#[derive(Clone)]
pub struct Script(Function);

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script")
    }
}

/// What went wrong in a script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// It is longer than is read.
    #[error("it is longer than {MAX_SOURCE} bytes")]
    TooLong,
    /// It is no Lua.
    #[error("{}cannot be read: {message}", at(.line.as_ref()))]
    Syntax {
        /// Where.
        line: Option<u32>,
        /// Lua's words.
        message: String,
    },
    /// It does not define the function of its operation.
    #[error("there is no function {function}")]
    NoFunction {
        /// The name it should have.
        function: &'static str,
    },
    /// It failed.
    #[error("{}{message}", at(.line.as_ref()))]
    Failed {
        /// Where.
        line: Option<u32>,
        /// Lua's words.
        message: String,
    },
    /// It was ended.
    #[error(
        "{function} ran for more than {MAX_INSTRUCTIONS} instructions; look for a loop that does not end"
    )]
    TooManyInstructions {
        /// The function that was called.
        function: &'static str,
    },
    /// It was ended.
    #[error("{function} needed more than {} MiB of memory", MAX_MEMORY / (1024 * 1024))]
    TooMuchMemory {
        /// The function that was called.
        function: &'static str,
    },
    /// It gave back something else than its operation is for.
    #[error("{function} has to return {expected}, not {found}")]
    Returned {
        /// The function that was called.
        function: &'static str,
        /// What it should return.
        expected: &'static str,
        /// What it returned.
        found: String,
    },
}

fn at(line: Option<&u32>) -> String {
    line.map(|line| format!("line {line}: "))
        .unwrap_or_default()
}

/// The name that Lua puts before a line number.
const CHUNK: &str = "script";

impl Vm {
    /// Reads a script; nothing of it runs yet.
    ///
    /// # Errors
    ///
    /// If it is no Lua.
    pub fn read(&self, source: &str) -> Result<Script, ScriptError> {
        if source.len() > MAX_SOURCE {
            return Err(ScriptError::TooLong);
        }
        self.lua
            .load(source)
            .set_name(format!("={CHUNK}"))
            .set_mode(ChunkMode::Text)
            .into_function()
            .map(Script)
            .map_err(|error| {
                let (line, message) = words(&error);
                ScriptError::Syntax { line, message }
            })
    }

    /// Calls a function of a script.
    fn call(
        &self,
        script: &Script,
        function: &'static str,
        arguments: &[&Value],
        now: Timestamp,
    ) -> Result<MultiValue, ScriptError> {
        self.budget.fill();
        // Lua 5.1 does not look for garbage when memory runs out, so it is done in time.
        if self.lua.used_memory() > MAX_MEMORY / 4 {
            self.lua
                .gc_collect()
                .map_err(|error| self.failure(function, &error))?;
        }
        let run = || -> mlua::Result<Option<MultiValue>> {
            let environment = self.sandbox.environment(&self.lua, now)?;
            script.0.set_environment(environment.clone())?;
            script.0.call::<()>(())?;
            let Some(defined) = environment.raw_get::<Option<Function>>(function)? else {
                return Ok(None);
            };
            let arguments: MultiValue = arguments
                .iter()
                .map(|value| convert::to_lua(&self.lua, &self.marks, value))
                .collect::<mlua::Result<_>>()?;
            defined.call(arguments).map(Some)
        };
        run()
            .map_err(|error| self.failure(function, &error))?
            .ok_or(ScriptError::NoFunction { function })
    }

    /// Calls a function that returns one JSON value; `like` is the object it was made from, if any.
    ///
    /// # Errors
    ///
    /// If the script fails.
    pub fn value(
        &self,
        script: &Script,
        function: &'static str,
        arguments: &[&Value],
        like: Option<&Value>,
        now: Timestamp,
    ) -> Result<Value, ScriptError> {
        let [first, _] = self.pair(script, function, arguments, like, now)?;
        Ok(first)
    }

    /// Calls a function that returns two JSON values; what is missing is null.
    ///
    /// # Errors
    ///
    /// If the script fails.
    pub fn pair(
        &self,
        script: &Script,
        function: &'static str,
        arguments: &[&Value],
        like: Option<&Value>,
        now: Timestamp,
    ) -> Result<[Value; 2], ScriptError> {
        let mut returned = self.call(script, function, arguments, now)?.into_iter();
        let mut next = |like| {
            let value = returned.next().unwrap_or_default();
            convert::to_json(&self.marks, &value, like).map_err(|found| ScriptError::Returned {
                function,
                expected: "JSON",
                found,
            })
        };
        Ok([next(like)?, next(None)?])
    }

    fn failure(&self, function: &'static str, error: &mlua::Error) -> ScriptError {
        if self.budget.is_spent() {
            return ScriptError::TooManyInstructions { function };
        }
        let mut cause = error;
        while let mlua::Error::CallbackError { cause: inner, .. } = cause {
            cause = inner;
        }
        if matches!(cause, mlua::Error::MemoryError(_)) {
            return ScriptError::TooMuchMemory { function };
        }
        let (line, message) = words(error);
        ScriptError::Failed { line, message }
    }
}

impl Default for Vm {
    /// A machine without scripts.
    fn default() -> Self {
        build()
            .expect("a new machine has memory for its own tables, and the libraries are safe ones")
    }
}

fn build() -> mlua::Result<Vm> {
    let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH;
    let lua = Lua::new_with(libraries, LuaOptions::default())?;
    lua.set_memory_limit(MAX_MEMORY)?;
    let budget = Budget::default();
    budget.fill();
    let spending = budget.clone();
    let pace = HookTriggers::new().every_nth_instruction(PACE);
    lua.set_hook(pace, move |_, _| {
        if spending.spend() {
            Ok(VmState::Continue)
        } else {
            Err(mlua::Error::runtime("too many instructions"))
        }
    })?;
    let marks = Marks::new(&lua)?;
    let sandbox = Sandbox::new(&lua, &marks, &budget)?;
    Ok(Vm {
        lua,
        sandbox,
        marks,
        budget,
    })
}

impl fmt::Debug for Vm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vm")
    }
}

/// Lua's own words without its traceback, and the line of the script they are about.
fn words(error: &mlua::Error) -> (Option<u32>, String) {
    let text = match error {
        mlua::Error::RuntimeError(text)
        | mlua::Error::SyntaxError { message: text, .. }
        | mlua::Error::MemoryError(text) => text.clone(),
        // A function of ours refused; the traceback knows where it was called.
        mlua::Error::CallbackError { traceback, cause } => {
            let line = traceback.lines().find_map(|l| split_line(l.trim()));
            let (_, message) = words(cause);
            return (line.map(|(line, _)| line), message);
        }
        other => other.to_string(),
    };
    let text = text.split("\nstack traceback:").next().unwrap_or_default();
    match split_line(text) {
        Some((line, message)) => (Some(line), message.to_owned()),
        None => (None, text.to_owned()),
    }
}

/// `script:3: words` → 3 and the words.
fn split_line(text: &str) -> Option<(u32, &str)> {
    let rest = text.strip_prefix(CHUNK)?.strip_prefix(':')?;
    let (line, message) = rest.split_once(':')?;
    Some((line.parse().ok()?, message.trim_start()))
}

#[cfg(test)]
mod tests;
