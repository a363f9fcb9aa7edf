//! Object stores: one in memory, one on the loopback interface that fails as it is told, and a real server
//! where there is one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use object_store::aws::AmazonS3Builder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::memory::InMemory;
use weighbridge::data::Exit;

use super::server::{LoopbackStore, StoreReply};
use super::*;
use crate::baseline_path::KeptBaselines;
use crate::baseline_path::tests::{
    a_second_writer_is_told, checkout, failure, is_found_by_another_checkout, says, text,
};
use crate::fixtures::{Home, plain};
use crate::stop;

const WHERE: &str = "s3://weighings/ours";
const KEY: &str = "AKIDNOBODYS";
const SECRET: &str = "NobodysSecret";
/// Some servers repeat who asked.
const TELLTALE: &str =
    "<Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>AKIDNOBODYS</AWSAccessKeyId></Error>";

/// Waits for an answer as long as a test may take, and makes requests again at once.
const PATIENT: Patience =
    Patience { silence: Duration::from_mins(5), pause: Duration::ZERO, all: Duration::from_mins(5) };

fn at(endpoint: &str, patience: Patience) -> KeptBaselines {
    within(endpoint, "weighings", "ours", patience)
}

fn within(endpoint: &str, bucket: &str, prefix: &str, patience: Patience) -> KeptBaselines {
    let builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_endpoint(endpoint)
        .with_access_key_id(KEY)
        .with_secret_access_key(SECRET)
        // Whatever proxies a machine has, it reaches itself without one.
        .with_proxy_url("http://127.0.0.1:9")
        .with_proxy_excludes("127.0.0.1");
    KeptBaselines::on(WHERE, WHERE.into(), s3::open(builder, prefix, patience).expect("sound"))
}

/// A bucket of Google's.
fn at_google(endpoint: &str) -> KeptBaselines {
    const WHERE: &str = "gs://weighings/ours";
    let builder = GoogleCloudStorageBuilder::new()
        .with_bucket_name("weighings")
        .with_base_url(endpoint)
        .with_bearer_token(SECRET)
        .with_proxy_url("http://127.0.0.1:9")
        .with_proxy_excludes("127.0.0.1");
    KeptBaselines::on(WHERE, WHERE.into(), gs::open(builder, "ours", PATIENT).expect("sound"))
}

/// A checkout with a run that is no baseline yet, beside a store that holds an earlier one as `main`.
fn beside(store: &LoopbackStore) -> Home {
    let first = checkout(at(&store.endpoint, PATIENT));
    first.store(&plain(1_000, 8.0e6, 12.0e6));
    text(&first, &["baseline", "set", "main"]);
    let home = checkout(at(&store.endpoint, PATIENT));
    home.store(&plain(2_000, 4.0e6, 12.0e6));
    store.state().asked.clear();
    home
}

/// Every command fails for this reason, and nothing is lost: neither here nor there.
fn every_command_fails(home: &Home, reason: &str) {
    let runs = text(home, &["runs", "list"]);
    for line in [
        &["compare-baseline", "main"][..],
        &["compare-baseline", "other"],
        &["baseline", "set", "main"],
        &["baseline", "list"],
        &["baseline", "show", "main"],
        &["baseline", "remove", "main"],
        &["explain", "CV-1/small/Reference"],
        &["report", "comment"],
    ] {
        let told = failure(home, line);
        assert!(told.contains(reason) && told.contains(WHERE), "{line:?}: {told}");
        assert!(!told.contains(SECRET) && !told.contains(KEY), "{line:?}: {told}");
    }
    assert_eq!(text(home, &["runs", "list"]), runs);
}

#[test]
fn a_baseline_in_an_object_store_is_found_by_another_checkout() {
    let memory = Arc::new(InMemory::new());
    is_found_by_another_checkout(|| {
        let bucket =
            Bucket::on(Box::new(Arc::clone(&memory)), BucketService::S3, "ours", PATIENT).expect("sound");
        KeptBaselines::on(WHERE, WHERE.into(), bucket)
    });
    let store = LoopbackStore::start();
    is_found_by_another_checkout(|| at(&store.endpoint, PATIENT));
    assert!(
        store.state().objects.keys().all(|key| key.starts_with("ours/")),
        "{:?}",
        store.state().objects.keys()
    );
}

#[test]
fn a_second_writer_into_an_object_store_replaces_nothing_that_it_has_not_seen() {
    let memory = Arc::new(InMemory::new());
    a_second_writer_is_told(|| {
        let bucket =
            Bucket::on(Box::new(Arc::clone(&memory)), BucketService::S3, "", PATIENT).expect("sound");
        KeptBaselines::on(WHERE, WHERE.into(), bucket)
    });
    let store = LoopbackStore::start();
    a_second_writer_is_told(|| at(&store.endpoint, PATIENT));
}

