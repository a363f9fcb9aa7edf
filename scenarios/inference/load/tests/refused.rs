//! Rows that would mislead are refused, each for its own reason.

use std::time::Duration;

use weighbridge_load::mock::{Behaviour, LineEnd, MockFault, MockServer, MockUsage, Stall};
use weighbridge_load::{
    Api, Bounds, ClientLimits, Failure, Level, Load, Reason, Report, Row, Session, Shape, Stage, Target,
    Think, Workload,
};

/// Bounds that a busy machine stays within: what is tested here is not how fast it is.
fn loose() -> Bounds {
    let hour = Duration::from_hours(1);
    Bounds { delay: hour, busy: 2.0, order: f64::INFINITY, ..Bounds::default() }
}

fn users(users: u32, requests: u64) -> Level {
    let load = Load::Closed { users, think: Think::None };
    Level { requests: Some(requests), length: Duration::from_mins(10), ..Level::of(load) }
}

fn session(server: &MockServer, levels: Vec<Level>) -> Session {
    let target = Target::parse(&server.url(), None).unwrap();
    let workload = Workload { words: 8, tokens: Some(8), ..Workload::fresh() };
    let limits = ClientLimits { cores: 1, ..ClientLimits::default() };
    Session { bounds: loose(), limits, ..Session::new(target, workload, levels) }
}

fn run(behaviour: Behaviour, change: impl FnOnce(&mut Session)) -> Report {
    let server = MockServer::start(behaviour).unwrap();
    let mut session = session(&server, vec![users(4, 60)]);
    change(&mut session);
    session.run().unwrap()
}

fn row(behaviour: Behaviour) -> Row {
    let report = run(behaviour, |_| {});
    let [row] = &report.rows[..] else { panic!("one level has one row") };
    row.clone()
}

/// A server that is honest but for one thing, every second time.
fn faulty(fault: MockFault) -> Row {
    row(Behaviour { fault: Some((fault, 2)), ..Behaviour::default() })
}

#[test]
fn an_honest_server_has_a_row_that_stands() {
    for line_end in [LineEnd::Lf, LineEnd::CrLf, LineEnd::Cr] {
        for has_blank in [true, false] {
            let row = row(Behaviour { line_end, has_blank, has_ping: true, ..Behaviour::default() });
            assert_eq!(row.verdict.reasons(), [], "{line_end:?} {has_blank}");
            assert_eq!((row.figures.requests, row.figures.failed()), (60, 0));
            assert_eq!((row.figures.chunks, row.figures.tokens), (480, Some(480)));
            assert_eq!((row.figures.empty, row.figures.pings), (60 * 3, 60));
            assert_eq!((row.client.opened, row.client.opened + row.client.reused), (4, 60));
        }
    }
}

#[test]
fn rates_of_a_level_that_ends_with_its_requests_are_of_the_time_that_they_took() {
    let wait = Duration::from_millis(20);
    let row = row(Behaviour { first: wait, ..Behaviour::default() });
    // 60 requests of 4 users, 15 one after another: at most 200 a second, and not 60 in the ten minutes
    // of the level.
    let rate = row.figures.achieved_rate;
    assert!(rate > 0.5 && rate <= 200.0, "{rate}");
    assert!(row.figures.seconds >= 0.3 && row.figures.seconds < 120.0, "{}", row.figures.seconds);
}

#[test]
fn answers_of_every_form_are_understood() {
    for (api, stream) in
        [(Api::Chat, false), (Api::Completions, true), (Api::Completions, false), (Api::Plain, true)]
    {
        let server = MockServer::start(Behaviour::default()).unwrap();
        let mut session = session(&server, vec![users(2, 20)]);
        session.target = Target::parse(&server.url(), Some(api)).unwrap();
        session.workload.stream = stream;
        let report = session.run().unwrap();
        assert!(report.is_valid(), "{api:?} {stream}: {:?}", report.rows[0].verdict);
        assert_eq!(report.rows[0].figures.latency.count(), 20);
    }
}

#[test]
fn a_character_that_is_cut_between_segments_is_whole() {
    let row = row(Behaviour { cuts_characters: true, ..Behaviour::default() });
    assert_eq!(row.verdict.reasons(), []);
    assert_eq!(row.figures.chunks, 480);
}

#[test]
fn events_that_came_together_are_counted_as_chunks_and_told_to_share_a_stamp() {
    let row = row(Behaviour { per_write: 4, between: Duration::from_millis(1), ..Behaviour::default() });
    assert_eq!(row.figures.chunks, 480);
    assert!(row.figures.shared >= 360, "{}", row.figures.shared);
}

