//! Modules and functions.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use super::{Requires, call, cheap, put};
use crate::code::Code;
use crate::fault::Site;
use crate::gpu::{Driver, Function};
use crate::ptx;

fn load(driver: &mut Driver, text: &str) -> Result<usize, Code> {
    let kernels = ptx::parse(text, driver.config.ptx, driver.config.capability)?;
    let module = driver.handle();
    let mut names = std::collections::BTreeMap::new();
    for (name, kernel) in kernels {
        let function = driver.handle();
        driver.functions.insert(function, Function { module, kernel, loaded: false });
        names.insert(name, function);
    }
    driver.modules.insert(module, names);
    Ok(module)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(module: *mut *mut c_void, image: *const c_void) -> c_int {
    call(
        Requires::Context,
        Site::Module,
        |driver| driver.config.memory_ns,
        |driver| {
            if image.is_null() {
                return Err(Code::INVALID_VALUE);
            }
            // SAFETY: an image is a text with its NUL, or begins with a magic number that has none in it.
            let text = unsafe { CStr::from_ptr(image.cast()) };
            // Machine code runs on no fake.
            let text =
                text.to_str().ok().filter(|text| !text.starts_with('\u{7f}')).ok_or(Code::INVALID_IMAGE)?;
            let handle = load(driver, text)?;
            // SAFETY: the caller's pointer.
            unsafe { put(module, handle as *mut c_void) }
        },
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut *mut c_void,
    image: *const c_void,
    _count: c_uint,
    _options: *mut c_uint,
    _values: *mut *mut c_void,
) -> c_int {
    // SAFETY: the same call without options of the assembler.
    unsafe { cuModuleLoadData(module, image) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoad(module: *mut *mut c_void, path: *const c_char) -> c_int {
    call(
        Requires::Context,
        Site::Module,
        |driver| driver.config.memory_ns,
        |driver| {
            // SAFETY: the caller's path.
            let path = unsafe { CStr::from_ptr(path) }.to_str().map_err(|_| Code::INVALID_VALUE)?;
            let text = std::fs::read_to_string(path).map_err(|_| Code::FILE_NOT_FOUND)?;
            let handle = load(driver, &text)?;
            // SAFETY: the caller's pointer.
            unsafe { put(module, handle as *mut c_void) }
        },
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleUnload(module: *mut c_void) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| {
        let module = module as usize;
        driver.modules.remove(&module).ok_or(Code::INVALID_HANDLE)?;
        driver.functions.retain(|_, function| function.module != module);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(
    function: *mut *mut c_void,
    module: *mut c_void,
    name: *const c_char,
) -> c_int {
    call(Requires::Context, Site::Module, cheap, |driver| {
        // SAFETY: the caller's name.
        let name = unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| Code::NOT_FOUND)?;
        let names = driver.modules.get(&(module as usize)).ok_or(Code::INVALID_HANDLE)?;
        let found = *names.get(name).ok_or(Code::NOT_FOUND)?;
        // SAFETY: the caller's pointer.
        unsafe { put(function, found as *mut c_void) }
    })
}

/// No global variables are modelled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetGlobal_v2(
    _address: *mut u64,
    _bytes: *mut usize,
    _module: *mut c_void,
    _name: *const c_char,
) -> c_int {
    call(Requires::Context, Site::Other, cheap, |_| Err(Code::NOT_FOUND))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetLoadingMode(mode: *mut c_uint) -> c_int {
    call(Requires::Init, Site::Other, cheap, |driver| {
        // SAFETY: the caller's pointer. 1 is eager, 2 lazy.
        unsafe { put(mode, if driver.config.lazy == 0 { 1 } else { 2 }) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetAttribute(
    value: *mut c_int,
    attribute: c_uint,
    _function: *mut c_void,
) -> c_int {
    call(Requires::Context, Site::Other, cheap, |_| {
        let answer = match attribute {
            0 => 1024,
            4 => 16,
            _ => 0,
        };
        // SAFETY: the caller's pointer.
        unsafe { put(value, answer) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncSetAttribute(
    _function: *mut c_void,
    _attribute: c_uint,
    _value: c_int,
) -> c_int {
    call(Requires::Context, Site::Other, cheap, |_| Ok(()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncSetCacheConfig(_function: *mut c_void, _config: c_uint) -> c_int {
    call(Requires::Context, Site::Other, cheap, |_| Ok(()))
}
