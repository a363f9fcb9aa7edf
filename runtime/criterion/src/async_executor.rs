//! Executors that `Bencher::to_async` runs futures on.

/// Something that runs a future to its end.
pub trait AsyncExecutor {
    /// Runs it.
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T;
}

/// The executor of the crate `futures`.
#[cfg(feature = "async_futures")]
#[derive(Clone, Copy, Debug)]
pub struct FuturesExecutor;

#[cfg(feature = "async_futures")]
impl AsyncExecutor for FuturesExecutor {
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        futures_executor::block_on(future)
    }
}

/// The executor of the crate `smol`.
#[cfg(feature = "async_smol")]
#[derive(Clone, Copy, Debug)]
pub struct SmolExecutor;

#[cfg(feature = "async_smol")]
impl AsyncExecutor for SmolExecutor {
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        smol::block_on(future)
    }
}

/// The executor of the crate `async-std`.
#[cfg(feature = "async_std")]
#[derive(Clone, Copy, Debug)]
pub struct AsyncStdExecutor;

#[cfg(feature = "async_std")]
impl AsyncExecutor for AsyncStdExecutor {
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        async_std::task::block_on(future)
    }
}

#[cfg(feature = "async_tokio")]
impl AsyncExecutor for tokio::runtime::Runtime {
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.block_on(future)
    }
}

#[cfg(feature = "async_tokio")]
impl AsyncExecutor for &tokio::runtime::Runtime {
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        (*self).block_on(future)
    }
}

#[cfg(feature = "async_tokio")]
impl AsyncExecutor for tokio::runtime::Handle {
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.block_on(future)
    }
}

#[cfg(feature = "async_tokio")]
impl AsyncExecutor for &tokio::runtime::Handle {
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        (*self).block_on(future)
    }
}