#[test]
fn reasoning_is_counted_by_its_kind() {
    let row = row(Behaviour { reasoning: 3, ..Behaviour::default() });
    assert_eq!((row.figures.chunks, row.figures.reasoning), (480, 180));
}

#[test]
fn the_role_chunk_is_not_the_first_token() {
    let wait = Duration::from_millis(200);
    let row = row(Behaviour { first: wait, has_ping: true, ..Behaviour::default() });
    // It came before the wait, and the token after it.
    let median = row.figures.first_token.at(0.5).unwrap();
    assert!(median.low >= wait.as_nanos() as u64, "{median:?}");
    let first_byte = row.figures.first_byte.at(0.5).unwrap();
    assert!(first_byte.value < median.value, "{first_byte:?}");
}

#[test]
fn each_fault_is_counted_by_its_kind_and_none_makes_a_good_row() {
    let faults = [
        (MockFault::Short(3), Failure::Short),
        (MockFault::NoDone, Failure::NoDone),
        (MockFault::Closes(3), Failure::Closed),
        (MockFault::ClosesAtOnce, Failure::Closed),
        (MockFault::BadJson, Failure::BadJson),
        (MockFault::TellsError, Failure::ToldError),
        (MockFault::NoContent, Failure::NoContent),
        (MockFault::Limited { says_when: true }, Failure::Limited),
        (MockFault::Limited { says_when: false }, Failure::LimitedForUnknownTime),
        (MockFault::Status(500), Failure::ServerError),
        (MockFault::Status(404), Failure::ClientError),
        (MockFault::Redirect, Failure::Redirect),
        (MockFault::WrongType, Failure::WrongType),
        (MockFault::NotHttp, Failure::NotHttp),
    ];
    for (fault, kind) in faults {
        let row = faulty(fault);
        assert_eq!(row.figures.failures.get(&kind), Some(&30), "{fault:?}: {:?}", row.figures.failures);
        assert_eq!(row.figures.failed(), 30, "{fault:?}");
        assert!(!row.verdict.is_valid(), "{fault:?}");
    }
}

#[test]
fn one_answer_that_is_cut_in_many_refuses_the_row() {
    let row = row(Behaviour { fault: Some((MockFault::NoDone, 60)), ..Behaviour::default() });
    assert!(row.verdict.reasons().contains(&Reason::Cut(1)), "{:?}", row.verdict);
}

#[test]
fn a_line_without_an_end_is_cut_at_the_limit() {
    let report =
        run(Behaviour { fault: Some((MockFault::EndlessLine, 2)), ..Behaviour::default() }, |session| {
            session.limits.body = 1 << 20;
            session.levels = vec![users(2, 8)];
        });
    assert_eq!(report.rows[0].figures.failures.get(&Failure::TooLong), Some(&4));
    assert!(!report.is_valid());
}

#[test]
fn answers_that_are_larger_together_than_the_client_may_keep_are_its_own_fault() {
    let report =
        run(Behaviour { fault: Some((MockFault::EndlessLine, 2)), ..Behaviour::default() }, |session| {
            session.limits.underway = 1 << 20;
            session.levels = vec![users(2, 8)];
        });
    let row = &report.rows[0];
    assert!(row.figures.failures.contains_key(&Failure::NoMemory), "{:?}", row.figures.failures);
    assert!(
        row.verdict.reasons().iter().any(|reason| matches!(reason, Reason::Client(_))),
        "{:?}",
        row.verdict
    );
}

#[test]
fn a_server_that_hangs_is_given_up_after_the_time_limit() {
    let report = run(Behaviour { fault: Some((MockFault::Hangs, 2)), ..Behaviour::default() }, |session| {
        session.limits.time = Duration::from_millis(300);
        session.levels = vec![users(2, 6)];
    });
    let failures = &report.rows[0].figures.failures;
    assert!(failures.get(&Failure::Hung).is_some_and(|count| *count >= 3), "{failures:?}");
    assert!(!report.is_valid());
}

#[test]
fn a_server_that_refuses_has_a_row_of_refusals() {
    let server = MockServer::start(Behaviour::default()).unwrap();
    let session = session(&server, vec![users(2, 10)]);
    drop(server);
    let report = session.run().unwrap();
    assert_eq!(report.rows[0].figures.failures.get(&Failure::Refused), Some(&10));
    assert_eq!(report.rows[0].verdict.reasons()[0], Reason::NoAnswers);
}

