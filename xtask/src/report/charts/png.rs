//! SVG as PNG, twice as large as it says: behind the feature `png`, since what draws it is 46 crates.

use anyhow::Result;

#[cfg(feature = "png")]
pub(super) use drawn::Fonts;

/// Fonts of a build that draws no PNG.
#[cfg(not(feature = "png"))]
pub(super) struct Fonts;

impl Fonts {
    /// Those of the machine.
    ///
    /// # Errors
    /// That this build draws no PNG, with what mends it.
    pub(super) fn find() -> Result<Self> {
        #[cfg(feature = "png")]
        return Ok(Self::of_the_system());
        #[cfg(not(feature = "png"))]
        return Err(crate::stop::usage(
            "this build draws no PNG: install the command with `--features png`, or take `--format svg`",
        ));
    }
}

#[cfg(not(feature = "png"))]
impl Fonts {
    pub(super) fn is_empty(&self) -> bool {
        false
    }

    /// Nobody has fonts in such a build.
    pub(super) fn render(&self, _: &str) -> Result<Vec<u8>> {
        Self::find().map(|_| Vec::new())
    }
}

#[cfg(feature = "png")]
mod drawn {
    use std::sync::Arc;

    use anyhow::{Context, Result};
    use resvg::tiny_skia::{Pixmap, Transform};
    use resvg::usvg::{self, fontdb};

    /// How many pixels a pixel of the drawing has.
    const SCALE: f32 = 2.0;

    /// The fonts that texts are set in.
    pub(in super::super) struct Fonts(Arc<fontdb::Database>);

    impl Fonts {
        pub(super) fn of_the_system() -> Self {
            let mut fonts = fontdb::Database::new();
            fonts.load_system_fonts();
            // The generic name stands for Arial, which few servers have.
            let mut faces = fonts.faces();
            let first = faces.find(|face| face.families.iter().any(|(name, _)| name == "DejaVu Sans"));
            let name = first
                .or_else(|| fonts.faces().next())
                .and_then(|face| Some(face.families.first()?.0.clone()));
            if let Some(name) = name {
                fonts.set_sans_serif_family(name);
            }
            Self(Arc::new(fonts))
        }

        pub(in super::super) fn is_empty(&self) -> bool {
            self.0.is_empty()
        }

        /// The picture.
        ///
        /// # Errors
        /// A chart that is too large.
        pub(in super::super) fn render(&self, svg: &str) -> Result<Vec<u8>> {
            let options = usvg::Options { fontdb: self.0.clone(), ..usvg::Options::default() };
            let tree = usvg::Tree::from_str(svg, &options).context("failed to read the chart's own SVG")?;
            let size = tree.size();
            let [width, height] = [size.width(), size.height()].map(|side| (side * SCALE).ceil() as u32);
            let mut pixels = Pixmap::new(width, height)
                .with_context(|| format!("a chart of {width} x {height} is too large"))?;
            resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
            pixels.encode_png().context("failed to write PNG")
        }
    }
}
