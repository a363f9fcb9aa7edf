#[divan::bench(args = [1], types = [u8], consts = [2])]
fn wrong() {}

fn main() {}
