//! How systems of Python are registered: each under its name, by what is common to all of a contract.

/// Types of one contract, `Type: short, "name";` or `Type: short, "name", tier 1;` each, where `short` is the
/// file of the worker. In front of them stands how the contract is met, once.
#[macro_export]
macro_rules! registered {
    (impl $contract:ident $body:tt
     $($(#[$what:meta])* $type:ident: $short:ident, $name:literal $(, tier $tier:literal)?;)*) => {$(
        $(#[$what])*
        #[derive(Debug)]
        pub struct $type($crate::Framework);

        const _: () = {
            use $crate::Framework;

            fn new() -> weighbridge::Result<$type> {
                Ok($type(Framework::new(stringify!($short))?))
            }

            fn installed() -> weighbridge::Availability {
                Framework::availability(stringify!($short))
            }

            $(#[$what])*
            #[weighbridge::adapter(
                name = $name, $(tier = $tier,)? resident = true, new = new, probe = installed
            )]
            impl $contract for $type $body
        };
    )*};
}
