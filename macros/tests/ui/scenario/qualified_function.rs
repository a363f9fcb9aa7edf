use weighbridge::prelude::*;

#[scenario(id = "A-1")]
const unsafe extern "C" fn sort(bencher: &mut Bencher) {
    let _ = bencher;
}

fn main() {}
