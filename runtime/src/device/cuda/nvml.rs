//! The driver's management library, by hand: the functions that are called, and no more. (The crate for it
//! generates a binding to all of them, which every build of the feature would pay for.)

use std::ffi::{CString, c_char, c_int, c_uint, c_ulonglong, c_void};

use libloading::os::unix::Library;

use super::super::{DeviceInfo, Telemetry};
use super::probe::{Driver, symbol};

type NvmlHandle = *mut c_void;
type NvmlInit = unsafe extern "C" fn() -> c_int;
type ByUuid = unsafe extern "C" fn(*const c_char, *mut NvmlHandle) -> c_int;
type ByIndex = unsafe extern "C" fn(c_uint, *mut NvmlHandle) -> c_int;
type NvmlNumber = unsafe extern "C" fn(NvmlHandle, *mut c_uint) -> c_int;
type Wide = unsafe extern "C" fn(NvmlHandle, *mut c_ulonglong) -> c_int;
type NvmlIndex = unsafe extern "C" fn(NvmlHandle, c_uint, *mut c_uint) -> c_int;
type Rates = unsafe extern "C" fn(NvmlHandle, *mut [c_uint; 2]) -> c_int;
type Modes = unsafe extern "C" fn(NvmlHandle, *mut c_uint, *mut c_uint) -> c_int;
type NvmlProcesses = unsafe extern "C" fn(NvmlHandle, *mut c_uint, *mut NvmlProcess) -> c_int;
type NvmlMemoryInfo = unsafe extern "C" fn(NvmlHandle, *mut [c_ulonglong; 3]) -> c_int;
type NvmlText = unsafe extern "C" fn(*mut c_char, c_uint) -> c_int;

/// `nvmlClockType_t`.
const SM: c_uint = 1;
const MEMORY: c_uint = 2;

/// `NVML_TEMPERATURE_GPU`.
const DIE: c_uint = 0;

/// The most processes that are counted.
const MOST: usize = 64;

/// `nvmlProcessInfo_v2_t`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct NvmlProcess {
    pid: c_uint,
    memory: c_ulonglong,
    instance: c_uint,
    compute_instance: c_uint,
}

/// The library and its handle of the device. What it lacks is not told.
#[derive(Debug)]
pub(in super::super) struct Nvml {
    handle: NvmlHandle,
    power: Option<NvmlNumber>,
    power_limit: Option<NvmlNumber>,
    energy: Option<Wide>,
    clock: Option<NvmlIndex>,
    max_clock: Option<NvmlIndex>,
    temperature: Option<NvmlIndex>,
    throttle: Option<Wide>,
    rates: Option<Rates>,
    memory: Option<NvmlMemoryInfo>,
    partition: Option<Modes>,
    persistence: Option<NvmlNumber>,
    processes: Option<NvmlProcesses>,
    version: Option<NvmlText>,
}

impl Nvml {
    /// Opens the library for this device; says why it cannot be had.
    pub(super) fn open(driver: &Driver, info: &DeviceInfo) -> Result<Self, String> {
        // A fake is one library for both.
        if driver.fake {
            return Self::of(driver.loaded(), info);
        }
        // SAFETY: its initialisers are those that any monitor of the device runs.
        let library = unsafe { Library::new("libnvidia-ml.so.1") }
            .map_err(|error| format!("libnvidia-ml.so.1 cannot be opened: {error}"))?;
        let opened = Self::of(&library, info);
        std::mem::forget(library); // functions of it are kept as plain pointers
        opened
    }

    /// The telemetry that a look ten times a second asks for, and the bytes in use on the device.
    pub(in super::super) fn look(&self) -> (Telemetry, Option<u64>) {
        let telemetry = Telemetry {
            sm_clock_mhz: self.which(self.clock, SM).map(f64::from),
            power_watts: self.number(self.power).map(|value| f64::from(value) * 1e-3),
            temperature: self.which(self.temperature, DIE).map(f64::from),
            utilisation: self.utilisation(),
            ..Telemetry::default()
        };
        (telemetry, self.memory_in_use())
    }

    fn of(library: &Library, info: &DeviceInfo) -> Result<Self, String> {
        let lacks = |name: &str| format!("the management library has no {name}");
        // SAFETY: the signature is the library's, which stays open.
        let init = unsafe { symbol::<NvmlInit>(library, "nvmlInit_v2") };
        let init = init.ok_or_else(|| lacks("nvmlInit_v2"))?;
        // SAFETY: as above.
        match unsafe { init() } {
            0 => {}
            code => return Err(format!("nvmlInit failed (code {code})")),
        }
        let handle =
            handle(library, info.uuid.as_deref()).ok_or("the management library has no such device")?;
        // SAFETY: the signatures are the library's, by the types of the fields that take them.
        Ok(unsafe {
            Self {
                handle,
                power: symbol(library, "nvmlDeviceGetPowerUsage"),
                power_limit: symbol(library, "nvmlDeviceGetEnforcedPowerLimit"),
                energy: symbol(library, "nvmlDeviceGetTotalEnergyConsumption"),
                clock: symbol(library, "nvmlDeviceGetClockInfo"),
                max_clock: symbol(library, "nvmlDeviceGetMaxClockInfo"),
                temperature: symbol(library, "nvmlDeviceGetTemperature"),
                throttle: symbol(library, "nvmlDeviceGetCurrentClocksEventReasons")
                    .or_else(|| symbol(library, "nvmlDeviceGetCurrentClocksThrottleReasons")),
                rates: symbol(library, "nvmlDeviceGetUtilizationRates"),
                memory: symbol(library, "nvmlDeviceGetMemoryInfo"),
                partition: symbol(library, "nvmlDeviceGetMigMode"),
                persistence: symbol(library, "nvmlDeviceGetPersistenceMode"),
                processes: symbol(library, "nvmlDeviceGetComputeRunningProcesses_v3"),
                version: symbol(library, "nvmlSystemGetDriverVersion"),
            }
        })
    }

