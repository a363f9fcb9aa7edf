//! Ranks over real sockets, in threads of one process.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use super::*;
use crate::device::Clock;

const LONG: Duration = Duration::from_mins(2);

fn seat(rank: usize, ranks: usize, folder: &std::path::Path) -> RankSeat {
    RankSeat {
        launcher: "weighbridge",
        rank,
        ranks,
        local_rank: Some(rank),
        launch: "local-tests".to_owned(),
        rendezvous: Some(folder.display().to_string()),
    }
}

fn place(
    seat: &RankSeat,
    link: Option<&RankLink>,
    first: (std::net::SocketAddr, &str),
    turn: u64,
) -> MeetingPlace {
    let (address, token) = link.map_or((first.0, first.1), |link| (link.address, &link.token));
    MeetingPlace {
        address,
        token: token.to_owned(),
        rank: seat.rank,
        ranks: seat.ranks,
        local_rank: seat.rank,
        turn,
        collective: true,
    }
}

/// Runs rank 0 with its coordinator, and the others in threads of their own.
fn run(
    ranks: usize,
    patience: Duration,
    first: impl FnOnce(&mut Coordinator, &MeetingPlace),
    other: impl Fn(&RankLink, &MeetingPlace) + Sync,
) {
    let folder = tempfile::tempdir().unwrap();
    let own = seat(0, ranks, folder.path());
    let rendezvous = Rendezvous::of(&own, "p/t", folder.path());
    thread::scope(|scope| {
        for rank in 1..ranks {
            let (seat, other) = (seat(rank, ranks, folder.path()), &other);
            let rendezvous = rendezvous.clone();
            scope.spawn(move || {
                let facts = RankFacts { host: format!("node{rank}"), ..RankFacts::default() };
                let link = rendezvous.join(&seat, &facts, LONG, &|| true).unwrap();
                let place = place(&seat, Some(&link), (link.address, ""), 1);
                other(&link, &place);
            });
        }
        let (listener, token, address) = rendezvous.open(&own).unwrap();
        let mut coordinator = Coordinator::start(listener, token.clone(), ranks, patience).unwrap();
        let mut joined = 1;
        while joined < ranks {
            match coordinator.next(Duration::from_millis(20)) {
                Some(RankEvent::Joined { rank, facts }) => {
                    assert_eq!(facts.host, format!("node{rank}"));
                    joined += 1;
                }
                Some(other) => panic!("{other:?}"),
                None => {}
            }
        }
        rendezvous.close();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left to be found");
        first(&mut coordinator, &place(&own, None, (address, &token), 1));
    });
}

fn turn_of(link: &RankLink) -> (u64, String) {
    loop {
        if let Some(turn) = link.next(Duration::from_millis(20)).unwrap() {
            return (turn.turn, turn.body);
        }
    }
}

fn answers(coordinator: &Coordinator, count: usize) -> Vec<RankEvent> {
    let mut heard = Vec::new();
    while heard.len() < count {
        heard.extend(coordinator.next(Duration::from_millis(20)));
    }
    heard
}

/// What nobody says within a bound that no machine needs is a test that hangs: the harness that runs it ends
/// it.
fn meet(place: &MeetingPlace) -> Meeting {
    Meeting::come(place, &Clock::monotonic()).unwrap()
}

