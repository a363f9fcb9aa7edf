// says: error[E0277]: an axis value of type `Images` needs a label
// says: write `name = value`
use weighbridge::prelude::*;

struct Images(usize);

#[scenario(id = "A-1")]
fn sort(bencher: &mut Bencher, #[sweep(Images(1), Images(2))] images: Images) {
    bencher.iter(|| images.0);
}

fn main() {}
