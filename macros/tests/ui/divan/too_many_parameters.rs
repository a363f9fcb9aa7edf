#[divan::bench(args = [1])]
fn with_args(_bencher: divan::Bencher, _one: u8, _two: u8) {}

#[divan::bench]
fn without(_bencher: divan::Bencher, _one: u8) {}

fn main() {}