#[test]
fn googles_buckets_keep_baselines_as_the_others_do() {
    let store = LoopbackStore::start();
    is_found_by_another_checkout(|| at_google(&store.endpoint));
    assert!(store.state().objects.keys().all(|key| key.starts_with("ours/")));
    let store = LoopbackStore::start();
    a_second_writer_is_told(|| at_google(&store.endpoint));
    // A put whose answer was lost is no other writer's.
    let home = checkout(at_google(&store.endpoint));
    home.store(&plain(3_000, 4.0e6, 12.0e6));
    store.state().next = [StoreReply::Do, StoreReply::DoAndClose].into();
    assert!(text(&home, &["baseline", "set", "main"]).contains(", in the place of "));
    store.state().ever = Some(StoreReply::Say(403, "<Error><Code>AccessDenied</Code></Error>"));
    let told = failure(&home, &["baseline", "list"]);
    assert!(
        told.contains("answers 403 (AccessDenied): the keys in GOOGLE_APPLICATION_CREDENTIALS"),
        "{told}"
    );
    assert!(!told.contains(SECRET), "{told}");
}

#[test]
fn settings_of_googles_that_cannot_be_are_mistakes_and_are_not_repeated() {
    let refused = |builder: GoogleCloudStorageBuilder| {
        let error = gs::open(builder.with_bucket_name("weighings"), "ours", PATIENT).expect_err("no setting");
        assert_eq!(stop::exit(&error), Exit::Usage);
        assert!(!error.to_string().contains(SECRET), "{error}");
        error.to_string()
    };
    let new = GoogleCloudStorageBuilder::new;
    let told = refused(new().with_bearer_token(SECRET).with_base_url(&format!("http://me:{SECRET}@a")));
    assert!(told.starts_with("GOOGLE_BASE_URL is no address"), "{told}");
    assert!(refused(new().with_bearer_token("a\nb")).starts_with("GOOGLE_BEARER_TOKEN is empty, or has"));
    let told = refused(new().with_service_account_key(format!("\"{SECRET}\"")));
    assert!(told.contains("GOOGLE_SERVICE_ACCOUNT_KEY"), "{told}");
}

#[test]
fn where_nobody_says_who_asks_the_variables_are_named_and_not_the_machine_that_was_asked() {
    for (service, asked, variable) in [
        (BucketService::S3, "http://169.254.169.254/latest/api/token", "AWS_ACCESS_KEY_ID"),
        (BucketService::Gs, "http://metadata.google.internal/computeMetadata/v1/", "GOOGLE_BEARER_TOKEN"),
    ] {
        let error = Error::Generic { store: "any", source: format!("Error performing GET {asked}").into() };
        let RequestFailure::Other(told) = RequestFailure::of(&error, 0, service) else { panic!("{error}") };
        assert!(told.starts_with("nobody says who asks: set ") && told.contains(variable), "{told}");
    }
}

#[test]
fn a_store_that_fails_twice_is_asked_a_third_time() {
    let store = LoopbackStore::start();
    let home = beside(&store);
    for reply in
        [StoreReply::Say(503, "<Error><Code>SlowDown</Code></Error>"), StoreReply::Close, StoreReply::Half]
    {
        store.state().next = [reply.clone(), reply.clone()].into();
        assert_eq!(
            says(&home, &["compare-baseline", "main"]).expect("judged").exit,
            Exit::Regressed,
            "{reply:?}"
        );
        store.state().next = [reply.clone(), reply.clone()].into();
        assert!(
            text(&home, &["baseline", "set", "other"]).starts_with("baseline `other` of toy/suite is run")
        );
    }
}

#[test]
fn a_put_whose_answer_is_lost_is_no_other_writers() {
    let store = LoopbackStore::start();
    let home = beside(&store);
    let asked = || std::mem::take(&mut store.state().asked);
    let methods = |asked: Vec<String>| asked.iter().map(|asked| asked[..3].to_owned()).collect::<Vec<_>>();
    // What is there is read, and then replaced.
    store.state().next = [StoreReply::Do, StoreReply::DoAndClose].into();
    assert!(text(&home, &["baseline", "set", "main"]).contains(", in the place of run "));
    assert_eq!(methods(asked()), ["GET", "PUT", "PUT", "GET"]);
    // It is looked for, by its name and then among all names, and created.
    store.state().next = [StoreReply::Do, StoreReply::Do, StoreReply::DoAndClose].into();
    text(&home, &["baseline", "set", "other"]);
    assert_eq!(methods(asked()), ["GET", "GET", "PUT", "PUT", "GET"]);
    assert_eq!(text(&home, &["baseline", "list"]).matches("19700101-003320-000007").count(), 2);
}

