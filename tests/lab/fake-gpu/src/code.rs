//! The driver's results, by number: only ones that the bindings know, since they read them as an enum.

/// A `CUresult` other than success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code(pub i32);

impl Code {
    pub const INVALID_VALUE: Self = Self(1);
    pub const OUT_OF_MEMORY: Self = Self(2);
    pub const NOT_INITIALIZED: Self = Self(3);
    pub const INVALID_DEVICE: Self = Self(101);
    pub const INVALID_IMAGE: Self = Self(200);
    pub const INVALID_CONTEXT: Self = Self(201);
    pub const NO_BINARY: Self = Self(209);
    pub const INVALID_PTX: Self = Self(218);
    pub const UNSUPPORTED_PTX: Self = Self(222);
    pub const FILE_NOT_FOUND: Self = Self(301);
    pub const INVALID_HANDLE: Self = Self(400);
    pub const NOT_FOUND: Self = Self(500);
    pub const NOT_READY: Self = Self(600);
    pub const ILLEGAL_ADDRESS: Self = Self(700);
    pub const LAUNCH_TIMEOUT: Self = Self(702);
    pub const ALREADY_REGISTERED: Self = Self(712);
    pub const NOT_REGISTERED: Self = Self(713);
    pub const NOT_SUPPORTED: Self = Self(801);
    pub const CAPTURE_UNSUPPORTED: Self = Self(900);
    pub const CAPTURE_INVALIDATED: Self = Self(901);
    pub const CAPTURE_MERGE: Self = Self(902);
    pub const CAPTURE_UNMATCHED: Self = Self(903);
    pub const CAPTURE_UNJOINED: Self = Self(904);
    pub const CAPTURE_IMPLICIT: Self = Self(906);
    pub const CAPTURED_EVENT: Self = Self(907);

    /// Whether the context is gone with it: every later call answers the same.
    pub fn sticky(self) -> bool {
        matches!(self.0, 214 | 220 | 700 | 702 | 709..=719 | 999 | 46)
    }
}

/// Every result that a caller may be given, with its name.
const NAMES: &[(i32, &str)] = &[
    (0, "CUDA_SUCCESS\0"),
    (1, "CUDA_ERROR_INVALID_VALUE\0"),
    (2, "CUDA_ERROR_OUT_OF_MEMORY\0"),
    (3, "CUDA_ERROR_NOT_INITIALIZED\0"),
    (4, "CUDA_ERROR_DEINITIALIZED\0"),
    (34, "CUDA_ERROR_STUB_LIBRARY\0"),
    (46, "CUDA_ERROR_DEVICE_UNAVAILABLE\0"),
    (100, "CUDA_ERROR_NO_DEVICE\0"),
    (101, "CUDA_ERROR_INVALID_DEVICE\0"),
    (200, "CUDA_ERROR_INVALID_IMAGE\0"),
    (201, "CUDA_ERROR_INVALID_CONTEXT\0"),
    (209, "CUDA_ERROR_NO_BINARY_FOR_GPU\0"),
    (214, "CUDA_ERROR_ECC_UNCORRECTABLE\0"),
    (218, "CUDA_ERROR_INVALID_PTX\0"),
    (220, "CUDA_ERROR_NVLINK_UNCORRECTABLE\0"),
    (222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION\0"),
    (301, "CUDA_ERROR_FILE_NOT_FOUND\0"),
    (304, "CUDA_ERROR_OPERATING_SYSTEM\0"),
    (400, "CUDA_ERROR_INVALID_HANDLE\0"),
    (401, "CUDA_ERROR_ILLEGAL_STATE\0"),
    (500, "CUDA_ERROR_NOT_FOUND\0"),
    (600, "CUDA_ERROR_NOT_READY\0"),
    (700, "CUDA_ERROR_ILLEGAL_ADDRESS\0"),
    (701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES\0"),
    (702, "CUDA_ERROR_LAUNCH_TIMEOUT\0"),
    (709, "CUDA_ERROR_CONTEXT_IS_DESTROYED\0"),
    (710, "CUDA_ERROR_ASSERT\0"),
    (712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED\0"),
    (713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED\0"),
    (714, "CUDA_ERROR_HARDWARE_STACK_ERROR\0"),
    (715, "CUDA_ERROR_ILLEGAL_INSTRUCTION\0"),
    (716, "CUDA_ERROR_MISALIGNED_ADDRESS\0"),
    (717, "CUDA_ERROR_INVALID_ADDRESS_SPACE\0"),
    (718, "CUDA_ERROR_INVALID_PC\0"),
    (719, "CUDA_ERROR_LAUNCH_FAILED\0"),
    (800, "CUDA_ERROR_NOT_PERMITTED\0"),
    (801, "CUDA_ERROR_NOT_SUPPORTED\0"),
    (802, "CUDA_ERROR_SYSTEM_NOT_READY\0"),
    (803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH\0"),
    (900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED\0"),
    (901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED\0"),
    (902, "CUDA_ERROR_STREAM_CAPTURE_MERGE\0"),
    (903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED\0"),
    (904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED\0"),
    (906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT\0"),
    (907, "CUDA_ERROR_CAPTURED_EVENT\0"),
    (908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD\0"),
    (909, "CUDA_ERROR_TIMEOUT\0"),
    (999, "CUDA_ERROR_UNKNOWN\0"),
];

/// The name of a result, ended by NUL; `None` for one that no caller may be given.
pub fn name(code: i32) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| *known == code).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_that_can_be_planted_has_a_name() {
        for code in [0, 2, 34, 46, 100, 214, 700, 701, 702, 719, 999] {
            assert!(name(code).is_some_and(|name| name.ends_with('\0')), "{code}");
        }
        assert_eq!(name(12345), None);
    }

    #[test]
    fn errors_that_kill_the_context_are_told_from_those_of_one_call() {
        for (code, sticky) in
            [(700, true), (719, true), (214, true), (46, true), (2, false), (701, false), (1, false)]
        {
            assert_eq!(Code(code).sticky(), sticky, "{code}");
        }
    }
}
