//! One file for each mistake that an author can make with the attributes, and what the compiler then says.
//!
//! Only messages of ours are kept whole. What `rustc` says about a bound of ours changes with its releases:
//! of those `bounds` of the workspace's tests looks at single lines. They are checked here, where little but
//! the harness has to be compiled for it.

#[test]
fn mistakes_with_a_scenario_are_told_where_they_are() {
    trybuild::TestCases::new().compile_fail("tests/ui/scenario/*.rs");
}

#[test]
fn mistakes_with_an_adapter_are_told_where_they_are() {
    trybuild::TestCases::new().compile_fail("tests/ui/adapter/*.rs");
}

#[test]
fn mistakes_with_an_axis_are_told_where_they_are() {
    trybuild::TestCases::new().compile_fail("tests/ui/sweep/*.rs");
}

#[test]
fn mistakes_with_a_bench_in_divans_style_are_told_where_they_are() {
    trybuild::TestCases::new().compile_fail("tests/ui/divan/*.rs");
}
