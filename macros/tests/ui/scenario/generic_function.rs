use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort<'a, T: Ord, U, const N: usize, const M: usize>(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

#[scenario(id = "A-2", types = [u8, u8], consts = [])]
fn twice<T, const N: usize>(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

#[scenario(id = "A-3", types = u8, consts = 3)]
fn no_list<T, const N: usize>(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

#[scenario(id = "A-4", types = [u8], consts = [1])]
fn nothing_generic(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

#[scenario(id = "A-5", types = [u8])]
fn doubled<T>(bencher: &mut Bencher, #[sweep(1, 2)] t: usize) {
    bencher.iter(|| 1);
}

fn main() {}
