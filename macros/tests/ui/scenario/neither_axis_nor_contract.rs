use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn load(bencher: &mut Bencher, _sizes: &[usize], _pair: (u8, u8)) {
    bencher.iter(|| 1);
}

fn main() {}
