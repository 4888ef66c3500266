//! Clients of member clusters.
//!
//! A member's client is made from its Cluster object and the Secret it names, and made anew when either changes, so that rotated
//! credentials work without a restart. Members do not share anything: each has its own connection and budget, and [`MemberQueues`] gives each its
//! own queue and workers, so that a dead one costs the others nothing.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use crds::cluster::Cluster;
use http::{HeaderMap, HeaderName};
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::config::{AuthInfo, Config};
use secrecy::SecretString;
use tokio_util::sync::DropGuard;

use crate::client::{ConnectError, Limits, Server, connect_through};
use crate::metrics::Metrics;
use crate::process::Runtime;
use crate::queue::{Outcome, Queue};
use crate::store::{Key, Store};
use crate::watch::{self, Scope};

/// What it takes to reach a member, from its Cluster object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// `https://host:port`
    pub endpoint: String,
    /// Namespace and name of the Secret with `token` and `caBundle`.
    pub secret: Option<(String, String)>,
    /// Whether any certificate of the server will do.
    pub insecure: bool,
    /// Proxy on the way.
    pub proxy: Option<String>,
    /// Headers for that proxy.
    pub proxy_headers: Vec<(String, Vec<String>)>,
}

impl Access {
    /// Reads it from a Cluster.
    pub fn of(cluster: &Cluster) -> Self {
        let spec = &cluster.spec;
        Self {
            endpoint: spec.api_endpoint.clone().unwrap_or_default(),
            secret: spec
                .secret_ref
                .as_ref()
                .map(|secret| (secret.namespace.clone(), secret.name.clone())),
            insecure: spec.insecure_skip_tls_verification.unwrap_or_default(),
            proxy: spec.proxy_url.clone().filter(|proxy| !proxy.is_empty()),
            proxy_headers: spec
                .proxy_header
                .iter()
                .map(|(name, values)| {
                    let values = values.split(',').map(|value| value.trim().to_owned());
                    (name.clone(), values.collect())
                })
                .collect(),
        }
    }
}

/// Why there is no client for a member. The text stands in conditions, so it says what to do and holds no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemberError {
    /// No Cluster of that name.
    #[error("cluster {0} is not registered")]
    Unknown(String),
    /// The Cluster names no Secret.
    #[error("cluster {0} has no spec.secretRef; join it again with `karmadactl join`")]
    NoSecretRef(String),
    /// The Secret does not exist.
    #[error(
        "cluster {cluster}: secret {secret} does not exist; join it again with `karmadactl join`"
    )]
    NoSecret {
        /// The member.
        cluster: String,
        /// `namespace/name`
        secret: String,
    },
    /// Something in the Secret or the Cluster is unusable.
    #[error("cluster {cluster}: {what}")]
    Unusable {
        /// The member.
        cluster: String,
        /// Which field is wrong, and why.
        what: String,
    },
}

/// A member's client, and which state of its credentials it was made from.
#[derive(Clone)]
pub struct Member {
    /// Name of the Cluster.
    pub name: Arc<str>,
    /// Talks to the member.
    pub client: Client,
    /// Differs after each change of address or credentials.
    pub revision: u64,
}

struct Credentials {
    token: Option<SecretString>,
    authority: Option<Vec<u8>>,
    version: String,
}

impl PartialEq for Credentials {
    fn eq(&self, other: &Self) -> bool {
        self.version == other.version
    }
}

type OnChange = Arc<dyn Fn(&str) + Send + Sync>;

/// All members.
pub struct Pool {
    metrics: Metrics,
    limits: Limits,
    secrets: Arc<Store<Credentials>>,
    members: Mutex<HashMap<String, Slot>>,
}

struct Slot {
    access: Access,
    made: Option<Member>,
    revision: u64,
}

