use weighbridge::prelude::*;

struct Suite;

impl Suite {
    #[scenario(id = "A-1")]
    fn sort(&self, bencher: &mut Bencher) {
        bencher.iter(|| 1);
    }
}

fn main() {}
