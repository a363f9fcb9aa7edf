//! The addresses by which other machines reach this one.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};

/// The addresses of this machine, those of networks first, its own loop last.
pub(super) fn own_addresses() -> Vec<IpAddr> {
    let text = fs::read_to_string("/proc/net/fib_trie").unwrap_or_default();
    let mut found: Vec<IpAddr> = of_trie(&text).into_iter().map(IpAddr::V4).collect();
    // Where the system lists none, its name may lead to some.
    let named = (host(), 0).to_socket_addrs().into_iter().flatten().map(|address| address.ip());
    found.extend(named.filter(IpAddr::is_ipv4));
    found.push(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let mut seen = Vec::new();
    found.retain(|address| {
        let is_new = !seen.contains(address);
        seen.push(*address);
        is_new
    });
    found.sort_by_key(IpAddr::is_loopback);
    found
}

/// The name of this machine.
pub(crate) fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    name.or_else(|| sysinfo::System::host_name().ok()).unwrap_or_else(|| "unknown".to_owned())
}

/// The addresses of the host itself in the kernel's table of routes: each is followed by what it is.
fn of_trie(text: &str) -> Vec<Ipv4Addr> {
    let mut last = None;
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some((_, address)) = line.split_once("|-- ") {
            last = address.trim().parse::<Ipv4Addr>().ok();
        } else if line.contains("/32 host LOCAL") {
            found.extend(last.filter(|address| !found.contains(address)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_own_addresses_are_told_from_networks_and_broadcasts() {
        let trie = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     \
            +-- 10.77.0.0/24 2 0 2\n        |-- 10.77.0.0\n           /24 link UNICAST\n        \
            |-- 10.77.0.12\n           /32 host LOCAL\n        |-- 10.77.0.255\n           \
            /32 link BROADCAST\n     |-- 127.0.0.1\n        /32 host LOCAL\n";
        assert_eq!(of_trie(trie), [Ipv4Addr::new(10, 77, 0, 12), Ipv4Addr::LOCALHOST]);
        assert!(of_trie("").is_empty());
    }

    #[test]
    fn a_machine_reaches_itself_by_its_last_address() {
        let own = own_addresses();
        assert_eq!(own.last(), Some(&IpAddr::V4(Ipv4Addr::LOCALHOST)), "{own:?}");
        assert!(!host().is_empty());
    }
}
