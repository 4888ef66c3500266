//! What a bed consists of.

/// A member cluster as it is to be started.
///
/// ```
/// use testbed::Member;
/// let big = Member::named("big").nodes(3).capacity("16", "64Gi");
/// let api_only = Member::named("api-only").bare();
/// ```
#[derive(Clone, Debug)]
pub struct Member {
    pub(crate) name: String,
    pub(crate) bare: bool,
    pub(crate) nodes: usize,
    pub(crate) cpu: String,
    pub(crate) memory: String,
    pub(crate) pods: String,
    pub(crate) storage_can_fail: bool,
}

impl Member {
    /// A full member with one node: its controllers, its scheduler, and kwok in place of kubelets.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            bare: false,
            nodes: 1,
            cpu: "8".to_owned(),
            memory: "32Gi".to_owned(),
            pods: "110".to_owned(),
            storage_can_fail: false,
        }
    }

    /// Only the API server: objects can be stored, but nothing acts on them; namespaces are not cleaned when deleted.
    /// A quarter of the memory and the start of a full member.
    #[must_use]
    pub fn bare(mut self) -> Self {
        self.bare = true;
        self.nodes = 0;
        self
    }

    /// How many nodes it has.
    #[must_use]
    pub fn nodes(mut self, nodes: usize) -> Self {
        self.nodes = nodes;
        self
    }

    /// What each node has to give: CPU and memory as Kubernetes quantities.
    #[must_use]
    pub fn capacity(mut self, cpu: impl Into<String>, memory: impl Into<String>) -> Self {
        self.cpu = cpu.into();
        self.memory = memory.into();
        self
    }

    /// Puts a proxy between its API server and etcd, for [`crate::Cluster::set_storage_network`].
    #[must_use]
    pub fn storage_can_fail(mut self) -> Self {
        self.storage_can_fail = true;
        self
    }

    /// How many pods fit on each node.
    #[must_use]
    pub fn pods(mut self, pods: u32) -> Self {
        self.pods = pods.to_string();
        self
    }
}

/// What runs beside an API server.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    /// The control plane; its controllers only if asked for.
    ControlPlane { controllers: bool },
    /// A member.
    Member(Member),
}

impl Role {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::ControlPlane { .. } => "control-plane",
            Self::Member(member) => &member.name,
        }
    }

    pub(crate) fn storage_can_fail(&self) -> bool {
        matches!(self, Self::Member(member) if member.storage_can_fail)
    }

    /// Whether service accounts come into being by themselves.
    pub(crate) fn has_controllers(&self) -> bool {
        match self {
            Self::ControlPlane { controllers } => *controllers,
            Self::Member(member) => !member.bare,
        }
    }
}
