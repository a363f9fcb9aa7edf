use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort(
    bencher: &mut Bencher,
    #[sweep(all = 1, "" = 2, " small" = 3, "a/b" = 4, 224 = 5, "!" = 6)] len: usize,
) {
    bencher.iter(|| len);
}

fn main() {}
