//! What is made in the member: an account for the control plane, and one for impersonating users.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Namespace, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{
    AggregationRule, ClusterRole, ClusterRoleBinding, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use kube::Client;
use kube::ResourceExt as _;
use kube::api::Api;

use super::{role, writing};
use crate::access::Access;
use crate::diagnosis::{Permission, may};
use crate::objects::Object;
use crate::trouble::Trouble;

const RBAC: &str = "rbac.authorization.k8s.io";
const IMPERSONATOR: &str = "karmada-impersonator";
const TOKEN_TYPE: &str = "kubernetes.io/service-account-token";
const TOKEN_OF: &str = "kubernetes.io/service-account.name";
/// On the account: the identity of the control plane that it belongs to.
const OWNER: &str = "karmadactl.karmada.io/control-plane";

/// API servers notice new roles within a second, busy ones later.
const ROLES_TAKE_EFFECT: Duration = Duration::from_secs(20);

/// The account of a control plane in a member.
pub(crate) struct Account {
    name: String,
    namespace: String,
    everything: bool,
}

/// The account belongs to another control plane.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("the account {account} in {member} belongs to another control plane, with the id {owner}")]
#[diagnostic(help(
    "join under another name, or with another --cluster-namespace: leaving one control plane would break the other"
))]
pub(crate) struct Foreign {
    account: String,
    member: String,
    owner: String,
}

impl Account {
    /// The account for the member of this name.
    pub(crate) fn new(cluster: &str, namespace: &str, everything: bool) -> Self {
        Self {
            name: format!("karmada-{cluster}"),
            namespace: namespace.to_owned(),
            everything,
        }
    }

    /// The name of the Secret with the account's token.
    pub(crate) fn secret(&self) -> (String, String) {
        (self.namespace.clone(), self.name.clone())
    }

    /// The name of the Secret with the impersonator's token.
    pub(crate) fn impersonator_secret(&self) -> (String, String) {
        (self.namespace.clone(), IMPERSONATOR.to_owned())
    }

    /// What whoever joins must be allowed to do in the member.
    pub(crate) fn needs(&self) -> Vec<Permission> {
        let mut needs = writing("", "namespaces").to_vec();
        for resource in ["serviceaccounts", "secrets"] {
            needs.extend(writing("", resource).map(|need| need.within(&self.namespace)));
        }
        for resource in ["clusterroles", "clusterrolebindings"] {
            needs.extend(writing(RBAC, resource));
        }
        // One that grants more than its author has is refused, and one that Kubernetes fills grants who knows what.
        needs.push(Permission::on("escalate", RBAC, "clusterroles"));
        needs.push(Permission::on("bind", RBAC, "clusterroles"));
        needs
    }

    /// Everything, in the order in which it has to be made.
    pub(crate) fn objects(&self, owner: &str) -> Vec<Object> {
        let (own, extension) = (self.role_name(), self.extension_name());
        let mut account = self.service_account(&self.name);
        account
            .annotations_mut()
            .insert(OWNER.to_owned(), owner.to_owned());
        vec![
            Object::new(&Namespace {
                metadata: named(&self.namespace),
                ..Namespace::default()
            }),
            Object::new(&account),
            Object::new(&self.service_account(IMPERSONATOR)),
            Object::new(&ClusterRole {
                metadata: named(&own),
                rules: Some(role::rules(self.everything)),
                ..ClusterRole::default()
            }),
            Object::new(&ClusterRole {
                metadata: named(&extension),
                aggregation_rule: Some(AggregationRule {
                    cluster_role_selectors: Some(vec![LabelSelector {
                        match_labels: Some(
                            [(role::EXTENSION.to_owned(), "true".to_owned())].into(),
                        ),
                        ..LabelSelector::default()
                    }]),
                }),
                ..ClusterRole::default()
            }),
            Object::new(&self.binding(&own)),
            Object::new(&self.binding(&extension)),
            Object::new(&self.token(&self.name)),
            Object::new(&self.token(IMPERSONATOR)),
        ]
    }

    /// What goes when the member leaves; what other control planes share only if nobody else is left.
    pub(crate) fn leftovers(&self, alone: bool) -> Vec<Object> {
        let mut objects = self.objects("");
        if !alone {
            let shared = [self.namespace.as_str(), IMPERSONATOR];
            objects.retain(|object| !shared.contains(&object.name().as_str()));
        }
        objects.reverse();
        objects
    }

