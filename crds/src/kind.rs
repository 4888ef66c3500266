//! The root object of a kind.
//!
//! Twin kinds share one spec type ([`crate::policy::PropagationSpec`] belongs to both propagation policies), which
//! `kube`'s derive cannot express: it makes exactly one root per spec. So the roots are written by the macro below.

use kube::core::{ClusterResourceScope, NamespaceResourceScope};

/// What a kind is called, and where its objects live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The API group.
    pub group: &'static str,
    /// The one version served and stored.
    pub version: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The resource name in URLs.
    pub plural: &'static str,
    /// The names `kubectl` accepts besides.
    pub short: &'static [&'static str],
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Whether the kind belongs to the category `karmada-io`.
    pub categorised: bool,
}

impl Kind {
    /// The name of the kind's definition object.
    pub fn crd_name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// The group and version in one string.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }
}

/// Whether a compile-time scope is the namespaced one.
pub(crate) trait Scoped {
    /// True for kinds whose objects live in namespaces.
    const NAMESPACED: bool;
}

impl Scoped for NamespaceResourceScope {
    const NAMESPACED: bool = true;
}

impl Scoped for ClusterResourceScope {
    const NAMESPACED: bool = false;
}

/// Writes the root object of a kind: metadata, spec, perhaps status, and what `kube` wants to know about it.
macro_rules! kind {
    (
        $(#[doc = $doc:literal])+
        $name:ident = $group:literal / $version:literal, $plural:literal, short $short:expr, $scope:ident, categorised $categorised:literal,
        spec: $(#[$spec_attr:meta])* $spec:ty
        $(, status: $status:ty)?
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
        pub struct $name {
            /// Name, namespace, labels and the rest of what every object has.
            pub metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
            /// What is wanted.
            $(#[$spec_attr])*
            pub spec: $spec,
            $(
                /// What was observed.
                #[serde(default)]
                pub status: Option<$status>,
            )?
        }

        impl $name {
            /// What the kind is called, and where its objects live.
            pub const KIND: $crate::Kind = $crate::Kind {
                group: $group,
                version: $version,
                kind: stringify!($name),
                plural: $plural,
                short: $short,
                namespaced: <kube::core::$scope as $crate::kind::Scoped>::NAMESPACED,
                categorised: $categorised,
            };

            /// What the kind is for.
            pub(crate) const DOC: &'static str = concat!($($doc),+).trim_ascii();

            /// Makes an object with this name and spec, and nothing else.
            pub fn new(name: &str, spec: $spec) -> Self {
                Self {
                    metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                        name: Some(name.to_owned()),
                        ..Default::default()
                    },
                    spec,
                    $(status: None::<$status>,)?
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct;
                let mut object = serializer.serialize_struct(stringify!($name), 5)?;
                object.serialize_field("apiVersion", concat!($group, "/", $version))?;
                object.serialize_field("kind", stringify!($name))?;
                object.serialize_field("metadata", &self.metadata)?;
                object.serialize_field("spec", &self.spec)?;
                $(
                    let status: &Option<$status> = &self.status;
                    if status.is_some() {
                        object.serialize_field("status", status)?;
                    }
                )?
                object.end()
            }
        }

        impl kube::Resource for $name {
            type DynamicType = ();
            type Scope = kube::core::$scope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                stringify!($name).into()
            }
            fn group((): &()) -> std::borrow::Cow<'_, str> {
                $group.into()
            }
            fn version((): &()) -> std::borrow::Cow<'_, str> {
                $version.into()
            }
            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }
            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}
