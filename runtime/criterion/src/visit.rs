//! Coming to a benchmark while the functions of a file are gone through: it is noted, run once, measured or
//! passed by.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use weighbridge::Error;
use weighbridge::style::{ServedRequest, Serving};

use crate::Throughput;
use crate::bencher::Bencher;
use crate::config::Config;
use crate::finder::Finder;
use crate::id::Name;
use crate::measurement::Measurement;

/// The purpose of going through the functions.
#[derive(Debug, Default)]
pub(crate) enum Walk {
    /// Nobody has begun one: the author's own `main` calls the functions.
    #[default]
    None,
    /// To find out what there is.
    Finding(Finder),
    /// To measure one benchmark.
    Measuring(Measuring),
    /// The same where the author's own `main` calls the functions: whoever asks waits for the walk.
    Serving(Way, Box<Served>),
}

/// A repeat that somebody waits for.
pub(crate) struct Served {
    pub(crate) serving: Serving,
    pub(crate) asked: ServedRequest,
}

impl fmt::Debug for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Served").finish_non_exhaustive()
    }
}

/// The way to a benchmark.
#[derive(Debug)]
pub(crate) struct Way {
    /// Its name, and how many of that name come before it.
    wanted: (String, usize),
    /// True if the closures before its own run once.
    closures: bool,
    passed: usize,
    begun: Instant,
    /// The time of closures that ran before.
    inside: Duration,
}

/// A step at a benchmark on the way to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    There,
    Once,
    PassBy,
}

impl Way {
    pub(crate) fn new(wanted: (String, usize), closures: bool) -> Self {
        Self { wanted, closures, passed: 0, begun: Instant::now(), inside: Duration::ZERO }
    }

    fn step(&mut self, name: &Name) -> Step {
        if name.to_string() == self.wanted.0 {
            self.passed += 1;
            if self.passed > self.wanted.1 {
                return Step::There;
            }
        }
        if self.closures { Step::Once } else { Step::PassBy }
    }

    /// The time outside of closures until now.
    fn outside(&self) -> Duration {
        self.begun.elapsed().saturating_sub(self.inside)
    }
}

/// A walk to one benchmark.
#[derive(Debug)]
pub(crate) struct Measuring {
    way: Way,
    /// The bencher, until it is there and when it is over.
    pub(crate) bencher: Option<Box<weighbridge::Bencher>>,
    pub(crate) state: State,
    /// The functions that panicked outside of closures, and what they said.
    pub(crate) panicked: Vec<(String, String)>,
}

/// The state of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    OnTheWay,
    /// The benchmark's closure runs, or has panicked.
    There,
    Over,
}

impl Measuring {
    pub(crate) fn new(wanted: (String, usize), closures: bool, bencher: Box<weighbridge::Bencher>) -> Self {
        Self {
            way: Way::new(wanted, closures),
            bencher: Some(bencher),
            state: State::OnTheWay,
            panicked: Vec::new(),
        }
    }
}

thread_local! {
    pub(crate) static WALK: RefCell<Walk> = const { RefCell::new(Walk::None) };
}

/// The task at a benchmark.
enum Task {
    PassBy,
    Once,
    Measure(Box<weighbridge::Bencher>),
    /// Measure it for whoever waits, and end the process.
    Serve(Way, Box<Served>),
    /// Nobody has said what the process is for.
    TakeOver,
}

fn task(name: &Name, config: &Config) -> Task {
    WALK.with_borrow_mut(|walk| match walk {
        Walk::None => Task::TakeOver,
        Walk::Finding(finder) => match finder.found(name, config) {
            true => Task::Once,
            false => Task::PassBy,
        },
        Walk::Measuring(to) => {
            if to.state != State::OnTheWay {
                return Task::PassBy;
            }
            match to.way.step(name) {
                Step::PassBy => Task::PassBy,
                Step::Once => Task::Once,
                Step::There => {
                    to.state = State::There;
                    to.bencher.take().map_or(Task::PassBy, Task::Measure)
                }
            }
        }
        Walk::Serving(way, _) => match way.step(name) {
            Step::PassBy => Task::PassBy,
            Step::Once => Task::Once,
            Step::There => match std::mem::take(walk) {
                Walk::Serving(way, served) => Task::Serve(way, served),
                _ => Task::PassBy,
            },
        },
    })
}

