use weighbridge::divan_compat as divan;

#[divan::bench]
mod wrong {}

fn main() {}