#[test]
fn a_name_that_does_not_resolve_is_an_error_before_anything_is_sent() {
    let target = Target::parse("http://nowhere.invalid", None).unwrap();
    let error = Session::new(target, Workload::fresh(), vec![users(1, 1)]).run().unwrap_err();
    assert!(error.to_string().contains("nowhere.invalid"), "{error}");
}

#[test]
fn the_probe_refuses_rows_of_a_server_with_a_cache() {
    let cached = Behaviour { has_cache: true, first: Duration::from_millis(200), ..Behaviour::default() };
    let report = run(cached.clone(), |_| {});
    assert!(report.rows[0].verdict.reasons().contains(&Reason::Cache), "{:?}", report.probe);
    let allowed = run(cached, |session| session.allows_cache = true);
    assert_eq!(allowed.rows[0].verdict.reasons(), []);
    let without = run(Behaviour { first: Duration::from_millis(50), ..Behaviour::default() }, |_| {});
    assert_eq!(without.rows[0].verdict.reasons(), []);
}

#[test]
fn a_server_that_says_it_had_the_prompt_in_a_cache_is_believed() {
    let row = row(Behaviour { usage: MockUsage::Cached, ..Behaviour::default() });
    assert_eq!(row.verdict.reasons(), [Reason::CachedTokens(0.9)]);
}

#[test]
fn token_counts_that_contradict_the_text_refuse_the_row() {
    let ten = row(Behaviour { usage: MockUsage::TenTimes, ..Behaviour::default() });
    assert_eq!(ten.verdict.reasons(), [Reason::Contradictions(60)]);
    // One token is fewer than were asked for.
    let one = row(Behaviour { usage: MockUsage::One, ..Behaviour::default() });
    assert_eq!(one.figures.failures.get(&Failure::Short), Some(&60));
    let absent = row(Behaviour { usage: MockUsage::Absent, ..Behaviour::default() });
    assert_eq!((absent.verdict.reasons(), absent.figures.tokens), (&[][..], None));
}

/// 40 requests a second for 5 s, and a stall of 3 s in them: those that are due in its first 100 ms wait
/// for at least 2.9 s, though a client that waits for answers would have sent a few alone.
#[test]
fn a_stall_of_three_seconds_is_three_seconds_in_the_tail() {
    let second = Duration::from_secs(1);
    let stall = Some(Stall { after: second, length: 3 * second });
    let report = run(Behaviour { stall, ..Behaviour::default() }, |session| {
        let stages = vec![Stage { rate: 40.0, length: 5 * second }];
        session.levels = vec![Level::of(Load::Open { stages, shape: Shape::Constant })];
    });
    let figures = &report.rows[0].figures;
    assert_eq!((figures.requests, figures.failed()), (200, 0));
    for times in [&figures.first_token, &figures.latency] {
        assert!(times.greatest().unwrap() >= 2_900_000_000, "{:?}", times.greatest());
        // 120 of 200 were due in the stall, and 100 of them waited for half a second at least.
        assert!(times.at(0.5).unwrap().value >= 400_000_000, "{:?}", times.at(0.5));
    }
}

/// The same stall, and one connection: a client that counted from the moment of sending would see one slow
/// request.
#[test]
fn waiting_for_a_connection_is_latency_and_refuses_the_row_as_the_clients_fault() {
    let second = Duration::from_secs(1);
    let stall = Some(Stall { after: second, length: 3 * second });
    let report = run(Behaviour { stall, ..Behaviour::default() }, |session| {
        let stages = vec![Stage { rate: 40.0, length: 5 * second }];
        session.levels = vec![Level::of(Load::Open { stages, shape: Shape::Constant })];
        session.limits.connections = 1;
    });
    let row = &report.rows[0];
    assert!(row.figures.latency.at(0.5).unwrap().value >= 400_000_000);
    let is_of_sockets = |reason: &Reason| matches!(reason, Reason::Sockets(_));
    assert!(row.verdict.reasons().iter().any(is_of_sockets), "{:?}", row.verdict);
}

#[test]
fn a_client_that_cannot_keep_the_rate_is_invalid_by_itself() {
    let report = run(Behaviour::default(), |session| {
        // 40,000 requests are due within a fifth of a second: no machine sends and reads that on one thread.
        let stages = vec![Stage { rate: 200_000.0, length: Duration::from_millis(200) }];
        session.levels = vec![Level::of(Load::Open { stages, shape: Shape::Constant })];
        session.limits.connections = 64;
        session.bounds = Bounds::default();
    });
    let row = &report.rows[0];
    assert_eq!(row.figures.requests, 40_000);
    let is_of_client = |reason: &Reason| matches!(reason, Reason::Sockets(_) | Reason::Delay { .. });
    assert_eq!(
        row.verdict.reasons().iter().filter(|reason| is_of_client(reason)).count(),
        2,
        "{:?}",
        row.verdict
    );
}

