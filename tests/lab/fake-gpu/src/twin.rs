//! Host twins: functions that do a kernel's arithmetic on the fake's memory when its time ends.

#![expect(unsafe_code, reason = "arguments and device memory cross a C boundary as pointers")]

use std::ffi::c_void;

use crate::memory::Memory;
use crate::ptx::Launch;

/// A launch as it crosses the boundary of the library.
#[repr(C)]
pub struct RawCall {
    grid: [u32; 3],
    block: [u32; 3],
    count: usize,
    args: *const *const u8,
    sizes: *const usize,
    memory: *mut c_void,
    place: unsafe extern "C" fn(*mut c_void, u64, usize) -> *mut u8,
}

/// A twin as it crosses the boundary; answers whether all its memory was there.
pub type Function = unsafe extern "C" fn(data: *mut c_void, call: *const RawCall) -> bool;

/// A registered twin.
#[derive(Clone, Copy, Debug)]
pub struct Twin {
    pub function: Function,
    pub data: usize,
}

unsafe extern "C" fn place(memory: *mut c_void, address: u64, len: usize) -> *mut u8 {
    // SAFETY: `run` passes its own memory, which nobody else holds while the twin runs.
    let memory = unsafe { &mut *memory.cast::<Memory>() };
    memory.reach(address, len as u64).unwrap_or(std::ptr::null_mut())
}

/// Runs a twin; `false` when it touched memory that is not there.
pub fn run(twin: Twin, launch: &Launch, memory: &mut Memory) -> bool {
    let args: Vec<_> = launch.args.iter().map(Vec::as_ptr).collect();
    let sizes: Vec<_> = launch.args.iter().map(Vec::len).collect();
    let call = RawCall {
        grid: launch.grid,
        block: launch.block,
        count: args.len(),
        args: args.as_ptr(),
        sizes: sizes.as_ptr(),
        memory: std::ptr::from_mut(memory).cast(),
        place,
    };
    // SAFETY: the twin was registered with its data, and the call's pointers live until it returns.
    unsafe { (twin.function)(twin.data as *mut c_void, &raw const call) }
}

mod sealed {
    pub trait Plain: Copy + 'static {}
    macro_rules! plain { ($($kind:ty)*) => { $(impl Plain for $kind {})* } }
    plain!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);
}

/// A kernel's launch, as its twin sees it.
pub struct Call<'call> {
    raw: &'call RawCall,
    missed: std::cell::Cell<bool>,
}

impl Call<'_> {
    /// Blocks of the grid.
    pub fn grid(&self) -> [u32; 3] {
        self.raw.grid
    }

    /// Threads of a block.
    pub fn block(&self) -> [u32; 3] {
        self.raw.block
    }

    /// Threads in all.
    pub fn threads(&self) -> usize {
        self.raw.grid.iter().chain(&self.raw.block).map(|extent| *extent as usize).product()
    }

    /// An argument by its place.
    ///
    /// # Panics
    ///
    /// When the kernel declares no such parameter, or one of another size.
    pub fn arg<T: sealed::Plain>(&self, place: usize) -> T {
        assert!(place < self.raw.count, "the kernel has {} parameters", self.raw.count);
        // SAFETY: `count` sizes and arguments lie behind the pointers, and plain values are read unaligned.
        unsafe {
            let size = *self.raw.sizes.add(place);
            assert_eq!(size, size_of::<T>(), "parameter {place} has {size} bytes");
            (*self.raw.args.add(place)).cast::<T>().read_unaligned()
        }
    }

    fn place<T>(&self, address: u64, len: usize) -> Option<*mut T> {
        // SAFETY: the function came with the call, for this memory.
        let place = unsafe { (self.raw.place)(self.raw.memory, address, len * size_of::<T>()) };
        if place.is_null() {
            self.missed.set(true);
            return None;
        }
        Some(place.cast())
    }

    /// What is at an address: `len` values, or none when there is no such memory, which becomes error 700.
    pub fn read<T: sealed::Plain>(&self, address: u64, len: usize) -> Vec<T> {
        let Some(place) = self.place::<T>(address, len) else { return Vec::new() };
        // SAFETY: `place` answers for `len` values.
        (0..len).map(|index| unsafe { place.add(index).read_unaligned() }).collect()
    }

    /// Writes values to an address; to memory that is not there becomes error 700.
    pub fn write<T: sealed::Plain>(&self, address: u64, values: &[T]) {
        let Some(place) = self.place::<T>(address, values.len()) else { return };
        for (index, value) in values.iter().enumerate() {
            // SAFETY: `place` answers for as many values.
            unsafe { place.add(index).write_unaligned(*value) };
        }
    }
}

/// A closure behind the C boundary.
pub type Closure = Box<dyn Fn(&Call<'_>) + Send + Sync>;

/// Calls the closure that `data` points to.
///
/// # Safety
///
/// `data` is a `Closure` that lives on, and `call` a launch in progress.
pub unsafe extern "C" fn call_closure(data: *mut c_void, call: *const RawCall) -> bool {
    // SAFETY: as this function demands.
    let (closure, raw) = unsafe { (&*data.cast::<Closure>(), &*call) };
    let call = Call { raw, missed: std::cell::Cell::new(false) };
    closure(&call);
    !call.missed.get()
}
