use weighbridge::divan_compat as divan;

#[divan::bench]
async fn wrong() {}

fn main() {}