    /// Whether no other control plane has an account in the namespace.
    pub(crate) async fn alone(&self, client: &Client) -> Result<bool, kube::Error> {
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &self.namespace);
        let found = accounts.list(&kube::api::ListParams::default()).await?;
        Ok(!found.iter().any(|account| {
            account.name_any() != self.name && account.annotations().contains_key(OWNER)
        }))
    }

    /// Whether the account is ours or free.
    pub(crate) async fn owned_by_us(
        &self,
        client: &Client,
        member: &str,
        owner: &str,
    ) -> Result<(), super::Error> {
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &self.namespace);
        let found = accounts
            .get_metadata_opt(&self.name)
            .await
            .map_err(|error| super::Error::Look {
                place: member.to_owned(),
                trouble: Trouble::of(&error),
            })?;
        let other = found
            .as_ref()
            .and_then(|account| account.annotations().get(OWNER))
            .filter(|found| *found != owner);
        match other {
            None => Ok(()),
            Some(other) => Err(super::Error::Foreign(Foreign {
                account: format!("{}/{}", self.namespace, self.name),
                member: member.to_owned(),
                owner: other.clone(),
            })),
        }
    }

    /// Waits until the account may do what operators do first: look at the cluster, and apply a Deployment.
    pub(crate) async fn proven(&self, access: &Access) -> Result<(), Trouble> {
        let needs = [
            Permission::on("get", "", "/readyz"),
            Permission::on("list", "", "nodes"),
            Permission::on("patch", "apps", "deployments"),
        ];
        let start = Instant::now();
        loop {
            let trouble = match may(&access.client, &needs).await {
                Ok(answers) => match needs.iter().zip(answers).find(|(_, allowed)| !allowed) {
                    None => return Ok(()),
                    Some((need, _)) => Trouble::Forbidden(need.to_string()),
                },
                Err(trouble @ (Trouble::Unauthorized | Trouble::Forbidden(_))) => trouble,
                Err(trouble) => return Err(trouble),
            };
            if start.elapsed() > ROLES_TAKE_EFFECT {
                return Err(trouble);
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    fn role_name(&self) -> String {
        format!("karmada-controller-manager:{}", self.name)
    }

    fn extension_name(&self) -> String {
        format!("{}:extension", self.role_name())
    }

    fn service_account(&self, name: &str) -> ServiceAccount {
        ServiceAccount {
            metadata: self.within(name),
            // Tokens are made below; no pod runs under this account.
            automount_service_account_token: Some(false),
            ..ServiceAccount::default()
        }
    }

    fn binding(&self, role: &str) -> ClusterRoleBinding {
        ClusterRoleBinding {
            metadata: named(role),
            role_ref: RoleRef {
                api_group: Some(RBAC.to_owned()),
                kind: "ClusterRole".to_owned(),
                name: role.to_owned(),
            },
            subjects: Some(vec![Subject {
                kind: "ServiceAccount".to_owned(),
                name: self.name.clone(),
                namespace: Some(self.namespace.clone()),
                ..Subject::default()
            }]),
        }
    }

    fn token(&self, account: &str) -> Secret {
        let mut secret = Secret {
            metadata: self.within(account),
            type_: Some(TOKEN_TYPE.to_owned()),
            ..Secret::default()
        };
        secret
            .annotations_mut()
            .insert(TOKEN_OF.to_owned(), account.to_owned());
        secret
    }

    fn within(&self, name: &str) -> ObjectMeta {
        ObjectMeta {
            namespace: Some(self.namespace.clone()),
            ..named(name)
        }
    }
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_contract() {
        let account = Account::new("m1", "karmada-cluster", false);
        let names: Vec<String> = account
            .objects("id")
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            names,
            [
                "namespace/karmada-cluster",
                "serviceaccount/karmada-m1 -n karmada-cluster",
                "serviceaccount/karmada-impersonator -n karmada-cluster",
                "clusterrole/karmada-controller-manager:karmada-m1",
                "clusterrole/karmada-controller-manager:karmada-m1:extension",
                "clusterrolebinding/karmada-controller-manager:karmada-m1",
                "clusterrolebinding/karmada-controller-manager:karmada-m1:extension",
                "secret/karmada-m1 -n karmada-cluster",
                "secret/karmada-impersonator -n karmada-cluster",
            ]
        );
    }

    #[test]
    fn what_is_shared_stays_for_the_others() {
        let account = Account::new("m1", "karmada-cluster", false);
        let names: Vec<String> = account.leftovers(false).iter().map(Object::name).collect();
        assert!(!names.contains(&"karmada-cluster".to_owned()));
        assert!(!names.contains(&"karmada-impersonator".to_owned()));
        assert!(names.contains(&"karmada-m1".to_owned()));
        assert_eq!(account.leftovers(true).len(), 9);
    }
}
