//! Peaks of devices by their name, as their vendors print them. A device that is not here has none: nothing
//! is guessed from one that is called alike.

/// The rates of a device at best, on paper.
#[derive(Debug, PartialEq)]
pub struct NamedPeak {
    /// Its name here: `H100 SXM`.
    pub name: &'static str,
    /// Its names as drivers and frameworks tell them, without the vendor's.
    pub devices: &'static [&'static str],
    /// The vendor's document that has the numbers.
    pub source: &'static str,
    /// Its rates.
    pub rates: &'static [PeakRate],
}

/// Products of matrices with numbers of a kind, in 10^12 operations a second.
#[derive(Debug, PartialEq)]
pub struct PeakRate {
    /// The numbers: `bf16`, `tf32`, `fp8`, `int8`, `f32`.
    pub precision: &'static str,
    /// All operations are done.
    pub dense: f64,
    /// Half of one side is zeros that are skipped, and counted: no training of today reaches it.
    pub sparse: Option<f64>,
}

const fn rate(precision: &'static str, dense: f64, sparse: f64) -> PeakRate {
    PeakRate { precision, dense, sparse: Some(sparse) }
}

const fn dense(precision: &'static str, dense: f64) -> PeakRate {
    PeakRate { precision, dense, sparse: None }
}

/// Every device whose peaks are known. Vendors print the sparse rate where there is one; the dense one is
/// half of it, rounded as they round.
pub const NAMED_PEAKS: &[NamedPeak] = &[
    NamedPeak {
        name: "H100 SXM",
        devices: &["H100 80GB HBM3", "H100 SXM5 80GB"],
        source: "NVIDIA H100 Tensor Core GPU, data sheet",
        rates: HOPPER_SXM,
    },
    NamedPeak {
        name: "H100 PCIe",
        devices: &["H100 PCIe"],
        source: "NVIDIA H100 Tensor Core GPU, data sheet of 2022 (with the PCIe card)",
        rates: &[
            rate("bf16", 756.0, 1_513.0),
            rate("fp16", 756.0, 1_513.0),
            rate("tf32", 378.0, 756.0),
            rate("fp8", 1_513.0, 3_026.0),
            rate("int8", 1_513.0, 3_026.0),
            dense("f32", 51.0),
        ],
    },
    NamedPeak {
        name: "H200",
        devices: &["H200"],
        source: "NVIDIA H200 Tensor Core GPU, data sheet",
        rates: HOPPER_SXM,
    },
    NamedPeak {
        name: "A100",
        devices: &["A100-SXM4-40GB", "A100-SXM4-80GB", "A100-PCIE-40GB", "A100-PCIE-80GB", "A100 80GB PCIe"],
        source: "NVIDIA A100 Tensor Core GPU, data sheet",
        rates: &[
            rate("bf16", 312.0, 624.0),
            rate("fp16", 312.0, 624.0),
            rate("tf32", 156.0, 312.0),
            rate("int8", 624.0, 1_248.0),
            dense("f32", 19.5),
        ],
    },
    NamedPeak {
        name: "L40S",
        devices: &["L40S"],
        source: "NVIDIA L40S, data sheet",
        rates: &[
            rate("bf16", 362.0, 733.0),
            rate("fp16", 362.0, 733.0),
            rate("tf32", 183.0, 366.0),
            rate("fp8", 733.0, 1_466.0),
            rate("int8", 733.0, 1_466.0),
            dense("f32", 91.6),
        ],
    },
    NamedPeak {
        name: "L4",
        devices: &["L4"],
        source: "NVIDIA L4 Tensor Core GPU, data sheet",
        rates: &[
            rate("bf16", 121.0, 242.0),
            rate("fp16", 121.0, 242.0),
            rate("tf32", 60.0, 120.0),
            rate("fp8", 242.5, 485.0),
            rate("int8", 242.5, 485.0),
            dense("f32", 30.3),
        ],
    },
    NamedPeak {
        name: "RTX 4090",
        devices: &["GeForce RTX 4090"],
        source: "NVIDIA Ada GPU Architecture, white paper, appendix A (sums in f32)",
        rates: &[
            rate("bf16", 165.2, 330.4),
            rate("fp16", 165.2, 330.4),
            rate("tf32", 82.6, 165.2),
            rate("fp8", 330.3, 660.6),
            rate("int8", 660.6, 1_321.2),
            dense("f32", 82.6),
        ],
    },
    NamedPeak {
        name: "RTX 3090",
        devices: &["GeForce RTX 3090"],
        source: "NVIDIA Ampere GA102 GPU Architecture, white paper, appendix A (sums in f32)",
        rates: &[
            rate("bf16", 71.0, 142.0),
            rate("fp16", 71.0, 142.0),
            rate("tf32", 35.6, 71.0),
            rate("int8", 284.0, 568.0),
            dense("f32", 35.6),
        ],
    },
    NamedPeak {
        name: "B200",
        devices: &["B200"],
        source: "NVIDIA HGX B200, product page: an eighth of the board's",
        rates: &[
            rate("bf16", 2_250.0, 4_500.0),
            rate("fp16", 2_250.0, 4_500.0),
            rate("tf32", 1_125.0, 2_250.0),
            rate("fp8", 4_500.0, 9_000.0),
            dense("f32", 75.0),
        ],
    },
    NamedPeak {
        name: "TPU v4",
        devices: &["TPU v4"],
        source: "cloud.google.com/tpu/docs/v4, peak compute per chip",
        rates: &[dense("bf16", 275.0), dense("int8", 275.0)],
    },
    NamedPeak {
        name: "TPU v5e",
        devices: &["TPU v5e", "TPU v5 lite"],
        source: "cloud.google.com/tpu/docs/v5e, peak compute per chip",
        rates: &[dense("bf16", 197.0), dense("int8", 393.0)],
    },
    NamedPeak {
        name: "TPU v5p",
        devices: &["TPU v5p", "TPU v5"],
        source: "cloud.google.com/tpu/docs/v5p, peak compute per chip",
        rates: &[dense("bf16", 459.0), dense("int8", 918.0)],
    },
    NamedPeak {
        name: "TPU v6e",
        devices: &["TPU v6e", "TPU v6 lite"],
        source: "cloud.google.com/tpu/docs/v6e, peak compute per chip",
        rates: &[dense("bf16", 918.0), dense("int8", 1_836.0)],
    },
];