#[test]
fn four_ranks_leave_a_hundred_meetings_with_the_word_of_rank_0_and_nobody_before_the_last_has_come() {
    use std::sync::atomic::AtomicUsize;
    const ROUNDS: usize = 100;
    let came: Vec<AtomicUsize> = (0..ROUNDS).map(|_| AtomicUsize::new(0)).collect();
    let go_through = |place: &MeetingPlace| {
        let mut meeting = meet(place);
        for (round, came) in came.iter().enumerate() {
            came.fetch_add(1, Ordering::SeqCst);
            let released = meeting.meet(Some(format!("{} {round}", place.rank))).unwrap();
            assert_eq!(came.load(Ordering::SeqCst), 4, "round {round}");
            assert_eq!(released.word, Some(format!("0 {round}")));
            assert!(released.left > 0);
        }
    };
    run(
        4,
        LONG,
        |coordinator, place| {
            coordinator.order(1, "go".to_owned());
            go_through(place);
            let mut told: Vec<usize> = answers(coordinator, 3)
                .into_iter()
                .map(|event| match event {
                    RankEvent::Answer { rank, turn: 1, body } if body == format!("of {rank}") => rank,
                    other => panic!("{other:?}"),
                })
                .collect();
            told.sort_unstable();
            assert_eq!(told, [1, 2, 3]);
            coordinator.end(None);
        },
        |link, place| {
            assert_eq!(turn_of(link), (1, "go".to_owned()));
            go_through(place);
            link.ended(1, None).unwrap();
            link.answer(1, format!("of {}", place.rank)).unwrap();
            let end = loop {
                if let Err(end) = link.next(Duration::from_millis(20)) {
                    break end;
                }
            };
            assert_eq!(end, LinkEnd::Complete);
        },
    );
}

#[test]
fn clocks_of_one_machine_are_held_against_each_other_within_half_a_round_trip() {
    run(
        2,
        LONG,
        |coordinator, place| {
            coordinator.order(1, String::new());
            // Two clocks that were started at other moments, and one machine: what was left is the same
            // moment.
            let left = meet(place).meet(None).unwrap();
            let heard = answers(coordinator, 1);
            let RankEvent::Answer { body, .. } = &heard[0] else { panic!("{heard:?}") };
            let other: u64 = body.parse().unwrap();
            // The coordinator's own clock began when it was started: nobody left before, nor minutes later.
            assert!(left.left < 600_000_000_000 && other < 600_000_000_000, "{left:?} {other}");
        },
        |link, place| {
            turn_of(link);
            let released = meet(place).meet(None).unwrap();
            link.answer(1, released.left.to_string()).unwrap();
        },
    );
}

#[test]
fn a_rank_that_fails_keeps_nobody_waiting_and_one_that_hangs_up_neither() {
    for hangs_up in [false, true] {
        run(
            3,
            LONG,
            |coordinator, place| {
                coordinator.order(1, String::new());
                let said = meet(place).meet(None).unwrap_err().to_string();
                let due = if hangs_up { "rank 2 has left" } else { "rank 2 has failed: planted" };
                assert!(said.contains(due), "{said}");
                while !matches!(&answers(coordinator, 1)[0], RankEvent::Answer { rank: 1, .. }) {}
            },
            |link, place| {
                turn_of(link);
                match (place.rank, hangs_up) {
                    (1, _) => {
                        let said = meet(place).meet(None).unwrap_err().to_string();
                        assert!(said.contains("rank 2"), "{said}");
                        link.answer(1, String::new()).unwrap();
                        // Rank 0 may come to the meeting last: it is to hear of rank 2 then as well.
                        turn_ends(link);
                    }
                    (_, true) => {}
                    (_, false) => {
                        link.ended(1, Some("planted".to_owned())).unwrap();
                        turn_ends(link);
                    }
                }
            },
        );
    }
}

/// Waits until rank 0 has ended.
fn turn_ends(link: &RankLink) {
    while link.next(Duration::from_millis(20)).is_ok() {}
}

#[test]
fn a_rank_that_does_not_come_to_the_meeting_is_named_after_the_patience() {
    run(
        3,
        Duration::from_millis(200),
        |coordinator, place| {
            coordinator.order(1, String::new());
            let said = meet(place).meet(None).unwrap_err().to_string();
            assert!(said.contains("ranks that did not come within 0.2 s: [") && said.contains('2'), "{said}");
        },
        |link, place| {
            turn_of(link);
            if place.rank == 1 {
                meet(place).meet(None).unwrap_err();
                link.answer(1, String::new()).unwrap();
            } else {
                turn_ends(link);
            }
        },
    );
}

