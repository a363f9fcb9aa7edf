#[divan::bench_group]
fn wrong() {}

fn main() {}
