//! TLS: the system's roots and those of the job; no resumption, so that each new connection costs the same.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::fault::{Fault, OrFault};

/// Creates the configuration of all TLS connections of a trial, of HTTP/2 or of HTTP/1.1. `ca` is PEM text of more roots.
pub fn config(ca: Option<&str>, http2: bool) -> Result<Arc<ClientConfig>, Fault> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for certificate in CertificateDer::pem_slice_iter(ca.unwrap_or("").as_bytes()) {
        let next = "give PEM certificates of certificate authorities";
        let certificate = certificate.or_fault("the ca cannot be read", next)?;
        roots.add(certificate).or_fault("the ca holds a certificate that is no root", next)?;
    }
    if roots.is_empty() {
        return Err(Fault::failed("this machine has no root certificates", "install them, or give a ca"));
    }
    let config = ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into());
    let config = config.with_safe_default_protocol_versions().or_fault("cannot set up TLS", "report this")?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![if http2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}
