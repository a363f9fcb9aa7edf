use weighbridge::divan_compat as divan;

#[divan::bench(types = [], consts = [])]
fn wrong<T, const N: usize>() {}

fn main() {}
