//! The certificates and keys of one cluster.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};

/// A certificate with its private key, as PEM.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// Whether a client certificate is (still) valid.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Validity {
    Valid,
    Expired,
}

/// The certificate authority of one cluster, and the files its servers read.
pub(crate) struct Pki {
    directory: PathBuf,
    authority: CertifiedIssuer<'static, KeyPair>,
}

impl Pki {
    /// Makes a new authority and writes what a kube-apiserver and a kube-controller-manager need.
    pub(crate) fn create(directory: &Path, cluster: &str) -> Result<Self> {
        fs::create_dir_all(directory)
            .with_context(|| format!("creating {}", directory.display()))?;
        let authority = authority(&format!("{cluster}-ca"))?;
        let front_proxy = self::authority(&format!("{cluster}-front-proxy-ca"))?;
        let pki = Self {
            directory: directory.to_owned(),
            authority,
        };

        pki.write("ca.crt", pki.authority.pem())?;
        pki.write("ca.key", pki.authority.key().serialize_pem())?;
        let mut serving = CertificateParams::new(
            [
                "127.0.0.1",
                "localhost",
                "kubernetes",
                "kubernetes.default",
                "kubernetes.default.svc",
            ]
            .map(str::to_owned),
        )?;
        serving.distinguished_name = name("kube-apiserver", &[]);
        serving.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        pki.write_identity("serving", &issue(serving, &pki.authority)?)?;

        pki.write("front-proxy-ca.crt", front_proxy.pem())?;
        let client = client("front-proxy-client", &[], Validity::Valid);
        pki.write_identity("front-proxy", &issue(client, &front_proxy)?)?;

        let tokens = KeyPair::generate()?;
        pki.write("service-accounts.key", tokens.serialize_pem())?;
        pki.write("service-accounts.pub", tokens.public_key_pem())?;
        Ok(pki)
    }

    /// The file of that name, as a flag's value.
    pub(crate) fn file(&self, name: &str) -> String {
        self.directory.join(name).display().to_string()
    }

    /// The authority's certificate.
    pub(crate) fn authority(&self) -> String {
        self.authority.pem()
    }

    /// A client certificate for that user in these groups.
    pub(crate) fn client(&self, user: &str, groups: &[&str], valid: Validity) -> Result<Identity> {
        issue(client(user, groups, valid), &self.authority)
    }

    fn write_identity(&self, name: &str, identity: &Identity) -> Result<()> {
        self.write(&format!("{name}.crt"), &identity.certificate)?;
        self.write(&format!("{name}.key"), &identity.key)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<()> {
        let path = self.directory.join(name);
        fs::write(&path, content).with_context(|| format!("writing {}", path.display()))
    }
}

fn authority(common_name: &str) -> Result<CertifiedIssuer<'static, KeyPair>> {
    let mut params = CertificateParams::default();
    params.distinguished_name = name(common_name, &[]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}

fn client(user: &str, groups: &[&str], valid: Validity) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = name(user, groups);
    // rustls refuses certificates of X.509 version 1; an extension makes it version 3.
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    if matches!(valid, Validity::Expired) {
        params.not_after = date_time_ymd(2020, 1, 1);
    }
    params
}

fn issue(
    mut params: CertificateParams,
    issuer: &CertifiedIssuer<'static, KeyPair>,
) -> Result<Identity> {
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    let key = KeyPair::generate()?;
    Ok(Identity {
        certificate: params.signed_by(&key, issuer)?.pem(),
        key: key.serialize_pem(),
    })
}

fn name(common_name: &str, organizations: &[&str]) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    for organization in organizations {
        name.push(DnType::OrganizationName, *organization);
    }
    name
}
