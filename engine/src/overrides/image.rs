//! Names of container images and their parts.

use std::fmt;

use crds::policy::{ImageComponent, OverriderOperator};

/// `registry/repository:tag@digest`, each part but the repository optional.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Image {
    registry: String,
    repository: String,
    tag: String,
    digest: String,
}

impl Image {
    /// Takes a name apart. The first part is a registry only if it can be a host: it has a dot or a port, or is `localhost`.
    pub(super) fn parse(name: &str) -> Result<Self, String> {
        let wrong = || format!("`{name}` is no name of an image");
        let (rest, digest) = match name.split_once('@') {
            Some((_, "")) => return Err(wrong()),
            Some((rest, digest)) => (rest, digest),
            None => (name, ""),
        };
        let (registry, path) = match rest.split_once('/') {
            Some((first, path)) if first.contains(['.', ':']) || first == "localhost" => {
                (first, path)
            }
            _ => ("", rest),
        };
        let (repository, tag) = match path.rsplit_once(':') {
            Some((_, "")) => return Err(wrong()),
            Some((repository, tag)) => (repository, tag),
            None => (path, ""),
        };
        if repository.is_empty() || tag.contains('/') {
            return Err(wrong());
        }
        Ok(Self {
            registry: registry.to_owned(),
            repository: repository.to_owned(),
            tag: tag.to_owned(),
            digest: digest.to_owned(),
        })
    }

    /// Changes one part: `add` appends to it, `replace` sets it, `remove` takes it away. Tag and digest are one part: setting the one drops the other.
    pub(super) fn change(
        &mut self,
        component: ImageComponent,
        operator: OverriderOperator,
        value: &str,
    ) -> Result<(), String> {
        match component {
            ImageComponent::Registry => change(&mut self.registry, operator, value),
            ImageComponent::Repository => {
                change(&mut self.repository, operator, value);
                if self.repository.is_empty() {
                    return Err("an image without a repository is none".to_owned());
                }
            }
            ImageComponent::Tag => self.change_tag(operator, value),
        }
        Ok(())
    }

    fn change_tag(&mut self, operator: OverriderOperator, value: &str) {
        match operator {
            OverriderOperator::Remove => {
                self.tag.clear();
                self.digest.clear();
            }
            OverriderOperator::Replace if value.contains(':') => {
                self.tag.clear();
                value.clone_into(&mut self.digest);
            }
            OverriderOperator::Replace => {
                value.clone_into(&mut self.tag);
                self.digest.clear();
            }
            // A digest beside a tag would still say which image is run, so it goes when the tag changes.
            OverriderOperator::Add if self.digest.is_empty() || !self.tag.is_empty() => {
                self.tag.push_str(value);
                self.digest.clear();
            }
            OverriderOperator::Add => self.digest.push_str(value),
        }
    }
}

fn change(part: &mut String, operator: OverriderOperator, value: &str) {
    match operator {
        OverriderOperator::Add => part.push_str(value),
        OverriderOperator::Replace => value.clone_into(part),
        OverriderOperator::Remove => part.clear(),
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            registry,
            repository,
            tag,
            digest,
        } = self;
        if !registry.is_empty() {
            write!(f, "{registry}/")?;
        }
        f.write_str(repository)?;
        if !tag.is_empty() {
            write!(f, ":{tag}")?;
        }
        if !digest.is_empty() {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}
