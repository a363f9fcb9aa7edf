//! `https://`: a mock server behind a proxy that ends TLS.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use weighbridge_load::mock::{Behaviour, MockServer};
use weighbridge_load::{Bounds, ClientLimits, Failure, Level, Load, Row, Session, Target, Think, Workload};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name)
}

/// A proxy that ends TLS before this server, until the test ends.
fn proxy(server: &MockServer) -> SocketAddr {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let to: SocketAddr = server.url().trim_start_matches("http://").parse().unwrap();
    let certificates = CertificateDer::pem_file_iter(file("cert.pem")).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(file("key.pem")).unwrap();
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(certificates, key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            while let Ok((socket, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(mut secured) = acceptor.accept(socket).await else { return };
                    let Ok(mut plain) = TcpStream::connect(to).await else { return };
                    drop(tokio::io::copy_bidirectional(&mut secured, &mut plain).await);
                });
            }
        });
    });
    address
}

fn row(url: &str, trusted: Option<PathBuf>) -> Row {
    let mut target = Target::parse(url, None).unwrap();
    target.trusted = trusted;
    let level = Level {
        requests: Some(40),
        length: Duration::from_mins(10),
        ..Level::of(Load::Closed { users: 2, think: Think::None })
    };
    let workload = Workload { words: 8, tokens: Some(8), ..Workload::fresh() };
    let bounds = Bounds { delay: Duration::from_hours(1), busy: 2.0, ..Bounds::default() };
    let limits = ClientLimits { cores: 1, ..ClientLimits::default() };
    let session =
        Session { bounds, limits, allows_cache: true, ..Session::new(target, workload, vec![level]) };
    session.run().unwrap().rows.remove(0)
}

#[test]
fn a_server_behind_tls_that_is_trusted_is_loaded_as_any_other() {
    let server = MockServer::start(Behaviour::default()).unwrap();
    let port = proxy(&server).port();
    for host in ["localhost", "127.0.0.1"] {
        let row = row(&format!("https://{host}:{port}"), Some(file("cert.pem")));
        assert_eq!(row.verdict.reasons(), [], "{host}");
        assert_eq!((row.figures.requests, row.figures.tokens), (40, Some(320)), "{host}");
        assert_eq!(row.client.opened, 2, "connections are kept");
    }
}

#[test]
fn a_server_that_is_not_trusted_gets_nothing_and_is_told_so() {
    let server = MockServer::start(Behaviour::default()).unwrap();
    let port = proxy(&server).port();
    let row = row(&format!("https://localhost:{port}"), None);
    assert!(!row.verdict.is_valid());
    assert_eq!(row.figures.failures.keys().collect::<Vec<_>>(), [&Failure::NoTls]);
    assert_eq!(server.served(), [], "no request, and no key with it, was sent");
}

#[test]
fn a_file_that_has_no_certificates_is_an_error_with_its_name() {
    let mut target = Target::parse("https://localhost:1", None).unwrap();
    for name in ["none.pem", "key.pem"] {
        target.trusted = Some(file(name));
        let session = Session::new(target.clone(), Workload::fresh(), vec![]);
        let error = session.look_for_cache().unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}
