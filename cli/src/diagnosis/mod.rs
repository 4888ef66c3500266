//! Whether a cluster can be worked with, found out step by step before anything is made: the address, TLS, who we are, and
//! what we may do.

mod permission;

pub(crate) use permission::{Permission, may};

use std::time::Duration;

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::api::{Api, PostParams};
use tokio::net::TcpStream;

use crate::access::Access;
use crate::trouble::Trouble;
use crate::ui::Ui;

/// Who comes without credentials.
const ANONYMOUS: &str = "system:anonymous";
/// How many refused permissions a message lists.
const LISTED: usize = 12;

/// A cluster cannot be worked with.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub(crate) enum Error {
    #[error("the API server of {place} at {address} cannot be reached: {trouble}")]
    #[diagnostic(help("{}", trouble.next()))]
    Address {
        place: String,
        address: String,
        trouble: Trouble,
    },
    #[error("the API server of {place} at {address} is reached, but cannot be trusted: {trouble}")]
    #[diagnostic(help("{}", trouble.next()))]
    Tls {
        place: String,
        address: String,
        trouble: Trouble,
    },
    #[error("what answers for {place} at {address} is of no use: {trouble}")]
    #[diagnostic(help("{}", trouble.next()))]
    Api {
        place: String,
        address: String,
        trouble: Trouble,
    },
    #[error("{place} does not accept who we are: {trouble}")]
    #[diagnostic(help("{}", trouble.next()))]
    Identity { place: String, trouble: Trouble },
    #[error("{place} sees nobody: the kubeconfig has no credentials")]
    #[diagnostic(help(
        "use a kubeconfig whose user has a certificate, a token or a login command"
    ))]
    Nobody { place: String },
    #[error("{place} does not tell what {who} may do: {trouble}")]
    #[diagnostic(help("{}", trouble.next()))]
    Question {
        place: String,
        who: String,
        trouble: Trouble,
    },
    #[error("{place} refuses {who} what is needed (HTTP 403 Forbidden): {refused}")]
    #[diagnostic(help(
        "use a kubeconfig with these permissions, such as that of a cluster administrator; nothing was changed"
    ))]
    Refused {
        place: String,
        who: String,
        refused: String,
    },
}

/// Takes all steps and shows each. Nothing is changed.
pub(crate) async fn check(
    ui: &Ui,
    place: &str,
    access: &Access,
    needs: &[Permission],
) -> Result<(), Error> {
    ui.heading(format_args!("Checking {place}"));
    ui.good("kubeconfig", &access.origin);
    reach(ui, place, access).await?;
    let who = identify(ui, place, access).await?;
    permissions(ui, place, access, &who, needs).await
}

/// The address, TLS and the API behind it.
async fn reach(ui: &Ui, place: &str, access: &Access) -> Result<(), Error> {
    let address = access.address();
    let limit = access
        .config
        .connect_timeout
        .unwrap_or(Duration::from_secs(10));
    // Behind a proxy only the proxy can be tried by itself; the request below goes all the way.
    if access.config.proxy_url.is_none()
        && let Err(trouble) = connect(&access.config.cluster_url, limit).await
    {
        ui.bad("address", format_args!("{address}: {trouble}"));
        return Err(Error::Address {
            place: place.to_owned(),
            address,
            trouble,
        });
    }
    let version = match access.client.apiserver_version().await {
        Ok(version) => version.git_version,
        Err(error) => {
            let trouble = Trouble::of(&error);
            return match trouble {
                // The server answered; who we are is the next step's question.
                Trouble::Unauthorized | Trouble::Forbidden(_) => {
                    ui.good("address", &address);
                    ui.good("API", "answers");
                    Ok(())
                }
                trouble if trouble.is_tls() => {
                    ui.good("address", &address);
                    ui.bad("TLS", &trouble);
                    Err(Error::Tls {
                        place: place.to_owned(),
                        address,
                        trouble,
                    })
                }
                trouble if trouble.answered() || matches!(trouble, Trouble::Garbled(_)) => {
                    ui.good("address", &address);
                    ui.bad("API", &trouble);
                    Err(Error::Api {
                        place: place.to_owned(),
                        address,
                        trouble,
                    })
                }
                Trouble::Credentials(_) | Trouble::ClientCertificateVersion => {
                    ui.good("address", &address);
                    ui.bad("identity", &trouble);
                    Err(Error::Identity {
                        place: place.to_owned(),
                        trouble,
                    })
                }
                trouble => {
                    ui.bad("address", format_args!("{address}: {trouble}"));
                    Err(Error::Address {
                        place: place.to_owned(),
                        address,
                        trouble,
                    })
                }
            };
        }
    };
    ui.good("address", &address);
    if access.config.cluster_url.scheme_str() == Some("https") {
        let verified = if access.config.accept_invalid_certs {
            "encrypted, but the server's certificate is not verified (insecure-skip-tls-verify)"
        } else {
            "the server's certificate is valid"
        };
        ui.good("TLS", verified);
    }
    ui.good("API", format_args!("Kubernetes {version}"));
    Ok(())
}

