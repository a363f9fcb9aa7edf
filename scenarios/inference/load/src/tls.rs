//! TLS around a socket, in a build that has it. Stamps are those of the socket below.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::target::{Target, TargetError};
use crate::wire::Wire;

/// A socket, with TLS or without.
#[derive(Debug)]
pub(crate) enum Secured {
    /// Without.
    Plain(Wire),
    /// With.
    #[cfg(feature = "tls")]
    Tls(Box<tokio_rustls::client::TlsStream<Wire>>),
}

#[cfg(feature = "tls")]
mod with {
    use std::sync::Arc;

    use tokio_rustls::TlsConnector;
    use tokio_rustls::rustls::pki_types::pem::PemObject as _;
    use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
    use tokio_rustls::rustls::{ClientConfig, RootCertStore};

    use super::{Secured, Target, TargetError, Wire, io};

    /// Whom a server must be, and who says so.
    #[derive(Clone)]
    pub(crate) struct TlsPeer {
        connector: TlsConnector,
        name: ServerName<'static>,
    }

    impl std::fmt::Debug for TlsPeer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_struct("Tls").field("name", &self.name).finish_non_exhaustive()
        }
    }

    impl TlsPeer {
        /// The certificates that the system trusts, and those of the target's file.
        pub(crate) fn new(target: &Target) -> Result<Self, TargetError> {
            let mut roots = RootCertStore::empty();
            // Some of the system's may be of a form that nobody reads; the others hold.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if let Some(path) = &target.trusted {
                let wrong = |why: String| TargetError::Certificates { path: path.clone(), why };
                let all = CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?;
                let mut count = 0;
                for certificate in all {
                    let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
                    roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
                    count += 1;
                }
                if count == 0 {
                    return Err(wrong("it has none".to_owned()));
                }
            }
            let host = target.host.trim_start_matches('[').trim_end_matches(']').to_owned();
            let no_name = |_| TargetError::NoUrl(target.to_string());
            let name = ServerName::try_from(host).map_err(no_name)?;
            let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
            Ok(Self { connector: TlsConnector::from(Arc::new(config)), name })
        }

        /// Shakes hands.
        pub(crate) async fn secure(&self, wire: Wire) -> io::Result<Secured> {
            let stream = self.connector.connect(self.name.clone(), wire).await?;
            Ok(Secured::Tls(Box::new(stream)))
        }
    }
}

#[cfg(not(feature = "tls"))]
mod without {
    use super::{Secured, Target, TargetError, Wire, io};

    /// There is none.
    #[derive(Debug)]
    pub(crate) struct NoPeer;

    impl NoPeer {
        pub(crate) fn new(_: &Target) -> Result<Self, TargetError> {
            Err(TargetError::NoTls)
        }

        #[expect(clippy::unused_async, reason = "as the one that shakes hands")]
        pub(crate) async fn secure(&self, _: Wire) -> io::Result<Secured> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }
}

#[cfg(feature = "tls")]
pub(crate) use with::TlsPeer as Tls;
#[cfg(not(feature = "tls"))]
pub(crate) use without::NoPeer as Tls;

/// Does the same with either.
macro_rules! either {
    ($self:ident, $stream:ident => $does:expr) => {
        match $self.get_mut() {
            Secured::Plain($stream) => {
                let $stream = Pin::new($stream);
                $does
            }
            #[cfg(feature = "tls")]
            Secured::Tls($stream) => {
                let $stream = Pin::new(&mut **$stream);
                $does
            }
        }
    };
}

impl AsyncRead for Secured {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        either!(self, stream => stream.poll_read(context, buffer))
    }
}

impl AsyncWrite for Secured {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        either!(self, stream => stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        either!(self, stream => stream.poll_write_vectored(context, parts))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Secured::Plain(wire) => wire.is_write_vectored(),
            #[cfg(feature = "tls")]
            Secured::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, stream => stream.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, stream => stream.poll_shutdown(context))
    }
}
