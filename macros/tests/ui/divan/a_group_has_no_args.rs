#[divan::bench_group(args = [1])]
mod wrong {}

fn main() {}
