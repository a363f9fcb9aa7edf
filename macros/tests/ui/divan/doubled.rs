#[divan::bench]
#[divan::bench(sample_size = 1, sample_size = 2, min_time)]
fn wrong() {}

fn main() {}