#[test]
fn a_store_that_always_says_503_is_asked_four_times_and_named() {
    let store = LoopbackStore::start();
    let home = beside(&store);
    store.state().ever = Some(StoreReply::Say(503, "<Error><Code>SlowDown</Code></Error>"));
    let told = failure(&home, &["baseline", "list"]);
    assert_eq!(
        told,
        format!("failed to list `{WHERE}`: the object store answers 503 (SlowDown), asked 4 times")
    );
    assert_eq!(store.state().asked, ["GET "; 4]);
    every_command_fails(&home, "the object store answers 503 (SlowDown), asked 4 times");
    let objects = store.state().objects.len();
    assert_eq!(objects, 1, "nothing is half written and nothing is lost");
}

#[test]
fn a_store_that_refuses_connections_is_no_empty_one() {
    let store = LoopbackStore::start();
    let mut home = beside(&store);
    let gone = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("bound");
    home.place.kept = Some(at(&format!("http://{gone}"), PATIENT));
    every_command_fails(
        &home,
        "the object store cannot be reached: Connection refused (os error 111), asked 4 times",
    );
}

#[test]
fn a_store_that_never_answers_is_not_waited_for() {
    let store = LoopbackStore::start();
    let mut home = beside(&store);
    store.state().ever = Some(StoreReply::Hang);
    let brief = Patience { silence: Duration::from_millis(20), ..PATIENT };
    home.place.kept = Some(at(&store.endpoint, brief));
    every_command_fails(&home, "the object store does not answer, asked 4 times");
    // However long each answer may take, all of them together have an end.
    let once = Patience { all: Duration::from_millis(20), ..PATIENT };
    home.place.kept = Some(at(&store.endpoint, once));
    every_command_fails(&home, "it is not done within 20ms");
}

#[test]
fn what_is_no_store_or_no_bucket_or_not_allowed_is_no_empty_store() {
    let store = LoopbackStore::start();
    let home = beside(&store);
    for (reply, reason) in [
        (StoreReply::Say(200, "<html><body>Who are you?</body></html>"), "what answers is no object store"),
        (StoreReply::Say(404, "<Error><Code>NoSuchBucket</Code></Error>"), "there is no such bucket"),
        (StoreReply::Say(404, "no such page"), "there is no such bucket"),
        (StoreReply::Say(301, ""), "AWS_REGION"),
    ] {
        store.state().ever = Some(reply);
        for line in [&["compare-baseline", "main"][..], &["baseline", "list"], &["baseline", "set", "main"]] {
            let told = failure(&home, line);
            assert!(told.contains(reason), "{told}");
        }
    }
    store.state().ever = Some(StoreReply::Say(403, TELLTALE));
    store.state().asked.clear();
    every_command_fails(
        &home,
        "the object store answers 403 (SignatureDoesNotMatch): the keys in AWS_ACCESS_KEY_ID",
    );
    assert_eq!(store.state().asked.len(), 8, "what will not pass is asked once");
}

#[test]
fn a_damaged_object_is_refused_by_its_name() {
    let store = LoopbackStore::start();
    let home = beside(&store);
    for content in store.state().objects.values_mut() {
        content.truncate(content.len() / 2);
    }
    for line in [&["compare-baseline", "main"][..], &["baseline", "show", "main"]] {
        let told = failure(&home, line);
        assert!(
            told.starts_with(&format!("failed to read `{WHERE}/")) && told.contains("/main.json`: "),
            "{told}"
        );
        assert!(told.contains("truncated or was edited by hand"), "{told}");
    }
}

#[test]
fn a_folder_that_has_an_object_of_its_own_hides_nothing() {
    let store = LoopbackStore::start();
    let home = beside(&store);
    let machine = store.state().objects.keys().next().expect("one").rsplitn(3, '/').nth(2).map(str::to_owned);
    for key in ["ours/".to_owned(), format!("{}/", machine.expect("three parts"))] {
        store.state().objects.insert(key, Vec::new());
    }
    assert_eq!(says(&home, &["compare-baseline", "main"]).expect("judged").exit, Exit::Regressed);
}

