//! Why a request brought no answer that helps, in words, and what to do next.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use rustls::CertificateError;

/// What stands between us and an API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The name of the server has no address.
    Name(String),
    /// Nothing listens at the address.
    Refused,
    /// Nothing answered in time.
    Silence,
    /// Another failure of the network.
    Network(String),
    /// The server's certificate was issued by nobody we trust.
    Authority,
    /// The server's certificate is no longer valid, or not yet.
    Expired(String),
    /// The server's certificate is for other names.
    WrongName(String),
    /// TLS failed in another way.
    Tls(String),
    /// Our certificate is of a version that TLS libraries refuse.
    ClientCertificateVersion,
    /// What we were to present is unusable, or a helper program that gets it failed.
    Credentials(String),
    /// HTTP 401.
    Unauthorized,
    /// HTTP 403, with the server's words.
    Forbidden(String),
    /// HTTP 404, with the server's words.
    NotFound(String),
    /// Any other HTTP code, with the server's words.
    Answer(u16, String),
    /// An answer that is no Kubernetes.
    Garbled(String),
}

impl Trouble {
    /// Reads it from an error of the client.
    pub(crate) fn of(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::status(status.code, &status.message),
            kube::Error::Auth(error) => Self::Credentials(deepest(error)),
            kube::Error::SerdeError(error) => Self::Garbled(error.to_string()),
            other => Self::transport(other),
        }
    }

    fn status(code: u16, message: &str) -> Self {
        match code {
            401 => Self::Unauthorized,
            403 => Self::Forbidden(message.to_owned()),
            404 => Self::NotFound(message.to_owned()),
            _ => Self::Answer(code, message.to_owned()),
        }
    }

    fn transport(error: &(dyn StdError + 'static)) -> Self {
        for link in chain(error) {
            if let Some(tls) = link.downcast_ref::<rustls::Error>() {
                return Self::tls(tls);
            }
            let text = link.to_string();
            if text.contains("UnsupportedCertVersion") {
                return Self::ClientCertificateVersion;
            }
            if text.contains("failed to lookup address") {
                return Self::Name(text);
            }
            if let Some(found) = link.downcast_ref::<io::Error>().and_then(Self::io) {
                return found;
            }
        }
        match error.downcast_ref::<kube::Error>() {
            Some(kube::Error::RustlsTls(tls)) => Self::Credentials(deepest(tls)),
            _ => Self::Network(deepest(error)),
        }
    }

    fn tls(error: &rustls::Error) -> Self {
        let text = error.to_string();
        if text.contains("UnsupportedCertVersion") {
            return Self::ClientCertificateVersion;
        }
        match error {
            rustls::Error::InvalidCertificate(certificate) => match certificate {
                CertificateError::UnknownIssuer | CertificateError::BadSignature => Self::Authority,
                CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. } => Self::Expired(text),
                CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. } => Self::WrongName(text),
                _ => Self::Tls(text),
            },
            _ => Self::Tls(text),
        }
    }

    fn io(error: &io::Error) -> Option<Self> {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Some(Self::Refused),
            io::ErrorKind::TimedOut => Some(Self::Silence),
            io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::UnexpectedEof => Some(Self::Network(error.to_string())),
            _ => None,
        }
    }

    /// Whether the server answered, if only with an error.
    pub(crate) fn answered(&self) -> bool {
        matches!(
            self,
            Self::Unauthorized | Self::Forbidden(_) | Self::NotFound(_) | Self::Answer(..)
        )
    }

    /// Whether it is about TLS, so that the address itself was reached.
    pub(crate) fn is_tls(&self) -> bool {
        matches!(
            self,
            Self::Authority | Self::Expired(_) | Self::WrongName(_) | Self::Tls(_)
        )
    }

    /// What to do next.
    pub(crate) fn next(&self) -> &'static str {
        match self {
            Self::Name(_) => {
                "check the host name in the kubeconfig's server address, and that this machine can resolve it"
            }
            Self::Refused => {
                "check that the API server runs and that host and port of the kubeconfig's server address are right"
            }
            Self::Silence => {
                "check that the API server runs and that no firewall is in between; --request-timeout 30s waits longer"
            }
            Self::Network(_) => {
                "check the network between this machine and the address, and proxies in between (HTTPS_PROXY, proxy-url)"
            }
            Self::Authority => {
                "put the certificate authority that issued the server's certificate into the kubeconfig (certificate-authority-data)"
            }
            Self::Expired(_) => {
                "renew the API server's certificate, and check the clocks of both machines"
            }
            Self::WrongName(_) => {
                "use a server address that the certificate names, set tls-server-name, or re-issue the certificate with this name"
            }
            Self::Tls(_) => {
                "check that the server address begins with https:// only if the server speaks TLS, and that no proxy breaks it open"
            }
            Self::ClientCertificateVersion => {
                "issue it again with an extension, which makes it version 3: \
                 `openssl x509 -req -in user.csr -CA ca.crt -CAkey ca.key -extfile <(echo extendedKeyUsage=clientAuth) -out user.crt`"
            }
            Self::Credentials(_) => {
                "check the user entry of the kubeconfig: certificate and key belong together, the token file exists, the login command works"
            }
            Self::Unauthorized => {
                "the credentials are expired, revoked or for another cluster: get a fresh kubeconfig, or log in again"
            }
            Self::Forbidden(_) => {
                "ask an administrator of that cluster for the permission, or use a kubeconfig that has it"
            }
            Self::NotFound(_) => {
                "check that the address is that of a Kubernetes API server, and that it serves this kind"
            }
            Self::Answer(429 | 500..=599, _) => {
                "the API server is in trouble or busy: look at its /readyz and its log, then run the command again"
            }
            Self::Answer(..) => {
                "correct what the server's answer names, then run the command again"
            }
            Self::Garbled(_) => "check that the address is that of a Kubernetes API server",
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(text) => write!(f, "its name has no address: {text}"),
            Self::Refused => f.write_str("the connection is refused: nothing listens there"),
            Self::Silence => f.write_str("no answer in time"),
            Self::Network(text) => write!(f, "the network failed: {text}"),
            Self::Authority => {
                f.write_str("its certificate was issued by an authority that is not trusted")
            }
            Self::Expired(text) => write!(f, "its certificate is not valid now: {text}"),
            Self::WrongName(text) => write!(f, "its certificate is for another name: {text}"),
            Self::Tls(text) => write!(f, "TLS failed: {text}"),
            Self::ClientCertificateVersion => f.write_str(
                "the client certificate is an X.509 version 1 certificate, which TLS no longer accepts",
            ),
            Self::Credentials(text) => write!(f, "the credentials are unusable: {text}"),
            Self::Unauthorized => {
                f.write_str("HTTP 401 Unauthorized: the credentials are not accepted")
            }
            Self::Forbidden(text) => write!(f, "HTTP 403 Forbidden: {text}"),
            Self::NotFound(text) => write!(f, "HTTP 404 Not Found: {text}"),
            Self::Answer(code, text) => write!(f, "HTTP {code}: {text}"),
            Self::Garbled(text) => write!(f, "the answer is not that of Kubernetes: {text}"),
        }
    }
}

