//! The files install by every way that users have.

use crate::bed;
use anyhow::Result;
use testbed::repository;

/// Runs a command against the server without keeping anything.
async fn kubectl(verb: &[&str]) -> Result<String> {
    let bed = bed::installed().await?;
    let directory = repository().join("config/crd");
    let directory = directory
        .to_str()
        .expect("the path of the checkout is UTF-8");
    bed.control_plane()
        .kubectl(&[verb, &["--dry-run=server", "--kustomize", directory]].concat())
        .await
}

#[tokio::test]
async fn by_server_side_apply() -> Result<()> {
    // Other tests may be changing a definition for a moment; the field is theirs then.
    let output = kubectl(&["apply", "--server-side", "--force-conflicts"]).await?;
    assert_eq!(output.lines().count(), crds::all().len(), "{output}");
    Ok(())
}

/// Client-side apply keeps the whole object in an annotation, which has an end.
#[tokio::test]
async fn by_client_side_apply() -> Result<()> {
    let output = kubectl(&["apply"]).await?;
    assert_eq!(output.lines().count(), crds::all().len(), "{output}");
    Ok(())
}

#[tokio::test]
async fn by_replace() -> Result<()> {
    let output = kubectl(&["replace"]).await?;
    assert_eq!(output.lines().count(), crds::all().len(), "{output}");
    Ok(())
}

/// A definition that the server had to complain about, and serves all the same, would surprise later.
#[tokio::test]
async fn without_complaint() -> Result<()> {
    let bed = bed::installed().await?;
    let conditions = bed
        .control_plane()
        .kubectl(&[
            "get",
            "crd",
            "-o",
            r#"jsonpath={range .items[*]}{.metadata.name}{" "}{.status.conditions[?(@.type=="NonStructuralSchema")].status}{.status.conditions[?(@.type=="NamesAccepted")].status}{"\n"}{end}"#,
        ])
        .await?;
    for line in conditions.lines() {
        assert!(line.ends_with(" True"), "{line}");
    }
    Ok(())
}
