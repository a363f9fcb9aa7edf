//! Products of matrices by cuBLAS, where it is found at run time: the four functions that are called, and no
//! more.

use std::ffi::{c_int, c_void};

use cudarc::driver::sys::CUstream;
use libloading::os::unix::Library;

use super::super::{DeviceError, Numbers, Product};
use super::copies::{NOISE, fill, noise};
use super::libraries;
use super::memory::Buffer;
use super::probe::symbol;

/// The versions whose functions have these signatures, the newest first. Which of them a driver serves is
/// seen when a handle is made.
const NAMES: [&str; 2] = ["libcublas.so.13", "libcublas.so.12"];

type BlasHandle = *mut c_void;
type Create = unsafe extern "C" fn(*mut BlasHandle) -> c_int;
type Destroy = unsafe extern "C" fn(BlasHandle) -> c_int;
type SetStream = unsafe extern "C" fn(BlasHandle, CUstream) -> c_int;
type Multiply = unsafe extern "C" fn(
    BlasHandle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    *const c_void,
    c_int,
    c_int,
    *const c_void,
    c_int,
    c_int,
    *const c_void,
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
) -> c_int;

/// `CUBLAS_OP_N` and `CUBLAS_GEMM_DEFAULT`.
const AS_IT_IS: c_int = 0;
const ITS_CHOICE: c_int = -1;

/// cuBLAS with a handle, for the stream that is measured.
pub(super) struct Blas {
    handle: BlasHandle,
    multiply: Multiply,
    destroy: Destroy,
}

impl Blas {
    /// Opens the first library that makes a handle for this device; says why there is none.
    pub(super) fn open(fake: bool, stream: CUstream) -> Result<Self, String> {
        libraries::first(&NAMES, fake, |library| Self::of(library, stream)).map_err(|failed| {
            if failed.is_empty() {
                format!(
                    "no library that multiplies matrices: neither {} is on the loader's path or in the \
                     environment of --python or VIRTUAL_ENV; `pip install nvidia-cublas-cu12` brings one",
                    NAMES.join(" nor ")
                )
            } else {
                failed.join("; ")
            }
        })
    }

    fn of(library: &Library, stream: CUstream) -> Result<Self, String> {
        let lacks = |name: &str| format!("it has no {name}");
        // SAFETY: the signatures are the library's, which stays open.
        let (create, set) = unsafe {
            (symbol::<Create>(library, "cublasCreate_v2"), symbol::<SetStream>(library, "cublasSetStream_v2"))
        };
        // SAFETY: as above, by the types of the fields that take them.
        let (multiply, destroy) =
            unsafe { (symbol(library, "cublasGemmEx"), symbol(library, "cublasDestroy_v2")) };
        let create = create.ok_or_else(|| lacks("cublasCreate_v2"))?;
        let set = set.ok_or_else(|| lacks("cublasSetStream_v2"))?;
        let multiply = multiply.ok_or_else(|| lacks("cublasGemmEx"))?;
        let destroy = destroy.ok_or_else(|| lacks("cublasDestroy_v2"))?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the signature is the library's; the context is current, and the place outlives the call.
        match unsafe { create(&raw mut handle) } {
            0 => {}
            code => return Err(format!("cublasCreate failed (status {code})")),
        }
        let blas = Self { handle, multiply, destroy };
        // SAFETY: the handle was made above, and the stream is the device's own.
        match unsafe { set(handle, stream) } {
            0 => Ok(blas),
            code => Err(format!("cublasSetStream failed (status {code})")),
        }
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: made by `of`, and destroyed here alone; the call waits for what uses it.
        let _ = unsafe { (self.destroy)(self.handle) };
    }
}

/// One product of two square matrices, again and again.
pub(super) struct Square {
    blas: Blas,
    numbers: Numbers,
    side: c_int,
    a: Buffer,
    b: Buffer,
    c: Buffer,
}

impl Square {
    pub(super) fn new(
        blas: Blas,
        stream: CUstream,
        numbers: Numbers,
        side: usize,
    ) -> Result<Self, DeviceError> {
        let bytes = side * side * numbers.size();
        let made = Self {
            blas,
            numbers,
            side: c_int::try_from(side)
                .map_err(|_| DeviceError::refused("multiply matrices", "they are too large"))?,
            a: Buffer::new(bytes)?,
            b: Buffer::new(bytes)?,
            c: Buffer::new(bytes)?,
        };
        // Zeros cost less power, and are multiplied at a higher clock than anything that is of use.
        let random = random(numbers);
        fill(&made.a, &random, stream)?;
        fill(&made.b, &random, stream)?;
        Ok(made)
    }
}

impl Product for Square {
    fn multiply(&self) -> Result<u64, DeviceError> {
        let (kind, compute) = types(self.numbers);
        let (side, one, nothing) = (self.side, 1.0_f32, 0.0_f32);
        // SAFETY: the signature is the library's. The buffers hold `side` times `side` numbers of the type
        // that is named; the factors are read by the call, as the handle's pointer mode is the host's.
        let status = unsafe {
            (self.blas.multiply)(
                self.blas.handle,
                AS_IT_IS,
                AS_IT_IS,
                side,
                side,
                side,
                (&raw const one).cast(),
                self.a.address as *const c_void,
                kind,
                side,
                self.b.address as *const c_void,
                kind,
                side,
                (&raw const nothing).cast(),
                self.c.address as *mut c_void,
                kind,
                side,
                compute,
                ITS_CHOICE,
            )
        };
        match status {
            0 => Ok(2 * (side as u64).pow(3)),
            code => Err(DeviceError::refused(
                "multiply matrices",
                &format!("cublasGemmEx failed (status {code})"),
            )),
        }
    }
}

/// `cudaDataType` and `cublasComputeType_t`: sums are of `f32` in all of them.
fn types(numbers: Numbers) -> (c_int, c_int) {
    const SUMS_OF_F32: c_int = 68;
    match numbers {
        Numbers::F32 => (0, SUMS_OF_F32),
        Numbers::Tf32 => (0, 77),
        Numbers::F16 => (2, SUMS_OF_F32),
        Numbers::Bf16 => (14, SUMS_OF_F32),
    }
}

/// Numbers of random sign and digits, from 0.5 to 1 in size: bits without a pattern would be infinite now and
/// then.
fn random(numbers: Numbers) -> Vec<u8> {
    let mut bytes = noise(NOISE);
    match numbers {
        Numbers::F32 | Numbers::Tf32 => {
            for four in bytes.as_chunks_mut::<4>().0 {
                *four = (u32::from_le_bytes(*four) & 0x807f_ffff | 0x3f00_0000).to_le_bytes();
            }
        }
        Numbers::F16 | Numbers::Bf16 => {
            let (kept, size) = if numbers == Numbers::F16 { (0x83ff, 0x3800) } else { (0x807f, 0x3f00) };
            for two in bytes.as_chunks_mut::<2>().0 {
                *two = (u16::from_le_bytes(*two) & kept | size).to_le_bytes();
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_are_finite_and_about_one() {
        let bytes = random(Numbers::F32);
        let mut sum = 0.0;
        for four in bytes.as_chunks::<4>().0 {
            let x = f32::from_le_bytes(*four);
            assert!((0.5..1.0).contains(&x.abs()), "{x}");
            sum += f64::from(x);
        }
        assert!(sum.abs() < 6.0 * f64::sqrt(bytes.len() as f64 / 4.0), "{sum}");
        let half = random(Numbers::F16);
        assert!(half.as_chunks::<2>().0.iter().all(|two| u16::from_le_bytes(*two) & 0x7c00 == 0x3800));
    }
}
