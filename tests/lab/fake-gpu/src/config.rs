//! What the device is and what its calls cost; every key can be set by a test, and by the environment for a
//! child.

use std::time::Instant;

use crate::clock::Clock;

/// The variable that configures the fake in a child process: `clock=real,memory=8589934592`.
pub const VARIABLE: &str = "WEIGHBRIDGE_FAKE_GPU";

macro_rules! keys {
    ($($(#[doc = $doc:literal])+ $key:ident = $default:expr;)+) => {
        /// Whole numbers that a test may set. Times are nanoseconds, sizes bytes, rates bytes per nanosecond
        /// (GB/s).
        #[derive(Clone, Debug)]
        pub struct Config {
            /// What it is called; `(fake)` stays in it.
            pub name: String,
            /// A moving clock or the host's.
            pub real_clock: bool,
            $($(#[doc = $doc])+ pub $key: u64,)+
        }

        impl Default for Config {
            fn default() -> Self {
                Self { name: "Test GPU (fake)".to_owned(), real_clock: false, $($key: $default,)+ }
            }
        }

        impl Config {
            /// Sets one key.
            ///
            /// # Errors
            ///
            /// An unknown key, or a value that it does not take.
            pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
                let wrong = || format!("the fake's `{key}` cannot be `{value}`");
                match key {
                    "name" => self.name = format!("{value} (fake)"),
                    "clock" => self.real_clock = match value {
                        "real" => true,
                        "virtual" => false,
                        _ => return Err(wrong()),
                    },
                    $(stringify!($key) => self.$key = value.parse().map_err(|_| wrong())?,)+
                    _ => return Err(format!("the fake has no `{key}`")),
                }
                Ok(())
            }
        }
    };
}

keys! {
    /// How many devices there are; more than one share one state.
    devices = 1;
    /// Total memory.
    memory = 16 << 30;
    /// Multiprocessors.
    sms = 132;
    /// Second-level cache.
    l2 = 32 << 20;
    /// Compute capability, `90` for 9.0.
    capability = 90;
    /// The driver's version, as it tells it.
    driver_version = 13000;
    /// Newest PTX that it assembles, `88` for 8.8.
    ptx = 90;
    /// Memory pools (`cuMemAllocAsync`).
    pools = 1;
    /// What a cheap call costs its caller.
    call_ns = 50;
    /// A launch.
    launch_ns = 2_000;
    /// A launch of a graph, and of each of its nodes.
    graph_ns = 3_000;
    /// Of each node.
    graph_node_ns = 50;
    /// Recording an event, waiting for one.
    event_ns = 400;
    /// Enqueueing a copy or a fill.
    copy_ns = 1_200;
    /// Allocating and freeing.
    memory_ns = 3_000;
    /// From the end of an operation to the return of the call that waits for it.
    sync_ns = 1_000;
    /// From the return of the enqueueing call to the earliest start on an idle device.
    submit_ns = 1_500;
    /// Between two kernels of a stream.
    gap_ns = 0;
    /// From the host's release of a held stream to its going on.
    release_ns = 700;
    /// The step of events' time stamps.
    quantum_ns = 32;
    /// A wait that nothing can end becomes an error after this.
    stall_ns = 300_000_000;
    /// Operations that may wait in one stream before enqueueing blocks.
    queue = 1_024;
    /// Copy within the device, bytes read and written.
    device_rate = 2_000;
    /// From pinned memory to the device.
    up_rate = 25;
    /// From the device to pinned memory.
    down_rate = 25;
    /// Between pageable and staging memory.
    pageable_rate = 8;
    /// Products of matrices of `f32`, operations per nanosecond; of TF32 four times, of half precision eight
    /// times as many.
    product_rate = 50_000;
    /// Whether cuBLAS makes handles.
    blas = 1;
    /// The version of cuDNN, as its number; 0 for none.
    cudnn = 91_002;
    /// Whether an asynchronous copy to pageable memory waits for its end: drivers may do either.
    pageable_waits = 1;
    /// Whether a kernel's first launch waits for all work (lazy loading).
    lazy = 1;
    /// Full clock of the multiprocessors, MHz.
    full_mhz = 1_980;
    /// Idle clock, MHz.
    idle_mhz = 345;
    /// Busy time until the full clock is reached; 0: at once.
    ramp_ns = 0;
    /// Power when busy, mW.
    busy_mw = 600_000;
    /// Power when idle, mW.
    idle_mw = 75_000;
    /// Power limit, mW.
    limit_mw = 700_000;
    /// Over how long power and utilisation are averages.
    power_window_ns = 1_000_000_000;
    /// MIG mode.
    mig = 0;
    /// Persistence mode.
    persistence = 1;
    /// ECC mode.
    ecc = 1;
    /// A process of somebody else on the device, by its id; 0: none.
    other_process = 0;
    /// What it holds.
    other_memory = 0;
    /// Whether energy can be read.
    energy = 1;
}

impl Config {
    /// The defaults, over them what the environment says.
    ///
    /// # Panics
    ///
    /// On a malformed variable: a test that believes it has configured the fake must not go on.
    pub fn from_environment() -> Self {
        let mut config = Self::default();
        let text = std::env::var(VARIABLE).unwrap_or_default();
        for pair in text.split(',').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            // Faults and twins are planted by calls; `fault=` is read where faults are kept.
            if key != "fault" {
                config.set(key, value).unwrap_or_else(|error| panic!("{VARIABLE}: {error}"));
            }
        }
        config
    }

    pub fn clock(&self) -> Clock {
        if self.real_clock { Clock::Real(Instant::now()) } else { Clock::Virtual(0) }
    }
}
