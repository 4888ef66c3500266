use serde_json::json;

use super::*;

fn run_with(
    source: &str,
    arguments: &[&Value],
    like: Option<&Value>,
) -> Result<Value, ScriptError> {
    let vm = Vm::default();
    let script = vm.read(source)?;
    let now = "2026-12-01T10:20:30Z".parse().unwrap();
    vm.value(&script, "F", arguments, like, now)
}

fn run(source: &str) -> Result<Value, ScriptError> {
    run_with(source, &[], None)
}

#[track_caller]
fn fails(source: &str, words: &str) {
    let error = run(source).expect_err(source).to_string();
    assert!(error.contains(words), "{source}\n{error}");
}

#[test]
fn an_object_comes_back_as_it_went_in() {
    let object = json!({
        "emptyList": [], "emptyObject": {}, "list": [1, "two", {"three": []}, [{}]],
        "big": 9_007_199_254_740_993_i64, "float": 0.1, "huge": 1e300, "text": "äöü", "no": false,
        "spec": {"replicas": 3, "template": {"spec": {"volumes": [{"emptyDir": {}}]}}},
    });
    let same = run_with("function F(o) return o end", &[&object], Some(&object)).unwrap();
    assert_eq!(same, object);
    // Rebuilt by the script, from its own tables.
    let copied = run_with(
        "function copy(t) local c = {} for k, v in pairs(t) do
           if type(v) == 'table' then c[k] = copy(v) else c[k] = v end end return c end
         F = copy",
        &[&object],
        Some(&object),
    )
    .unwrap();
    assert_eq!(copied, object);
}

#[test]
fn what_a_script_makes_itself_is_read_as_it_looks() {
    assert_eq!(
        run("function F() return {1, 2, 3} end").unwrap(),
        json!([1, 2, 3])
    );
    assert_eq!(
        run("function F() return {a = {b = 1.5}, none = {}, left = nil} end").unwrap(),
        json!({"a": {"b": 1.5}})
    );
    assert_eq!(run("function F() end").unwrap(), Value::Null);
    assert_eq!(
        run("function F() local l = {} table.insert(l, 'x') l[#l + 1] = 'y' return l end").unwrap(),
        json!(["x", "y"])
    );
}

#[test]
fn a_list_that_a_script_empties_stays_a_list() {
    let object = json!({"items": [1], "fields": {"a": 1}});
    let emptied = run_with(
        "function F(o) o.items[1] = nil o.fields.a = nil return o end",
        &[&object],
        Some(&object),
    );
    assert_eq!(emptied.unwrap(), json!({"items": [], "fields": {}}));
}

#[test]
fn what_cannot_be_json_is_named_with_its_place() {
    fails(
        "function F() return {a = {f = F}} end",
        "a function in /a/f",
    );
    fails(
        "function F() return {1, 2, x = 3} end",
        "neither a list nor an object",
    );
    fails("function F() return {a = 0 / 0} end", "number NaN in /a");
    fails(
        "function F() local t = {} t.t = t return t end",
        "contains itself",
    );
    fails("function F() return {a = '\\255'} end", "not UTF-8 in /a");
}

#[test]
fn errors_name_the_line() {
    fails(
        "function F()\n\n  local x = nil\n  return x.y\nend",
        "line 4: attempt to index",
    );
    fails("function F()\n  error('no image')\nend", "line 2: no image");
    fails("function F(\n  return", "line 2: ");
    fails("local x = 1", "there is no function F");
    fails("F = 3", "");
}

#[test]
fn calls_see_nothing_of_each_other() {
    let vm = Vm::default();
    let now = Timestamp::UNIX_EPOCH;
    let source = "function F() seen = (seen or 0) + 1 string.mine = (string.mine or 0) + 1
                  local kube = require('kube') kube.n = (kube.n or 0) + 1
                  return {seen, string.mine, kube.n} end";
    let script = vm.read(source).unwrap();
    for _ in 0..2 {
        let seen = vm.value(&script, "F", &[], None, now).unwrap();
        assert_eq!(seen, json!([1, 1, 1]));
    }
    let other = vm
        .read("function F() return {seen == nil, ('x').mine == nil} end")
        .unwrap();
    assert_eq!(
        vm.value(&other, "F", &[], None, now).unwrap(),
        json!([true, true])
    );
}

