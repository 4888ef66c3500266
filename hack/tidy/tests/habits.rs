//! Habits of the code and the documents.

#![expect(clippy::unwrap_used, reason = "a test fails where it notices")]

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Names that say nothing about what is inside.
const BANNED: [&str; 5] = ["util", "utils", "common", "helpers", "misc"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Every file of the checkout with this extension; what is built or belongs to git is none of it.
fn files(extension: &str) -> Vec<PathBuf> {
    fn walk(directory: &Path, extension: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "target" && name != ".git" {
                    walk(&path, extension, found);
                }
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), extension, &mut found);
    found.sort();
    assert!(!found.is_empty(), "no .{extension} file was found");
    found
}

#[test]
fn modules_are_named_after_what_is_in_them() {
    for file in files("rs") {
        let stem = file.file_stem().unwrap().to_string_lossy();
        let directory = file
            .parent()
            .unwrap()
            .file_name()
            .unwrap()
            .to_string_lossy();
        for name in [stem, directory] {
            assert!(
                !BANNED.contains(&&*name),
                "{}: `{name}` says nothing",
                file.display()
            );
        }
    }
}

#[test]
fn nothing_is_left_to_do_in_the_code() {
    // Put together here, so that this file does not find itself.
    let marks = [["TO", "DO"], ["FIX", "ME"], ["XX", "X:"]].map(|parts| parts.concat());
    for file in files("rs") {
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            assert!(
                !marks.iter().any(|mark| line.contains(mark.as_str())),
                "{}:{}: {line}",
                file.display(),
                number + 1
            );
        }
    }
}

#[test]
fn files_tell_one_story_each() {
    for file in files("rs") {
        let is_test = file.components().any(|part| part.as_os_str() == "tests")
            || file
                .file_name()
                .unwrap()
                .to_string_lossy()
                .contains("tests");
        let text = fs::read_to_string(&file).unwrap();
        let code = text
            .split("#[cfg(test)]")
            .next()
            .unwrap_or_default()
            .lines()
            .count();
        let limit = if is_test { 900 } else { 600 };
        assert!(
            code <= limit,
            "{} has {code} lines; split it by concept",
            file.display()
        );
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    let link = Regex::new(r"\]\(([^)#]+)(#[^)]*)?\)").unwrap();
    for file in files("md") {
        let text = fs::read_to_string(&file).unwrap();
        for found in link.captures_iter(&text) {
            let target = &found[1];
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let path = file.parent().unwrap().join(target);
            assert!(
                path.exists(),
                "{}: `{target}` leads nowhere",
                file.display()
            );
        }
    }
}

#[test]
fn documents_that_the_configuration_refers_to_exist() {
    let document = Regex::new(r"docs/[a-z-]+\.md").unwrap();
    for extension in ["yaml", "rs"] {
        for file in files(extension) {
            let text = fs::read_to_string(&file).unwrap();
            for found in document.find_iter(&text) {
                assert!(
                    root().join(found.as_str()).exists(),
                    "{} refers to {}",
                    file.display(),
                    found.as_str()
                );
            }
        }
    }
}
