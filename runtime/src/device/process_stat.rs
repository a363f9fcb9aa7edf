//! What the kernel lists of a process in one line: `/proc/PID/stat`.

pub(super) fn after_name(stat: &str) -> Option<&str> {
    stat.rsplit_once(')').map(|(_, rest)| rest)
}

/// User and system time of a process and of the children that it waited for: fields 14 to 17.
pub(super) fn process_ticks(stat: &str) -> Option<u64> {
    let mut sum = 0;
    for field in after_name(stat)?.split_ascii_whitespace().skip(11).take(4) {
        sum += field.parse::<u64>().ok()?;
    }
    Some(sum)
}
