// says: error[E0277]: a scenario gives back `()` or `Result<(), E>` with `E: Display + 'static`
use weighbridge::prelude::*;

struct Silent;

#[scenario(id = "A-1")]
fn sort(bencher: &mut Bencher) -> std::result::Result<(), Silent> {
    bencher.iter(|| 1);
    Err(Silent)
}

fn main() {}