/// Every link of a chain of errors. The error inside of an [`io::Error`] is not among its sources; it is here.
fn chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    // No honest chain is that long.
    std::iter::successors(Some(error), |link| below(*link)).take(32)
}

fn below<'a>(link: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    let inner = link
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref);
    match inner {
        Some(inner) => Some(inner),
        None => link.source(),
    }
}

/// The words of the error that began it.
fn deepest(error: &(dyn StdError + 'static)) -> String {
    chain(error)
        .last()
        .map(ToString::to_string)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(error: impl StdError + Send + Sync + 'static) -> kube::Error {
        kube::Error::Service(Box::new(error))
    }

    #[test]
    fn refused_and_silent_addresses_are_told_apart() {
        let refused = service(io::Error::from(io::ErrorKind::ConnectionRefused));
        assert_eq!(Trouble::of(&refused), Trouble::Refused);
        let silent = service(io::Error::other(io::Error::from(io::ErrorKind::TimedOut)));
        assert_eq!(Trouble::of(&silent), Trouble::Silence);
    }

    #[test]
    fn failure_of_tls_inside_of_a_failure_of_the_network_is_found() {
        for (error, expected) in [
            (CertificateError::UnknownIssuer, Trouble::Authority),
            (
                CertificateError::Expired,
                Trouble::Expired("invalid peer certificate: Expired".to_owned()),
            ),
            (
                CertificateError::NotValidForName,
                Trouble::WrongName("invalid peer certificate: NotValidForName".to_owned()),
            ),
        ] {
            let wrapped = service(io::Error::new(
                io::ErrorKind::InvalidData,
                rustls::Error::InvalidCertificate(error),
            ));
            let trouble = Trouble::of(&wrapped);
            assert_eq!(trouble, expected);
            assert!(trouble.is_tls() && !trouble.answered());
        }
    }

    #[test]
    fn answers_carry_their_code() {
        let answer = |code| {
            let status = kube::core::Status::failure("no", "Reason").with_code(code);
            Trouble::of(&kube::Error::Api(status.boxed()))
        };
        assert_eq!(answer(401), Trouble::Unauthorized);
        assert_eq!(answer(403).to_string(), "HTTP 403 Forbidden: no");
        assert_eq!(answer(404), Trouble::NotFound("no".to_owned()));
        assert_eq!(answer(500).to_string(), "HTTP 500: no");
        assert!(answer(503).next().contains("/readyz"));
        assert!(answer(422).next().contains("correct"));
        assert!(answer(401).answered());
    }
}
