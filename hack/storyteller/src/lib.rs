//! Tells the whole story on real API servers, for people: three clusters join, a Deployment is spread over them, one cluster
//! is lost, its replicas move, the cluster comes back. Behind `hack/demo`.

pub mod screen;
pub mod story;
