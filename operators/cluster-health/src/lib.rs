//! Watches the health of member clusters and reports it on their Cluster objects.
