#[divan::bench]
async fn wrong() {}

fn main() {}