async fn connect(url: &http::Uri, limit: Duration) -> Result<(), Trouble> {
    let host = url.host().unwrap_or_default();
    // The brackets of an IPv6 address belong to the URL.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = url.port_u16().unwrap_or(match url.scheme_str() {
        Some("http") => 80,
        _ => 443,
    });
    match tokio::time::timeout(limit, TcpStream::connect((host, port))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(Trouble::of(&kube::Error::Service(Box::new(error)))),
        Err(_) => Err(Trouble::Silence),
    }
}

fn nobody(ui: &Ui, place: &str) -> Error {
    ui.bad("identity", "nobody: no credentials were presented");
    Error::Nobody {
        place: place.to_owned(),
    }
}

/// Who the server says we are.
async fn identify(ui: &Ui, place: &str, access: &Access) -> Result<String, Error> {
    let api: Api<SelfSubjectReview> = Api::all(access.client.clone());
    let answer = api
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await;
    let trouble = match answer {
        Ok(review) => {
            let user = review
                .status
                .and_then(|status| status.user_info)
                .unwrap_or_default();
            let name = user.username.unwrap_or_default();
            if name == ANONYMOUS {
                return Err(nobody(ui, place));
            }
            let groups = user.groups.unwrap_or_default().join(", ");
            ui.good("identity", format_args!("{name} ({groups})"));
            return Ok(name);
        }
        Err(error) => Trouble::of(&error),
    };
    match trouble {
        Trouble::Forbidden(text) if text.contains(ANONYMOUS) => Err(nobody(ui, place)),
        // An old server, or one that does not tell; what we may do is asked next in any case.
        Trouble::NotFound(_) | Trouble::Forbidden(_) => {
            ui.open("identity", "the server does not tell");
            Ok("this user".to_owned())
        }
        trouble => {
            ui.bad("identity", &trouble);
            Err(Error::Identity {
                place: place.to_owned(),
                trouble,
            })
        }
    }
}

/// Whether everything needed is allowed; all that is refused is named at once.
async fn permissions(
    ui: &Ui,
    place: &str,
    access: &Access,
    who: &str,
    needs: &[Permission],
) -> Result<(), Error> {
    let answers = may(&access.client, needs).await.map_err(|trouble| {
        ui.bad("permissions", &trouble);
        Error::Question {
            place: place.to_owned(),
            who: who.to_owned(),
            trouble,
        }
    })?;
    let refused: Vec<&Permission> = needs
        .iter()
        .zip(answers)
        .filter_map(|(need, allowed)| (!allowed).then_some(need))
        .collect();
    if refused.is_empty() {
        ui.good(
            "permissions",
            format_args!("all {} that are needed", needs.len()),
        );
        return Ok(());
    }
    for need in &refused {
        ui.bad("permissions", format_args!("HTTP 403 Forbidden: {need}"));
    }
    Err(Error::Refused {
        place: place.to_owned(),
        who: who.to_owned(),
        refused: listing(&refused),
    })
}

fn listing(refused: &[&Permission]) -> String {
    let mut words: Vec<String> = refused
        .iter()
        .take(LISTED)
        .map(ToString::to_string)
        .collect();
    if refused.len() > LISTED {
        words.push(format!("{} more", refused.len() - LISTED));
    }
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_of_refusals_are_cut() {
        let need = Permission::on("create", "", "secrets").within("ns");
        let many: Vec<&Permission> = std::iter::repeat_n(&need, 14).collect();
        let text = listing(&many);
        assert!(text.ends_with("; 2 more"), "{text}");
        assert_eq!(listing(&many[..1]), "create secrets in namespace ns");
    }

    #[tokio::test]
    async fn address_nobody_listens_at_is_refused() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        drop(listener);
        let url: http::Uri = format!("https://{address}").parse().expect("a URL");
        let found = connect(&url, Duration::from_secs(5)).await;
        assert_eq!(found, Err(Trouble::Refused));
    }
}
