use weighbridge::divan_compat as divan;

#[divan::bench_group]
fn wrong() {}

fn main() {}