/// Comes to a benchmark. `take_over` says what the process is for where nobody has.
pub(crate) fn visit<M: Measurement>(
    name: &Name,
    config: &Config,
    throughput: Option<&Throughput>,
    measurement: &M,
    body: &mut dyn FnMut(&mut Bencher<'_, M>),
    take_over: fn(),
) {
    match task(name, config) {
        Task::PassBy => {}
        Task::Once => {
            let begun = Instant::now();
            // It is told where it is measured.
            let _ = catch_unwind(AssertUnwindSafe(|| body(&mut Bencher::once(measurement))));
            WALK.with_borrow_mut(|walk| match walk {
                Walk::Measuring(Measuring { way, .. }) | Walk::Serving(way, _) => {
                    way.inside += begun.elapsed();
                }
                Walk::None | Walk::Finding(_) => {}
            });
        }
        Task::Measure(bencher) => measure(bencher, config, throughput, measurement, body),
        Task::Serve(way, served) => serve(&way, *served, &mut |bencher| {
            measure_in(bencher, &way, config, throughput, measurement, body);
        }),
        Task::TakeOver => {
            take_over();
            visit(name, config, throughput, measurement, body, take_over);
        }
    }
}

fn measure<M: Measurement>(
    bencher: Box<weighbridge::Bencher>,
    config: &Config,
    throughput: Option<&Throughput>,
    measurement: &M,
    body: &mut dyn FnMut(&mut Bencher<'_, M>),
) {
    let way = WALK.with_borrow_mut(|walk| match walk {
        Walk::Measuring(to) => std::mem::replace(&mut to.way, Way::new(Default::default(), false)),
        _ => Way::new(Default::default(), false),
    });
    let ended = catch_unwind(AssertUnwindSafe(|| {
        measure_in(&bencher, &way, config, throughput, measurement, body);
    }));
    WALK.with_borrow_mut(|walk| {
        if let Walk::Measuring(to) = walk {
            to.bencher = Some(bencher);
            to.state = if ended.is_ok() { State::Over } else { State::There };
        }
    });
    // What stands behind it in the function goes on, without its closures: it may end threads that it waits
    // for.
    if let Err(panic) = ended {
        resume_unwind(panic);
    }
}

fn measure_in<M: Measurement>(
    bencher: &weighbridge::Bencher,
    way: &Way,
    config: &Config,
    throughput: Option<&Throughput>,
    measurement: &M,
    body: &mut dyn FnMut(&mut Bencher<'_, M>),
) {
    if let Some(samples) = config.samples {
        bencher.samples(samples);
    }
    if let Some(most) = config.most_time {
        bencher.max_time(most);
    }
    let (elements, bytes) = throughput.map_or((0, 0), Throughput::counts);
    bencher.elements(elements as usize).bytes(bytes as usize);
    let (outside, begun) = (way.outside(), Instant::now());
    let mut lent = Bencher::measured(bencher, measurement);
    body(&mut lent);
    lent.finish(throughput);
    let took = begun.elapsed();
    if outside > took && outside > LEAST_TOLD && !bencher.is_smoke() {
        bencher.note(&format!(
            "code outside the closures took {outside:.1?}, and measuring {took:.1?}: each process runs it"
        ));
    }
}

/// Answers whoever waits for this benchmark, as often as it is asked for, and ends the process.
fn serve(way: &Way, served: Served, measure: &mut dyn FnMut(&weighbridge::Bencher)) {
    let Served { mut serving, mut asked } = served;
    let wanted = (asked.scenario().to_owned(), asked.point().clone());
    loop {
        let is_it = (asked.scenario(), asked.point()) == (&*wanted.0, &wanted.1);
        let answered = serving.answer(
            &asked,
            Some(&mut |bencher| match is_it {
                true => {
                    measure(bencher);
                    Ok(())
                }
                false => Err(Error::new(format!("this process has gone to `{}`", way.wanted.0))),
            }),
        );
        match serving.next_request().filter(|_| answered.is_ok()) {
            Some(next) => asked = next,
            None => std::process::exit(0),
        }
    }
}

/// Code outside closures that takes less is not told.
const LEAST_TOLD: Duration = Duration::from_millis(100);

/// Runs one function of a group. A panic outside of its closures ends this function alone.
pub fn function(name: &'static str, run: impl FnOnce()) {
    let goes_on = WALK.with_borrow_mut(|walk| match walk {
        Walk::None | Walk::Serving(..) => true,
        Walk::Finding(finder) => {
            finder.enter(name);
            true
        }
        Walk::Measuring(to) => to.state == State::OnTheWay,
    });
    if !goes_on {
        return;
    }
    let Err(panic) = catch_unwind(AssertUnwindSafe(run)) else { return };
    let goes_on = WALK.with_borrow_mut(|walk| match walk {
        Walk::None | Walk::Serving(..) => false,
        Walk::Finding(finder) => {
            finder.panicked(name, &text(panic.as_ref()));
            true
        }
        Walk::Measuring(to) if to.state == State::OnTheWay => {
            to.panicked.push((name.to_owned(), text(panic.as_ref())));
            true
        }
        // It may read what the closures that were left out would have noted.
        Walk::Measuring(to) => to.state == State::Over,
    });
    if !goes_on {
        resume_unwind(panic);
    }
}

/// Tells whether this process has measured the benchmark that it is for.
pub(crate) fn is_over() -> bool {
    WALK.with_borrow(|walk| matches!(walk, Walk::Measuring(to) if to.state == State::Over))
}

/// Says something once to whoever measures.
pub(crate) fn note(text: &str) {
    WALK.with_borrow_mut(|walk| {
        if let Walk::Finding(finder) = walk {
            finder.note(text);
        }
    });
}

/// The message of a panic, if it is a text.
pub(crate) fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic that is no text").to_owned()
}
