use weighbridge::divan_compat as divan;

#[divan::bench]
fn wrong<T, const N: usize>() {}

fn main() {}