#[test]
fn a_script_that_goes_on_for_ever_is_ended() {
    for body in [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "local function f() return f() end f()",
        "string.rep('x', 10):gsub('.', function() while true do end end)",
    ] {
        let error = run(&format!("function F() {body} end")).expect_err(body);
        assert_eq!(
            error,
            ScriptError::TooManyInstructions { function: "F" },
            "{body}"
        );
    }
}

#[test]
fn a_script_that_wants_all_memory_is_ended_and_the_next_one_runs() {
    let vm = Vm::default();
    let now = Timestamp::UNIX_EPOCH;
    let greedy = "function F() local t = {} for i = 1, 1e9 do t[i] = {i} end end";
    let greedy = vm.read(greedy).unwrap();
    let modest = vm.read("function F() return 1 end").unwrap();
    for _ in 0..3 {
        let error = vm.value(&greedy, "F", &[], None, now).unwrap_err();
        assert_eq!(error, ScriptError::TooMuchMemory { function: "F" });
        assert_eq!(vm.value(&modest, "F", &[], None, now).unwrap(), json!(1));
    }
    fails("function F() return string.rep('x', 1e9) end", "memory");
    fails(
        "function F() local function f() return 1 + f() end return f() end",
        "stack overflow",
    );
}

#[test]
fn there_is_no_way_out() {
    for call in [
        "io.open('/etc/passwd')",
        "os.execute('true')",
        "os.getenv('HOME')",
        "debug.getinfo(1)",
        "package.loadlib('x', 'y')",
    ] {
        fails(&format!("function F() {call} end"), "attempt to");
    }
    for function in [
        "load",
        "loadstring",
        "dofile",
        "getmetatable",
        "setmetatable",
        "rawset",
        "setfenv",
    ] {
        fails(
            &format!("function F() {function}({{}}) end"),
            "may not be used here",
        );
    }
    fails("function F() require('os') end", "there is no library os");
    fails("\u{1b}Lua", "");
}

#[test]
fn errors_can_be_caught() {
    assert_eq!(
        run("function F() local ok, e = pcall(error, 'x') return {ok, type(e)} end").unwrap(),
        json!([false, "string"])
    );
    assert_eq!(
        run("function F() return {pcall(function(a, b) return a + b end, 1, 2)} end").unwrap(),
        json!([true, 3])
    );
}

#[test]
fn the_library_counts_amounts() {
    let kube = |call: &str| {
        run(&format!(
            "local kube = require('kube') function F() return kube.{call} end"
        ))
    };
    assert_eq!(
        kube("resourceAdd('500m', '1', nil, '250m')").unwrap(),
        json!("1750m")
    );
    assert_eq!(
        kube("resourceAdd('1Gi', '512Mi')").unwrap(),
        json!("1536Mi")
    );
    assert_eq!(kube("resourceAdd()").unwrap(), json!("0"));
    assert_eq!(kube("getResourceQuantity('1500m')").unwrap(), json!(1.5));
    let error = kube("resourceAdd('many')").unwrap_err().to_string();
    assert!(
        error.contains("line 1") && error.contains("many"),
        "{error}"
    );
}

#[test]
fn the_library_reads_pods() {
    let template = json!({"spec": {
        "serviceAccountName": "bot",
        "containers": [{"resources": {"requests": {"cpu": "1"}}, "envFrom": [{"configMapRef": {"name": "settings"}}]}],
    }});
    let ask = |call: &str| {
        run_with(
            &format!("local kube = require('kube') function F(t) return kube.{call} end"),
            &[&template],
            None,
        )
        .unwrap()
    };
    assert_eq!(
        ask("accuratePodRequirements(t)"),
        json!({"resourceRequest": {"cpu": "1"}})
    );
    assert_eq!(
        ask("getPodDependencies(t, 'shop')"),
        json!([
            {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "settings"},
            {"apiVersion": "v1", "kind": "ServiceAccount", "namespace": "shop", "name": "bot"},
        ])
    );
}

#[test]
fn the_clock_stands_at_the_time_of_the_call() {
    for (call, expected) in [
        (
            "os.date('!%Y-%m-%dT%H:%M:%SZ')",
            json!("2026-12-01T10:20:30Z"),
        ),
        ("os.date('%Y', 0)", json!("1970")),
        ("os.date('*t', 0).year", json!(1970)),
        ("os.time()", json!(1_796_120_430)),
        (
            "os.time({year = 1970, month = 1, day = 2, hour = 0})",
            json!(86_400),
        ),
    ] {
        assert_eq!(
            run(&format!("function F() return {call} end")).unwrap(),
            expected,
            "{call}"
        );
    }
    fails("function F() return os.time({year = 2026}) end", "month");
}
