//! One look at a member: does it answer, and does it say it is ready.

use std::time::Duration;

use engine::health::Observation;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use kit::failure::root_cause;
use kube::Client;
use kube::client::Body;

/// As much of an answer as is worth repeating in a condition.
const MAX_WORDS: usize = 256;

/// Asks the member's `/readyz`, or `/healthz` where that does not exist; an answer that takes longer than `patience` is
/// none.
pub(super) async fn probe(client: &Client, patience: Duration) -> Observation {
    match tokio::time::timeout(patience, ask(client)).await {
        Ok(observation) => observation,
        Err(_) => Observation::Unreachable(format!("no answer within {patience:?}")),
    }
}

async fn ask(client: &Client) -> Observation {
    let answer = match get(client, "/readyz").await {
        Ok(answer) if answer.code == StatusCode::NOT_FOUND => get(client, "/healthz").await,
        answer => answer,
    };
    match answer {
        Ok(answer) => answer.judge(),
        Err(error) => Observation::Unreachable(root_cause(&error)),
    }
}

/// What a member said.
#[derive(Debug)]
struct Answer {
    path: &'static str,
    code: StatusCode,
    body: String,
}

impl Answer {
    fn judge(&self) -> Observation {
        let words = self.words();
        if self.code.is_success() {
            Observation::Healthy
        } else if matches!(self.code, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            Observation::Uncollectable(words)
        } else {
            Observation::Unhealthy(words)
        }
    }

    /// The code, and what the body says of it: the failed checks of a health endpoint, the message of an API status, or
    /// the beginning of whatever it is.
    fn words(&self) -> String {
        let status = serde_json::from_str::<serde_json::Value>(&self.body).ok();
        let message = status
            .as_ref()
            .and_then(|status| status.get("message")?.as_str());
        let failed: Vec<&str> = self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("[-]"))
            .collect();
        let said = match message {
            Some(message) => message.to_owned(),
            None if failed.is_empty() => self.body.split_whitespace().collect::<Vec<_>>().join(" "),
            None => failed.join(", "),
        };
        let head = format!("GET {} answered HTTP {}", self.path, self.code);
        if said.is_empty() {
            head
        } else {
            engine::trace::bounded(&format!("{head}: {said}"), MAX_WORDS)
        }
    }
}

async fn get(client: &Client, path: &'static str) -> Result<Answer, kube::Error> {
    let request = Request::get(path)
        .body(Body::empty())
        .map_err(kube::Error::HttpError)?;
    let (code, body) = read(client.send(request).await?).await?;
    Ok(Answer {
        path,
        code,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

/// The code and the whole body of an answer.
pub(super) async fn read(response: Response<Body>) -> Result<(StatusCode, Vec<u8>), kube::Error> {
    let code = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    Ok((code, body.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(code: u16, body: &str) -> Observation {
        Answer {
            path: "/readyz",
            code: StatusCode::from_u16(code).unwrap(),
            body: body.to_owned(),
        }
        .judge()
    }

    #[test]
    fn an_answer_is_judged_by_its_code_and_told_in_its_own_words() {
        let unauthorized =
            r#"{"kind":"Status","status":"Failure","message":"Unauthorized","code":401}"#;
        let checks = "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n";
        for (code, body, expected) in [
            (200, "ok", Observation::Healthy),
            (
                401,
                unauthorized,
                Observation::Uncollectable("GET /readyz answered HTTP 401 Unauthorized: Unauthorized".to_owned()),
            ),
            (403, "", Observation::Uncollectable("GET /readyz answered HTTP 403 Forbidden".to_owned())),
            (
                500,
                checks,
                Observation::Unhealthy(
                    "GET /readyz answered HTTP 500 Internal Server Error: etcd failed: reason withheld".to_owned(),
                ),
            ),
            (
                502,
                "<html>\n  bad\tgateway</html>",
                Observation::Unhealthy("GET /readyz answered HTTP 502 Bad Gateway: <html> bad gateway</html>".to_owned()),
            ),
        ] {
            assert_eq!(judge(code, body), expected);
        }
        let Observation::Unhealthy(words) = judge(500, &"x".repeat(10_000)) else {
            panic!("500 is unhealthy");
        };
        assert!(words.len() <= MAX_WORDS);
    }
}
