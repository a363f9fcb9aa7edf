//! Environment variables that may change what is measured.

use std::collections::BTreeMap;
use std::ffi::OsString;

use crate::process::{is_secret_name, without_secrets};
use crate::ranks::variables_of_launch;

/// Variables that are kept, and beginnings of names (with `*`) of which all are.
const KEPT: &[&str] = &[
    "WEIGHBRIDGE_*",
    // How it was built.
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_PROFILE_*",
    // How many threads libraries take.
    "RAYON_NUM_THREADS",
    "CANDLE_*",
    "TOKIO_WORKER_THREADS",
    "OMP_*",
    "MKL_*",
    "OPENBLAS_NUM_THREADS",
    "KMP_*",
    "GOMP_*",
    "BLIS_NUM_THREADS",
    "NUMEXPR_*",
    "VECLIB_MAXIMUM_THREADS",
    "POLARS_MAX_THREADS",
    "TOKENIZERS_PARALLELISM",
    // Which allocator and which libraries are loaded, and how they behave.
    "MALLOC_*",
    "_RJEM_MALLOC_CONF",
    "JE_MALLOC_CONF",
    "MIMALLOC_*",
    "TCMALLOC_*",
    "PYTORCH_*",
    "GLIBC_TUNABLES",
    "LD_PRELOAD",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_BIND_NOW",
    "DYLD_*",
    "PYTHON*",
    // Accelerators.
    "CUDA_*",
    "JAX_*",
    "XLA_*",
    "TF_XLA_FLAGS",
    "TF_NUM_INTEROP_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_ENABLE_ONEDNN_OPTS",
    "NVIDIA_TF32_OVERRIDE",
];

/// The twins of flags that change what is shown of a run and nothing of how it is measured: a run that is
/// looked at in another way is of the same series.
const SHOWN: &[&str] = &[
    "LIST",
    "LIST_METRICS",
    "FORMAT",
    "COLOR",
    "EXPORT",
    "HTML",
    "NO_HTML",
    "CHARTS",
    "NO_CHARTS",
    "TRACKER",
    "PROJECT",
    "ENTITY",
    "OUTPUTS",
    "SHOW_OUTPUT",
    "QUIET",
    "VERBOSE",
];

/// The variables that are kept, sorted: records and baselines are shown and committed, so none that is a
/// secret by its name, and of the others no part that looks like one. A value that is no UTF-8 is kept as
/// nearly as it can be written.
pub(super) fn relevant(all: impl Iterator<Item = (OsString, OsString)>) -> BTreeMap<String, String> {
    let text = |(name, value): (OsString, OsString)| {
        (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
    };
    let mut kept = BTreeMap::new();
    for (name, value) in all.map(text).filter(|(name, _)| is_kept(name)) {
        kept.insert(name, without_secrets(&value));
    }
    kept
}

/// Tells whether a variable may change what is measured.
pub(crate) fn is_kept(name: &str) -> bool {
    if name.strip_prefix("WEIGHBRIDGE_").is_some_and(|twin| SHOWN.contains(&twin)) {
        return false;
    }
    if is_secret_name(name) || variables_of_launch().contains(&name) {
        return false;
    }
    KEPT.iter().any(|kept| match kept.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == *kept,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_kept_whatever_lets_them_in() {
        let all =
            ["WEIGHBRIDGE_API_KEY", "JAX_token", "CUDA_SECRET_X", "OMP_PASSWORD", "KMP_PASSWD", "XLA_FLAGS"];
        let kept = relevant(all.into_iter().map(|name| (name.into(), "1".into())));
        assert!(kept.keys().eq(["XLA_FLAGS"]), "{kept:?}");
        let commands = ("WEIGHBRIDGE_COMMANDS".into(), r#"{"line":["curl","--token","abc"]}"#.into());
        let kept = relevant([commands].into_iter());
        assert_eq!(kept["WEIGHBRIDGE_COMMANDS"], r#"{"line":["curl","--token","<hidden>"]}"#);
    }

    #[test]
    fn variables_that_change_what_is_measured_are_kept_and_others_are_not() {
        let all = [
            "WEIGHBRIDGE_SLOWDOWN",
            "RUSTFLAGS",
            "MALLOC_ARENA_MAX",
            "HOME",
            "TZ",
            "RUSTFLAGS_OLD",
            "TOKENIZERS_PARALLELISM",
            "AWS_SECRET",
        ];
        let kept = relevant(all.into_iter().map(|name| (name.into(), "1".into())));
        assert!(
            kept.keys().eq([
                "MALLOC_ARENA_MAX",
                "RUSTFLAGS",
                "TOKENIZERS_PARALLELISM",
                "WEIGHBRIDGE_SLOWDOWN"
            ]),
            "{kept:?}"
        );
    }
}
