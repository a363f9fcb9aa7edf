//! The argument of every command that looks baselines up.

use anyhow::Result;
use clap::Args;

use super::KeptBaselines;
use crate::place::Place;

/// Arguments of a command that looks baselines up.
#[derive(Debug, Args)]
pub(crate) struct LooksUp<A: Args> {
    /// Keep and look up baselines there instead of in the data directory: a directory,
    /// `s3://BUCKET/PREFIX` or `gs://BUCKET/PREFIX`.
    #[arg(long, global = true, value_name = "WHERE")]
    pub(crate) baseline_path: Option<String>,
    #[command(flatten)]
    pub(crate) command: A,
}

impl<A: Args> LooksUp<A> {
    /// The place with the baselines that the arguments name.
    ///
    /// # Errors
    /// As [`KeptBaselines::open`].
    pub(crate) fn at(&self, place: &Place) -> Result<Place> {
        let kept = self.baseline_path.as_deref().map(KeptBaselines::open).transpose()?;
        Ok(Place { kept: kept.or_else(|| place.kept.clone()), ..place.clone() })
    }
}
