//! What the metrics of the harness are called in files, tables and policies. Code says the constant: a name
//! that is misspelt does not compile.

macro_rules! names {
    ($($constant:ident = $name:literal;)*) => {
        $(
            #[doc = concat!("The name `", $name, "`.")]
            pub const $constant: &str = $name;
        )*

        #[cfg(test)]
        const ALL: &[&str] = &[$($name),*];
    };
}

names! {
    WALL_TIME = "wall_time";
    THROUGHPUT = "throughput";
    THROUGHPUT_BYTES = "throughput_bytes";
    THROUGHPUT_FLOPS = "throughput_flops";
    ITEM_RATE = "item_rate";
    THROUGHPUT_CPU = "throughput_cpu";
    LATENCY_P50 = "latency_p50";
    LATENCY_P95 = "latency_p95";
    LATENCY_P99 = "latency_p99";
    LATENCY_MAX = "latency_max";
    EPOCH_START = "epoch_start";
    FIRST_ITEM = "first_item";
    UNDELAYED_TIME = "undelayed_time";
    CPU_TIME = "cpu_time";
    OTHER_THREADS_SHARE = "other_threads_share";
    PEAK_MEMORY = "peak_memory";
    MINOR_FAULTS = "minor_faults";
    MAJOR_FAULTS = "major_faults";
    VOLUNTARY_SWITCHES = "voluntary_switches";
    INVOLUNTARY_SWITCHES = "involuntary_switches";
    BYTES_READ = "bytes_read";
    BYTES_WRITTEN = "bytes_written";
    LOOP_TIME = "loop_time";
    ALLOCATIONS = "allocations";
    ALLOCATED_BYTES = "allocated_bytes";
    INSTRUCTIONS = "instructions";
    CYCLES = "cycles";
    CACHE_MISSES = "cache_misses";
    RUN_QUEUE_WAIT = "run_queue_wait";
    RUN_QUEUE_SHARE = "run_queue_share";
    STOLEN_TIME = "stolen_time";
    DEVICE_TIME = "device_time";
    DEVICE_CYCLES = "device_cycles";
    DEVICE_IDLE = "device_idle";
    DEVICE_PEAK_MEMORY = "device_peak_memory";
    DEVICE_MEMORY_USED = "device_memory_used";
    DEVICE_BANDWIDTH = "device_bandwidth";
    DEVICE_BANDWIDTH_OF_MEASURED = "device_bandwidth_of_measured";
    DEVICE_BANDWIDTH_OF_NOMINAL = "device_bandwidth_of_nominal";
    DEVICE_FLOPS = "device_flops";
    DEVICE_FLOPS_OF_MEASURED = "device_flops_of_measured";
    DEVICE_FLOPS_OF_NOMINAL = "device_flops_of_nominal";
    DEVICE_CLOCK = "device_clock";
    DEVICE_POWER = "device_power";
    DEVICE_ENERGY = "device_energy";
    DEVICE_PERFORMANCE_PER_WATT = "device_performance_per_watt";
    DEVICE_TEMPERATURE = "device_temperature";
    DEVICE_UTILISATION = "device_utilisation";
    DEVICE_THROTTLED = "device_throttled";
    DEVICE_OVERLAP = "device_overlap";
}

#[cfg(test)]
mod tests {
    use super::super::{DEVICE_METRICS, Ledger, METRICS};
    use super::ALL;

    #[test]
    fn every_metric_has_a_constant_and_every_constant_a_metric() {
        let mut metrics: Vec<&str> = METRICS.iter().chain(DEVICE_METRICS).map(|metric| metric.name).collect();
        let mut named = ALL.to_vec();
        metrics.sort_unstable();
        named.sort_unstable();
        assert_eq!(named, metrics);
    }

    #[test]
    fn every_name_is_of_snake_case() {
        for name in ALL.iter().chain(Ledger::ENTRIES.iter().map(|(_, name)| name)) {
            assert!(name.bytes().all(|letter| matches!(letter, b'a'..=b'z' | b'0'..=b'9' | b'_')), "{name}");
        }
    }
}
