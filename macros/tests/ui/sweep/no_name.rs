use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort(bencher: &mut Bencher, #[sweep(1, 2)] _: usize, #[sweep(p = (1, 2))] (_, _): (u8, u8)) {
    bencher.iter(|| 1);
}

fn main() {}
