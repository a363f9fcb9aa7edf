#[divan::bench]
mod wrong {}

fn main() {}
