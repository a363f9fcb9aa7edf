//! The macros of a bench file. They name this crate by `$crate`, whatever a manifest calls it.

/// A function that goes through these: `criterion_group!(benches, one, other)`, or with `name`, `config` and
/// `targets`.
#[macro_export]
macro_rules! criterion_group {
    (name = $name:ident; config = $config:expr; targets = $($target:path),+ $(,)*) => {
        #[doc = "Goes through the functions of this group."]
        pub fn $name() {
            let mut criterion: $crate::Criterion<_> = $config.configure_from_args();
            $(
                $crate::__private::function(::core::stringify!($target), || {
                    $target(&mut criterion);
                });
            )+
        }
    };
    ($name:ident, $($target:path),+ $(,)*) => {
        $crate::criterion_group! {
            name = $name;
            config = $crate::Criterion::default();
            targets = $($target),+
        }
    };
}

/// The `main` of a bench target that goes through these groups.
#[macro_export]
macro_rules! criterion_main {
    ($($group:path),+ $(,)*) => {
        fn main() -> ::std::process::ExitCode {
            let suite = $crate::__private::Suite {
                target_tmp: ::core::option_env!("CARGO_TARGET_TMPDIR"),
                package: ::core::env!("CARGO_PKG_NAME"),
                version: ::core::env!("CARGO_PKG_VERSION"),
                target: ::core::env!("CARGO_CRATE_NAME"),
                directory: ::core::env!("CARGO_MANIFEST_DIR"),
                family: ::core::option::Option::None,
            };
            // A group is any function without arguments, whatever it gives back.
            $crate::__private::main(suite, &[$(|| { $group(); }),+])
        }
    };
}
