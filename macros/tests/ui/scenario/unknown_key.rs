use weighbridge::prelude::*;

#[scenario(id = "A-1", catgory = "Sorting", colour = "red")]
fn sort(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

fn main() {}
