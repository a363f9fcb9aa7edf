// says: error[E0277]: a scenario gives back `()` or `Result<(), E>` with `E: Display + 'static`, and not
// `usize` says: write `-> weighbridge::Result<()>`, or end the body with a semicolon
use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort(bencher: &mut Bencher) -> usize {
    bencher.iter(|| 1);
    1
}

fn main() {}
