#[divan::bench(sample_cuont = 3)]
fn wrong() {}

fn main() {}