impl Pool {
    /// A pool that follows the Secrets in `karmada-cluster`. The operator tells it of Clusters with [`Pool::set`] and [`Pool::remove`];
    /// `changed` is told of members whose credentials changed, by name.
    pub fn start(runtime: &Runtime, changed: impl Fn(&str) + Send + Sync + 'static) -> Arc<Self> {
        let pool = Arc::new(Self {
            metrics: runtime.metrics.clone(),
            limits: Limits::MEMBER,
            secrets: Arc::default(),
            members: Mutex::default(),
        });
        let changed: OnChange = Arc::new(changed);
        let (forget, namespace) = (Arc::clone(&pool), crds::namespaces::KARMADA_CLUSTER);
        runtime.spawn(watch::run_in(
            runtime.client.clone(),
            namespace,
            Scope::host(),
            Arc::clone(&pool.secrets),
            Some(runtime.readiness.handle("secrets of members")),
            runtime.shutdown.clone(),
            |secret: Secret| Some(Credentials::of(secret)),
            move |change| {
                for name in forget.forget_users_of(namespace, &change.key.name) {
                    changed(&name);
                }
            },
        ));
        pool
    }

    /// A Cluster exists or has changed. Returns whether its address or credentials reference differ from before.
    pub fn set(&self, name: &str, access: Access) -> bool {
        let mut members = self.locked();
        match members.get_mut(name) {
            Some(slot) if slot.access == access => false,
            Some(slot) => {
                slot.access = access;
                slot.made = None;
                slot.revision += 1;
                true
            }
            None => {
                members.insert(
                    name.to_owned(),
                    Slot {
                        access,
                        made: None,
                        revision: 0,
                    },
                );
                true
            }
        }
    }

    /// A Cluster is gone.
    pub fn remove(&self, name: &str) {
        self.locked().remove(name);
    }

    /// The client of a member.
    ///
    /// # Errors
    ///
    /// If the member cannot be reached with what is known of it; nothing has been sent.
    pub fn member(&self, name: &str) -> Result<Member, MemberError> {
        let mut members = self.locked();
        let slot = members
            .get_mut(name)
            .ok_or_else(|| MemberError::Unknown(name.to_owned()))?;
        if let Some(made) = &slot.made {
            return Ok(made.clone());
        }
        let config = self.config(name, &slot.access)?;
        let unusable = |what| MemberError::Unusable {
            cluster: name.to_owned(),
            what,
        };
        let headers = headers(&slot.access.proxy_headers)
            .ok_or_else(|| unusable("spec.proxyHeader holds what is no HTTP header".to_owned()))?;
        let client = connect_through(config, headers, Server::Member, self.limits, &self.metrics)
            .map_err(|error| unusable(explain(&error)))?;
        let member = Member {
            name: name.into(),
            client,
            revision: slot.revision,
        };
        slot.made = Some(member.clone());
        Ok(member)
    }

    fn config(&self, name: &str, access: &Access) -> Result<Config, MemberError> {
        let unusable = |what: String| MemberError::Unusable {
            cluster: name.to_owned(),
            what,
        };
        let (namespace, secret) = access
            .secret
            .as_ref()
            .ok_or_else(|| MemberError::NoSecretRef(name.to_owned()))?;
        let credentials = self
            .secrets
            .get(&Key::new(Some(namespace), secret))
            .ok_or_else(|| MemberError::NoSecret {
                cluster: name.to_owned(),
                secret: format!("{namespace}/{secret}"),
            })?;
        let url = access.endpoint.parse().map_err(|error| {
            unusable(format!(
                "spec.apiEndpoint `{}` is no URL: {error}",
                access.endpoint
            ))
        })?;
        let mut config = Config::new(url);
        config.accept_invalid_certs = access.insecure;
        config.root_cert = match &credentials.authority {
            Some(bundle) if !access.insecure => Some(certificates(bundle).ok_or_else(|| {
                unusable(format!(
                    "secret {namespace}/{secret}: caBundle holds no PEM certificate"
                ))
            })?),
            _ => None,
        };
        config.proxy_url = access
            .proxy
            .as_ref()
            .map(|proxy| {
                // Not repeated in the message: it may hold a password.
                proxy
                    .parse()
                    .map_err(|error| unusable(format!("spec.proxyURL is no URL: {error}")))
            })
            .transpose()?;
        config.default_retry = false;
        let token = credentials
            .token
            .clone()
            .ok_or_else(|| unusable(format!("secret {namespace}/{secret} has no `token`")))?;
        config.auth_info = AuthInfo {
            token: Some(token),
            ..AuthInfo::default()
        };
        Ok(config)
    }