#[test]
fn settings_that_cannot_be_are_mistakes_and_are_not_repeated() {
    let built = |endpoint: &str, key: &str| {
        let builder = AmazonS3Builder::new().with_bucket_name("weighings").with_access_key_id(key);
        let builder = builder.with_secret_access_key(SECRET).with_endpoint(endpoint);
        s3::open(builder, "ours", PATIENT)
    };
    for sound in
        ["http://[::1]:9000", "https://minio.example.org", "http://localhost:9000/", "https://a.b:1/c/d"]
    {
        built(sound, KEY).unwrap_or_else(|error| panic!("{sound}: {error}"));
    }
    for bad in [
        "",
        "nonsense",
        "http://",
        "ftp://a",
        "http://a b",
        "http://a:b",
        "http://a:99999",
        "http://me:pass@a",
    ] {
        let error = built(bad, KEY).expect_err("no address");
        assert_eq!(stop::exit(&error), Exit::Usage);
        assert!(error.to_string().starts_with("AWS_ENDPOINT_URL is no address"), "{error}");
        assert!(!error.to_string().contains("pass@"), "{error}");
    }
    for bad in ["", "AKID\n", "AKID\u{e4}"] {
        let error = built("http://localhost:1", bad).expect_err("no key").to_string();
        assert!(error.starts_with("AWS_ACCESS_KEY_ID is empty, or has a letter"), "{error}");
    }
    let half = AmazonS3Builder::new().with_bucket_name("weighings").with_access_key_id(KEY);
    let error = s3::open(half, "ours", PATIENT).expect_err("half of the keys").to_string();
    assert!(error.contains("SecretAccessKey") && !error.contains(KEY), "{error}");
}

/// The variable by which the test below knows itself again.
const WITHIN: &str = "WEIGHBRIDGE_TEST_WITHIN";

#[test]
fn the_endpoint_and_the_keys_come_from_the_environment_and_are_not_told() {
    if std::env::var_os(WITHIN).is_some() {
        let home = crate::fixtures::home();
        home.store(&plain(1_000, 8.0e6, 12.0e6));
        println!("said: {}", text(&home, &["baseline", "set", "main", "--baseline-path", WHERE]));
        println!("said: {}", failure(&home, &["baseline", "list", "--baseline-path", WHERE]));
        return;
    }
    let store = LoopbackStore::start();
    // The first command looks for the baseline, finds no names, sees that these are none, and puts.
    store.state().next = [StoreReply::Do, StoreReply::Do, StoreReply::Do, StoreReply::Do].into();
    store.state().ever = Some(StoreReply::Say(403, TELLTALE));
    let mut ourselves = Command::new(std::env::current_exe().expect("we run"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("AWS_") || text.to_lowercase().ends_with("_proxy") {
            ourselves.env_remove(&name);
        }
    }
    let own =
        "baseline_path::bucket::tests::the_endpoint_and_the_keys_come_from_the_environment_and_are_not_told";
    ourselves.args(["--exact", own, "--nocapture"]).env(WITHIN, "yes");
    ourselves.envs([("AWS_ACCESS_KEY_ID", KEY), ("AWS_SECRET_ACCESS_KEY", SECRET)]);
    let ran = ourselves.env("AWS_ENDPOINT_URL", &store.endpoint).output().expect("started");
    let told = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && told.contains("said: baseline `main` of toy/suite is run"), "{told}");
    assert!(
        told.contains("said: failed to list `s3://weighings/ours`: the object store answers 403"),
        "{told}"
    );
    assert!(!told.contains(SECRET) && !told.contains(KEY), "{told}");
    assert!(store.state().objects.keys().all(|key| key.starts_with("ours/")));
    assert_eq!(store.state().objects.len(), 1);
}

/// A real server, ended with the test.
struct MotoServer {
    child: Child,
    endpoint: String,
}

impl MotoServer {
    fn start(command: &str) -> Self {
        let mut child = Command::new(command)
            .args(["--host", "127.0.0.1", "--port", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("started");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
        let endpoint = lines
            .find_map(|line| Some(format!("http://127.0.0.1:{}", line.split_once("http://127.0.0.1:")?.1)));
        let endpoint = endpoint.expect("it says where it listens").trim_end_matches('/').to_owned();
        // Who writes to nobody is ended.
        std::thread::spawn(move || lines.for_each(drop));
        let server = Self { child, endpoint };
        server.make_bucket();
        server
    }

    fn make_bucket(&self) {
        let address = self.endpoint.strip_prefix("http://").expect("it is one");
        let mut stream = TcpStream::connect(address).expect("it listens");
        let request = format!(
            "PUT /weighings HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

impl Drop for MotoServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_real_server_keeps_baselines_as_the_others_do() {
    let Some(command) = needs::moto_server() else { return };
    let server = MotoServer::start(&command);
    is_found_by_another_checkout(|| at(&server.endpoint, PATIENT));
    a_second_writer_is_told(|| within(&server.endpoint, "weighings", "race", PATIENT));
    let mut home = checkout(at(&server.endpoint, PATIENT));
    home.store(&plain(1_000, 8.0e6, 12.0e6));
    home.place.kept = Some(within(&server.endpoint, "nobodys", "ours", PATIENT));
    every_command_fails(&home, "there is no such bucket");
}