#[test]
fn levels_run_in_a_drawn_order_between_two_sentinels() {
    let report = run(Behaviour::default(), |session| {
        session.levels = (1..=6).map(|count| users(count, 20)).collect();
        session.workload = Workload { words: 8, tokens: Some(8), ..Workload::of_seed(7) };
    });
    let names: Vec<&str> = report.rows.iter().map(|row| &*row.name).collect();
    assert_eq!(names, ["1 user", "2 users", "3 users", "4 users", "5 users", "6 users"]);
    assert_ne!(report.order, [0, 1, 2, 3, 4, 5]);
    let sentinels: Vec<&str> = report.sentinels.iter().map(|row| &*row.name).collect();
    assert_eq!(sentinels, ["1 user", "1 user"]);
}

/// The server is slow from its first request on for longer than the first sentinel takes.
#[test]
fn a_server_that_changes_between_the_sentinels_refuses_all_rows() {
    let stall = Some(Stall { after: Duration::ZERO, length: Duration::from_secs(2) });
    let report = run(Behaviour { stall, ..Behaviour::default() }, |session| {
        session.levels = vec![users(20, 20), users(20, 40)];
        session.bounds.order = 0.1;
    });
    for row in &report.rows {
        let is_of_order = |reason: &Reason| matches!(reason, Reason::Order(change) if *change < -0.1);
        assert!(row.verdict.reasons().iter().any(is_of_order), "{:?}", row.verdict);
    }
}

#[test]
fn what_was_due_in_the_warm_up_is_in_no_figure() {
    let report = run(Behaviour::default(), |session| {
        let second = Duration::from_millis(500);
        let stages = vec![Stage { rate: 40.0, length: second }];
        session.levels = vec![Level::of(Load::Open { stages, shape: Shape::Constant }).warmed_up(second)];
    });
    assert_eq!(report.rows[0].figures.requests, 20);
    assert!((report.rows[0].figures.asked_rate - 40.0).abs() < 1e-9);
}

#[test]
fn users_who_think_ask_less_often_and_are_due_after_they_have_thought() {
    let report = run(Behaviour::default(), |session| {
        let think = Think::Constant(Duration::from_millis(100));
        let load = Load::Closed { users: 5, think };
        session.levels = vec![Level { length: Duration::from_secs(1), ..Level::of(load) }];
    });
    // Five users in a second, each at most once in 100 ms and at the very start.
    let requests = report.rows[0].figures.requests;
    assert!((5..=55).contains(&requests), "{requests}");
}

/// Every second request finds that the server has closed its connection, which was idle for over a second.
#[test]
fn an_idle_connection_that_the_server_closed_is_opened_again_and_is_no_failure() {
    let fault = Some((MockFault::ClosesAtOnce, 2));
    let report = run(Behaviour { fault, ..Behaviour::default() }, |session| {
        let load = Load::Closed { users: 1, think: Think::Constant(Duration::from_millis(1500)) };
        session.levels = vec![Level { length: Duration::from_secs(4), ..Level::of(load) }];
        session.allows_cache = true;
    });
    let row = &report.rows[0];
    assert_eq!((row.verdict.reasons(), row.figures.failed()), (&[][..], 0));
    assert!(row.client.opened as usize >= row.figures.latency.count(), "{:?}", row.client);
}

#[test]
fn a_key_is_sent_and_stands_in_no_record() {
    let folder = std::env::temp_dir().join(format!("weighbridge-load-key-{}", std::process::id()));
    // Any variable will do for a key; this one is there.
    let key = std::env::var("CARGO_PKG_NAME").unwrap();
    let report = run(Behaviour::default(), |session| {
        session.target.key = Some(weighbridge_load::Key::from_environment("CARGO_PKG_NAME").unwrap());
        session.folder = Some(folder.clone());
    });
    assert!(report.is_valid(), "{:?}", report.rows[0].verdict);
    let mut files = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(&key));
        files += 1;
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(files, 1);
    assert!(!weighbridge_load::table(&report).contains(&key) && !format!("{report:?}").contains(&key));
}

#[test]
fn the_table_says_invalid_and_why() {
    let report = run(Behaviour { fault: Some((MockFault::Status(500), 2)), ..Behaviour::default() }, |_| {});
    let table = weighbridge_load::table(&report);
    for words in ["INVALID: 50.0 % of the requests failed", "30 x status 5xx", "4 users", "TTFT"] {
        assert!(table.contains(words), "{words} is missing in:\n{table}");
    }
}