    fn forget_users_of(&self, namespace: &str, secret: &str) -> Vec<String> {
        let mut members = self.locked();
        let mut names = Vec::new();
        for (name, slot) in members.iter_mut() {
            let uses = slot
                .access
                .secret
                .as_ref()
                .is_some_and(|(ns, n)| ns == namespace && n == secret);
            if uses {
                slot.made = None;
                slot.revision += 1;
                names.push(name.clone());
            }
        }
        names
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<String, Slot>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Credentials {
    fn of(secret: Secret) -> Self {
        let mut data = secret.data.unwrap_or_default();
        Self {
            token: data
                .remove("token")
                .and_then(|token| String::from_utf8(token.0).ok())
                .map(|token| SecretString::from(token.trim().to_owned())),
            authority: data.remove("caBundle").map(|bundle| bundle.0),
            version: secret.metadata.resource_version.unwrap_or_default(),
        }
    }
}

fn headers(of_proxy: &[(String, Vec<String>)]) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, values) in of_proxy {
        let name = HeaderName::try_from(name).ok()?;
        for value in values {
            headers.append(name.clone(), value.parse().ok()?);
        }
    }
    Some(headers)
}

/// The DER certificates of a PEM bundle.
fn certificates(bundle: &[u8]) -> Option<Vec<Vec<u8>>> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject as _;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(bundle)
        .map(|der| der.map(|der| der.to_vec()))
        .collect();
    found.ok().filter(|list| !list.is_empty())
}

fn explain(error: &ConnectError) -> String {
    let cause = crate::failure::root_cause(error);
    let own = error.to_string();
    if cause == own {
        own
    } else {
        format!("{own}: {cause}")
    }
}

/// A queue and workers for each member.
pub struct MemberQueues<K> {
    name: &'static str,
    runtime: Runtime,
    concurrency: usize,
    work: Work<K>,
    queues: Mutex<HashMap<String, (Queue<K>, DropGuard)>>,
}

type Work<K> =
    Arc<dyn Fn(Arc<str>, K) -> futures::future::BoxFuture<'static, Outcome> + Send + Sync>;

impl<K: Clone + Eq + Hash + Debug + Send + Sync + 'static> MemberQueues<K> {
    /// No queue yet: each is made when its member first has work. `work` gets the member's name and the key.
    pub fn new<F, W>(name: &'static str, runtime: &Runtime, concurrency: usize, work: F) -> Self
    where
        F: Fn(Arc<str>, K) -> W + Send + Sync + 'static,
        W: Future<Output = Outcome> + Send + 'static,
    {
        Self {
            name,
            runtime: runtime.clone(),
            concurrency,
            work: Arc::new(move |member, key| Box::pin(work(member, key))),
            queues: Mutex::default(),
        }
    }

    /// The queue of a member; made and served from now on if it is new.
    pub fn of(&self, member: &str) -> Queue<K> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((queue, _)) = queues.get(member) {
            return queue.clone();
        }
        let queue = Queue::new(format!("{}/{member}", self.name), &self.runtime.metrics);
        let stop = self.runtime.shutdown.child_token();
        let (served, token, work, name) = (
            queue.clone(),
            stop.clone(),
            Arc::clone(&self.work),
            Arc::<str>::from(member),
        );
        let concurrency = self.concurrency;
        self.runtime.spawn(async move {
            served
                .run(concurrency, token, move |key| work(Arc::clone(&name), key))
                .await;
        });
        queues.insert(member.to_owned(), (queue.clone(), stop.drop_guard()));
        queue
    }

    /// Ends the queue of a member that left; running work is finished.
    pub fn remove(&self, member: &str) {
        self.queues
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(member);
    }
}