    /// The telemetry of the device as it is now.
    pub(super) fn telemetry(&self) -> Telemetry {
        let milli = |value: u32| f64::from(value) * 1e-3;
        Telemetry {
            sm_clock_mhz: self.which(self.clock, SM).map(f64::from),
            memory_clock_mhz: self.which(self.clock, MEMORY).map(f64::from),
            power_watts: self.number(self.power).map(milli),
            energy_joules: self.wide(self.energy).map(|millijoules| millijoules as f64 * 1e-3),
            temperature: self.which(self.temperature, DIE).map(f64::from),
            throttle: self.wide(self.throttle),
            utilisation: self.utilisation(),
            other_processes: self.other_processes(),
        }
    }

    /// The facts that explain figures, added to what the driver tells.
    pub(super) fn add_facts(&self, mut info: DeviceInfo) -> DeviceInfo {
        info.partitioned = self.partitioned();
        let mut fact = |name: &str, value: Option<String>| {
            info.facts.extend(value.map(|value| (name.to_owned(), value)));
        };
        let watts = |milliwatts: u32| format!("{:.0} W", f64::from(milliwatts) * 1e-3);
        fact("power limit", self.number(self.power_limit).map(watts));
        let on = |mode: u32| if mode == 1 { "on" } else { "off" }.to_owned();
        fact("persistence", self.number(self.persistence).map(on));
        fact("driver version", self.driver_version());
        info.max_clock_mhz = self.which(self.max_clock, SM).map(f64::from).or(info.max_clock_mhz);
        info
    }

    fn number(&self, ask: Option<NvmlNumber>) -> Option<u32> {
        let mut value = 0;
        // SAFETY: the signature is the library's, the handle its own, and the place outlives the call.
        (unsafe { ask?(self.handle, &raw mut value) } == 0).then_some(value)
    }

    fn wide(&self, ask: Option<Wide>) -> Option<u64> {
        let mut value = 0;
        // SAFETY: as above.
        (unsafe { ask?(self.handle, &raw mut value) } == 0).then_some(value)
    }

    fn which(&self, ask: Option<NvmlIndex>, which: c_uint) -> Option<u32> {
        let mut value = 0;
        // SAFETY: as above.
        (unsafe { ask?(self.handle, which, &raw mut value) } == 0).then_some(value)
    }

    fn utilisation(&self) -> Option<f64> {
        let mut rates = [0; 2]; // of kernels, of memory: `nvmlUtilization_t`
        // SAFETY: as above.
        (unsafe { self.rates?(self.handle, &raw mut rates) } == 0).then(|| f64::from(rates[0]) / 100.0)
    }

    fn memory_in_use(&self) -> Option<u64> {
        let mut bytes = [0; 3]; // all, free, in use: `nvmlMemory_t`
        // SAFETY: as above.
        (unsafe { self.memory?(self.handle, &raw mut bytes) } == 0).then_some(bytes[2])
    }

    fn partitioned(&self) -> Option<bool> {
        let (mut current, mut pending) = (0, 0);
        // SAFETY: as above.
        let asked = unsafe { self.partition?(self.handle, &raw mut current, &raw mut pending) };
        (asked == 0).then_some(current == 1)
    }

    /// Processes that compute on the device, this one aside. In a container the library may tell ids of
    /// another namespace: then one of them is taken to be this one, which has a context.
    fn other_processes(&self) -> Option<u32> {
        let mut running = [NvmlProcess::default(); MOST];
        let mut count = MOST as c_uint;
        // SAFETY: as above; there is room for as many as `count` says.
        let asked = unsafe { self.processes?(self.handle, &raw mut count, running.as_mut_ptr()) };
        (asked == 0).then(|| count.saturating_sub(1))
    }

    fn driver_version(&self) -> Option<String> {
        let mut text = [0u8; 80];
        // SAFETY: as above; the library writes a text with its NUL into the room that it is told of.
        let asked = unsafe { self.version?(text.as_mut_ptr().cast(), text.len() as c_uint) };
        let end = text.iter().position(|byte| *byte == 0)?;
        (asked == 0).then(|| String::from_utf8_lossy(&text[..end]).into_owned())
    }
}

/// The library's handle: by the device's id, since a process may see other devices than the library does.
fn handle(library: &Library, uuid: Option<&str>) -> Option<NvmlHandle> {
    let mut handle = std::ptr::null_mut();
    // SAFETY: the signature is the library's, which stays open.
    let by_uuid = unsafe { symbol::<ByUuid>(library, "nvmlDeviceGetHandleByUUID") };
    if let (Some(uuid), Some(ask)) = (uuid, by_uuid) {
        let text = CString::new(uuid).ok()?;
        // SAFETY: the signature is the library's, the text ends with a NUL, and the place outlives the call.
        if unsafe { ask(text.as_ptr(), &raw mut handle) } == 0 {
            return Some(handle);
        }
    }
    // SAFETY: as above.
    let ask = unsafe { symbol::<ByIndex>(library, "nvmlDeviceGetHandleByIndex_v2") }?;
    // SAFETY: as above.
    (unsafe { ask(0, &raw mut handle) } == 0).then_some(handle)
}