#[test]
fn who_finds_nobody_says_where_it_looked_and_who_is_of_another_launch_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let own = seat(1, 2, folder.path());
    let rendezvous = Rendezvous::of(&own, "p/t", folder.path());
    let short = Duration::from_millis(50);
    let said = rendezvous.join(&own, &RankFacts::default(), short, &|| true).unwrap_err().to_string();
    assert!(said.contains("rank 1 of 2 did not find rank 0 within 0.05 s"), "{said}");
    assert!(
        said.contains(&folder.path().display().to_string()) && said.contains("--rank-patience"),
        "{said}"
    );
    let stopped = rendezvous.join(&own, &RankFacts::default(), LONG, &|| false).unwrap_err();
    assert!(matches!(stopped, NoRendezvous::Interrupted));

    // A file that an earlier launch has left leads to nobody, and rank 0 replaces it.
    let first = seat(0, 2, folder.path());
    let (listener, _, _) = rendezvous.open(&first).unwrap();
    drop(listener);
    let said = rendezvous.join(&own, &RankFacts::default(), short, &|| true).unwrap_err().to_string();
    assert!(said.contains("127.0.0.1:"), "{said}");
    let (listener, token, _) = rendezvous.open(&first).unwrap();
    let _coordinator = Coordinator::start(listener, token, 3, LONG).unwrap();
    let said = rendezvous.join(&own, &RankFacts::default(), LONG, &|| true).unwrap_err().to_string();
    assert_eq!(said, "rank 0 has refused rank 1: it is one of 2 ranks, and rank 0 one of 3");
}

#[test]
fn a_place_is_an_address_where_it_has_a_port_and_else_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let of = |place: &str| {
        let seat = RankSeat { rendezvous: Some(place.to_owned()), ..seat(0, 2, folder.path()) };
        Rendezvous::of(&seat, "p/t", folder.path()).to_string()
    };
    assert_eq!(of("node0:4000"), "at node0:4000");
    assert_eq!(of("10.0.0.1:4000"), "at 10.0.0.1:4000");
    for folder in ["/shared", "./here:4000", "C:", "node0:0", ":4000", "node0:70000"] {
        assert!(of(folder).starts_with(&format!("by {folder}/")), "{folder}: {}", of(folder));
    }
    let seat = RankSeat { launch: "../../etc".to_owned(), rendezvous: None, ..seat(0, 2, folder.path()) };
    let place = Rendezvous::of(&seat, "../x", std::path::Path::new("/data")).to_string();
    assert_eq!(place, "by /data/ranks-.._.._etc/ranks-.._x.rendezvous");
}

#[test]
fn a_host_and_a_port_need_no_shared_folder() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let folder = tempfile::tempdir().unwrap();
    let at = |rank| RankSeat {
        rendezvous: Some(format!("127.0.0.1:{port}")),
        launch: "fixed".to_owned(),
        ..seat(rank, 2, folder.path())
    };
    let rendezvous = Rendezvous::of(&at(0), "p/t", folder.path());
    let (listener, token, _) = rendezvous.open(&at(0)).unwrap();
    let _coordinator = Coordinator::start(listener, token, 2, LONG).unwrap();
    // Another launch at the same port is not taken for this one.
    let stranger = RankSeat { launch: "another".to_owned(), ..at(1) };
    let short = Duration::from_millis(50);
    let said = rendezvous.join(&stranger, &RankFacts::default(), short, &|| true).unwrap_err().to_string();
    assert!(said.contains("it is of another launch"), "{said}");
    rendezvous.join(&at(1), &RankFacts::default(), LONG, &|| true).unwrap();
}

#[test]
fn what_is_no_rank_is_hung_up_on_and_the_ranks_go_on() {
    use std::io::{Read, Write};
    run(
        2,
        LONG,
        |coordinator, place| {
            let mut stranger = std::net::TcpStream::connect(place.address).unwrap();
            stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            let mut said = Vec::new();
            // Hung up on: read to the end, or reset.
            let _ = stranger.read_to_end(&mut said);
            assert!(said.is_empty(), "{said:?}");
            coordinator.order(1, String::new());
            meet(place).meet(None).unwrap();
        },
        |link, place| {
            turn_of(link);
            meet(place).meet(None).unwrap();
        },
    );
}
