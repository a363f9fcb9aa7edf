use weighbridge::divan_compat as divan;

#[divan::bench_group(args = [1])]
mod wrong {}

fn main() {}
