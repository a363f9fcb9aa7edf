//! The scripts with planted stalls, and the limits that are right for each.

/// A script with a stall.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlantedScript {
    /// The framework: its script is `tests/lab/doctor/FRAMEWORK_loop.py`.
    pub(crate) framework: &'static str,
    /// The stall, as the script calls it; `none` for none.
    pub(crate) stall: &'static str,
    /// The factor of its size.
    pub(crate) size: f64,
    /// The limits that name it.
    pub(crate) right: &'static [&'static str],
}

impl PlantedScript {
    /// The name: `torch/disk*2`.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}*{}", self.framework, self.stall, self.size)
    }
}

/// The frameworks whose loops there are.
pub(crate) const FRAMEWORKS: [&str; 7] =
    ["torch", "huggingface", "webdataset", "tf", "keras", "grain", "jax_dataloader"];

/// Stalls of a loader whose parts are seen: of all frameworks but Keras on `tf.data`, whose steps take their
/// batches within TensorFlow. More processes help a decoder where processors are free, and then the loader is
/// what is short.
const OF_LOADERS: [(&str, &[&str]); 5] = [
    ("few-workers", &["loader"]),
    ("decode", &["loader", "processor"]),
    ("disk", &["disk"]),
    ("small-files", &["small_files"]),
    ("lock", &["interpreter"]),
];

/// Stalls beside the loader.
const OF_STEPS: [(&str, &[&str]); 4] = [
    ("logging", &["telling"]),
    ("fsync", &["telling"]),
    ("step-wait", &["step_waits"]),
    ("epochs", &["epoch_start"]),
];

/// Stalls that the script of `PyTorch` alone has.
const OF_TORCH: [(&str, &[&str]); 2] = [("save", &["saving"]), ("validation", &["validation"])];

/// All scripts: with stalls of two sizes, and without.
pub(crate) fn all() -> Vec<PlantedScript> {
    let mut all = Vec::new();
    let mut plant = |framework, stalls: &[(&'static str, &'static [&'static str])], sizes: &[f64]| {
        for (stall, right) in stalls {
            all.extend(sizes.iter().map(|size| PlantedScript { framework, stall, size: *size, right }));
        }
    };
    for framework in FRAMEWORKS {
        plant(framework, &[("none", &[])], &[1.0, 2.0, 3.0]);
        match framework {
            // A step takes its batch itself, so its parts are not seen: loader is right for all of them.
            "keras" => {
                let hidden = OF_LOADERS.map(|(stall, _)| (stall, &["loader", "processor"] as &[&str]));
                plant(framework, &hidden, &[1.0]);
                plant(framework, &OF_STEPS[..2], &[1.0]);
            }
            "torch" => {
                plant(framework, &OF_LOADERS, &[1.0, 2.0]);
                plant(framework, &OF_STEPS, &[1.0, 2.0]);
                plant(framework, &OF_TORCH, &[2.0]);
            }
            _ => {
                plant(framework, &OF_LOADERS, &[1.0]);
                plant(framework, &OF_STEPS, &[1.0]);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_as_the_page_says_and_no_two_have_one_name() {
        let all = all();
        let clean = all.iter().filter(|script| script.right.is_empty()).count();
        assert!(all.len() - clean >= 60 && clean >= 20, "{} with {clean} clean", all.len());
        let mut names: Vec<String> = all.iter().map(PlantedScript::name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }
}