const HOPPER_SXM: &[PeakRate] = &[
    rate("bf16", 989.0, 1_979.0),
    rate("fp16", 989.0, 1_979.0),
    rate("tf32", 494.0, 989.0),
    rate("fp8", 1_979.0, 3_958.0),
    rate("int8", 1_979.0, 3_958.0),
    dense("f32", 67.0),
];

impl NamedPeak {
    /// The peak of a device by its name, as its driver or a framework tells it.
    ///
    /// # Errors
    /// What is known, where this device is not.
    pub fn of_device(device: &str) -> Result<&'static Self, String> {
        let bare = device.trim();
        let bare = bare.strip_prefix("NVIDIA ").unwrap_or(bare);
        let is_it = |known: &&Self| {
            known.name.eq_ignore_ascii_case(bare)
                || known.devices.iter().any(|name| name.eq_ignore_ascii_case(bare))
        };
        NAMED_PEAKS.iter().find(is_it).ok_or_else(|| {
            let known: Vec<&str> = NAMED_PEAKS.iter().map(|known| known.name).collect();
            format!("no peak is known of the device `{device}`: known are {}", known.join(", "))
        })
    }

    /// Dense operations in a second with numbers of this kind, by the name that they are told under.
    pub fn dense(&self, precision: &str) -> Option<(String, f64)> {
        let rate = self.rates.iter().find(|rate| rate.precision == precision)?;
        Some((format!("{}, {precision}, dense", self.name), rate.dense * 1e12))
    }
}

/// Every peak under the name that it is told under: `H100 SXM, bf16, dense`.
pub fn named_peaks() -> impl Iterator<Item = (String, f64)> {
    NAMED_PEAKS.iter().flat_map(|known| {
        known.rates.iter().flat_map(|rate| {
            let told =
                |kind: &str, tera: f64| (format!("{}, {}, {kind}", known.name, rate.precision), tera * 1e12);
            [Some(told("dense", rate.dense)), rate.sparse.map(|tera| told("sparse", tera))]
                .into_iter()
                .flatten()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_found_by_the_name_that_its_driver_tells() {
        for (told, name) in [
            ("NVIDIA H100 80GB HBM3", "H100 SXM"),
            ("NVIDIA H100 PCIe", "H100 PCIe"),
            ("NVIDIA H200", "H200"),
            ("NVIDIA A100-SXM4-80GB", "A100"),
            ("NVIDIA GeForce RTX 4090", "RTX 4090"),
            ("TPU v5 lite", "TPU v5e"),
        ] {
            assert_eq!(NamedPeak::of_device(told).unwrap().name, name);
        }
        let (name, peak) = NamedPeak::of_device("NVIDIA H100 80GB HBM3").unwrap().dense("bf16").unwrap();
        assert_eq!((name.as_str(), peak), ("H100 SXM, bf16, dense", 989e12));
    }

    #[test]
    fn a_device_that_is_called_alike_is_refused_by_its_name() {
        for told in ["NVIDIA H100 NVL", "NVIDIA GeForce RTX 3090 Ti", "NVIDIA L40", "NVIDIA H20", ""] {
            let said = NamedPeak::of_device(told).unwrap_err();
            assert!(said.contains(&format!("`{told}`")) && said.contains("H100 SXM"), "{said}");
        }
    }

    #[test]
    fn a_sparse_rate_is_about_twice_the_dense_one_and_no_name_is_there_twice() {
        for known in NAMED_PEAKS {
            assert!(!known.source.is_empty());
            for rate in known.rates {
                let ratio = rate.sparse.map_or(2.0, |sparse| sparse / rate.dense);
                assert!((1.98..2.03).contains(&ratio), "{} {}: {ratio}", known.name, rate.precision);
            }
        }
        let mut names: Vec<String> = named_peaks().map(|(name, _)| name).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
