//! Contracts in a module of their own.

/// A name, to be a supertrait.
pub(crate) trait Named {
    fn name(&self) -> &'static str;
}

/// A contract with supertraits.
pub(crate) trait Loader: Named + Send {
    fn load(&mut self, count: usize) -> usize;
}

/// A contract with an argument.
pub(crate) trait Width<T> {
    fn bits(&self) -> usize;
}
