use weighbridge::prelude::*;
use weighbridge::{Requirements, Workload};

struct Rows(usize);

impl Workload for Rows {
    fn needs(&self) -> Requirements {
        Requirements { memory: self.0 as u64, batch: 1 }
    }

    fn describe(&self) -> String {
        format!("{} rows", self.0)
    }
}

fn rows(rows: &usize) -> Rows {
    Rows(*rows)
}

fn needs(_: &usize) -> Requirements {
    Requirements::default()
}

#[scenario(id = "ROWS-1", workload = rows, needs = needs)]
fn twice(bencher: &mut Bencher, #[sweep(1, 2)] rows: usize) {
    bencher.iter(|| rows);
}

fn main() {}
