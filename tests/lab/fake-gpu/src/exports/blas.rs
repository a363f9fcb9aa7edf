//! Products of matrices: of cuBLAS what callers need to time one. It takes its time and leaves the result as
//! it was.

use std::ffi::{c_int, c_void};

use super::{Requires, call, cheap, put};
use crate::code::Code;
use crate::fault::Site;
use crate::work::{Cost, Effect, Task};

/// `CUBLAS_COMPUTE_32F`, and with the digits of TF32.
const SUMS: [c_int; 2] = [68, 77];

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasCreate_v2(handle: *mut *mut c_void) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| {
        if driver.config.blas == 0 {
            return Err(Code(1)); // CUBLAS_STATUS_NOT_INITIALIZED: a library that does not go with its driver
        }
        let made = driver.handle();
        driver.products.insert(made, 0);
        // SAFETY: the caller's pointer.
        unsafe { put(handle, made as *mut c_void) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasDestroy_v2(handle: *mut c_void) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| {
        driver.products.remove(&(handle as usize)).map(drop).ok_or(Code::INVALID_HANDLE)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasSetStream_v2(handle: *mut c_void, stream: *mut c_void) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| {
        let of = driver.products.get_mut(&(handle as usize)).ok_or(Code::INVALID_HANDLE)?;
        *of = stream as usize;
        Ok(())
    })
}

#[expect(clippy::many_single_char_names, reason = "the names of the library's own page")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasGemmEx(
    handle: *mut c_void,
    _a_as: c_int,
    _b_as: c_int,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const c_void,
    a: *const c_void,
    a_type: c_int,
    _a_rows: c_int,
    b: *const c_void,
    b_type: c_int,
    _b_rows: c_int,
    beta: *const c_void,
    c: *mut c_void,
    c_type: c_int,
    _c_rows: c_int,
    compute: c_int,
    _algorithm: c_int,
) -> c_int {
    call(
        Requires::Context,
        Site::Launch,
        |driver| driver.config.launch_ns,
        |driver| {
            // `CUDA_R_32F`, `CUDA_R_16F`, `CUDA_R_16BF`.
            let (size, speed) = match (a_type, compute) {
                (0, 68) => (4, 1),
                (0, 77) => (4, 4),
                (2 | 14, 68) => (2, 8),
                _ => return Err(Code::INVALID_VALUE),
            };
            let is_whole = [alpha, beta].iter().all(|factor| !factor.is_null());
            let is_alike = a_type == b_type && a_type == c_type && SUMS.contains(&compute);
            if m <= 0 || n <= 0 || k <= 0 || !is_whole || !is_alike {
                return Err(Code::INVALID_VALUE);
            }
            let [m, n, k] = [m, n, k].map(|extent| extent as u64);
            for (place, numbers) in [(a as u64, m * k), (b as u64, k * n), (c as u64, m * n)] {
                driver.memory.place(place, numbers * size).ok_or(Code::ILLEGAL_ADDRESS)?;
            }
            let stream = *driver.products.get(&(handle as usize)).ok_or(Code::INVALID_HANDLE)?;
            let key = driver.streams.key(stream)?;
            let ns = 2 * m * n * k / (driver.config.product_rate.max(1) * speed);
            driver.launch(key, 0, Task { cost: Cost::Work(ns), effect: Effect::Nothing })
        },
    )
}
