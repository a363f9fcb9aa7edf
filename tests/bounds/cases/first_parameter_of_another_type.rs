// says: error[E0308]: mismatched types
// says: expected `&mut Criterion`, found `&mut Bencher`
use weighbridge::prelude::*;

struct Criterion;

#[scenario(id = "A-1")]
fn sort(_bencher: &mut Criterion) {}

fn main() {}
