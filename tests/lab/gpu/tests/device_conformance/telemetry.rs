//! NVML: the same device, in known units.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::time::Duration;

use libloading::Library;

use crate::world::World;

type Device = *mut c_void;

/// The library of this world, initialised, and its first device.
struct Nvml {
    loaded: Library,
    device: Device,
}

impl Nvml {
    fn open(world: &World) -> Self {
        let file = match world.fake {
            Some(_) => fake_gpu::file().expect("the fake's library"),
            None => "libnvidia-ml.so.1".into(),
        };
        // SAFETY: the library initialises nothing by being opened; the symbols have the header's types.
        unsafe {
            let library = Library::new(file).unwrap_or_else(|error| panic!("no NVML: {error}"));
            let init = library.get::<unsafe extern "C" fn() -> c_int>(b"nvmlInit_v2\0").expect("nvmlInit_v2");
            assert_eq!(init(), 0);
            let mut device = std::ptr::null_mut();
            let uuid = uuid(world);
            let find = library
                .get::<unsafe extern "C" fn(*const c_char, *mut Device) -> c_int>(
                    b"nvmlDeviceGetHandleByUUID\0",
                )
                .expect("nvmlDeviceGetHandleByUUID");
            let text = std::ffi::CString::new(uuid.clone()).expect("no NUL");
            assert_eq!(find(text.as_ptr(), &raw mut device), 0, "{uuid}");
            Self { loaded: library, device }
        }
    }

    /// Asks a function that fills one value.
    fn ask<T: Default>(&self, name: &str) -> (c_int, T) {
        let mut value = T::default();
        // SAFETY: callers name functions of this shape.
        let result = unsafe {
            let function =
                self.loaded.get::<unsafe extern "C" fn(Device, *mut T) -> c_int>(name).expect(name);
            function(self.device, &raw mut value)
        };
        (result, value)
    }

    /// Asks a function that takes a kind first.
    fn ask_kind(&self, name: &str, kind: c_uint) -> c_uint {
        let mut value = 0;
        // SAFETY: callers name functions of this shape.
        let result = unsafe {
            let function = self
                .loaded
                .get::<unsafe extern "C" fn(Device, c_uint, *mut c_uint) -> c_int>(name)
                .expect(name);
            function(self.device, kind, &raw mut value)
        };
        assert_eq!(result, 0, "{name}");
        value
    }
}

/// The identity as NVML writes it, from the driver's bytes.
fn uuid(world: &World) -> String {
    let bytes = world.ctx.uuid().expect("an identity").bytes;
    let hex: String = bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect();
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[derive(Default)]
#[repr(C)]
struct Memory {
    total: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

pub fn both_libraries_tell_the_same_identity_and_memory(world: &World) {
    let nvml = Nvml::open(world);
    let mut name = [0 as c_char; 96];
    // SAFETY: a buffer of the length that is told.
    let named = unsafe {
        let function = nvml
            .loaded
            .get::<unsafe extern "C" fn(Device, *mut c_char, c_uint) -> c_int>("nvmlDeviceGetName")
            .expect("nvmlDeviceGetName");
        assert_eq!(function(nvml.device, name.as_mut_ptr(), 96), 0);
        CStr::from_ptr(name.as_ptr())
    };
    assert_eq!(named.to_str().unwrap(), world.ctx.name().unwrap());
    let (result, memory) = nvml.ask::<Memory>("nvmlDeviceGetMemoryInfo");
    assert_eq!(result, 0);
    assert!(memory.free <= memory.total && memory.used <= memory.total);
    // NVML counts what the driver keeps for itself.
    let total = world.ctx.total_mem().unwrap() as f64;
    assert!((memory.total as f64 / total - 1.0).abs() < 0.05, "{} {total}", memory.total);
}

pub fn an_idle_device_says_that_it_is_idle(world: &World) {
    let nvml = Nvml::open(world);
    world.ctx.synchronize().unwrap();
    match &world.fake {
        Some(fake) => fake.advance(Duration::from_secs(5)),
        // The device says it some time after its last work.
        None => std::thread::sleep(Duration::from_secs(5)),
    }
    let (result, reasons) = nvml.ask::<c_ulonglong>("nvmlDeviceGetCurrentClocksThrottleReasons");
    assert_eq!((result, reasons & 1), (0, 1), "{reasons:#x}");
}

pub fn power_is_in_milliwatts_and_energy_in_millijoules(world: &World) {
    let nvml = Nvml::open(world);
    let energy = || nvml.ask::<c_ulonglong>("nvmlDeviceGetTotalEnergyConsumption");
    let (result, before) = energy();
    assert_eq!(result, 0);
    let (start, stream) = (world.now(), world.stream());
    for _ in 0..20 {
        world.spin(&stream, Duration::from_millis(100));
    }
    stream.synchronize().unwrap();
    let seconds = (world.now() - start) as f64 / 1e9;
    let watts = (energy().1 - before) as f64 / 1e3 / seconds;
    assert!((10.0..2_000.0).contains(&watts), "{watts} W");
    let (result, milliwatts) = nvml.ask::<c_uint>("nvmlDeviceGetPowerUsage");
    assert_eq!(result, 0);
    assert!((10_000..2_000_000).contains(&milliwatts), "{milliwatts} mW");
}

pub fn clocks_are_in_megahertz_and_below_their_maximum(world: &World) {
    let nvml = Nvml::open(world);
    // 1 is the multiprocessors' clock.
    let (now, most) =
        (nvml.ask_kind("nvmlDeviceGetClockInfo", 1), nvml.ask_kind("nvmlDeviceGetMaxClockInfo", 1));
    assert!((100..=most).contains(&now) && most < 5_000, "{now} of {most} MHz");
    let celsius = nvml.ask_kind("nvmlDeviceGetTemperature", 0);
    assert!((10..120).contains(&celsius), "{celsius} degrees");
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Process {
    pid: c_uint,
    used: c_ulonglong,
    instance: c_uint,
    compute_instance: c_uint,
}

pub fn this_process_is_among_those_on_the_device(world: &World) {
    let nvml = Nvml::open(world);
    let mut processes = [Process::default(); 64];
    let mut count = 64;
    // SAFETY: as many places as the count says.
    unsafe {
        let list = nvml
            .loaded
            .get::<unsafe extern "C" fn(Device, *mut c_uint, *mut Process) -> c_int>(
                "nvmlDeviceGetComputeRunningProcesses_v3",
            )
            .expect("nvmlDeviceGetComputeRunningProcesses_v3");
        assert_eq!(list(nvml.device, &raw mut count, processes.as_mut_ptr()), 0);
    }
    // In a container ids are those of the host: there is somebody at least.
    let ours = processes[..count as usize].iter().any(|process| process.pid == std::process::id());
    assert!(count > 0 && (ours || world.fake.is_none()), "{count} processes");
}
