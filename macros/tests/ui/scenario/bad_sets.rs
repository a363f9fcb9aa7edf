use weighbridge::prelude::*;

#[scenario(id = "A-1", sets = "gate")]
fn one(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

#[scenario(id = "A-2", sets = ["gate", canonical, 7, "gate", ""])]
fn two(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

fn main() {}
