//! SVG as PNG, twice as large as it says: behind the feature `png`, since what draws it is 46 crates.

use anyhow::Result;

/// The number of pixels, along each side, of a pixel of the drawing.
#[cfg(feature = "png")]
const SCALE: f32 = 2.0;

/// The fonts that texts are set in. A build that draws no PNG finds none.
pub(super) struct Fonts {
    #[cfg(feature = "png")]
    database: std::sync::Arc<resvg::usvg::fontdb::Database>,
}

#[cfg(feature = "png")]
impl Fonts {
    /// Those of the machine.
    ///
    /// # Errors
    /// Only in a build that draws no PNG.
    pub(super) fn find() -> Result<Self> {
        let mut fonts = resvg::usvg::fontdb::Database::new();
        fonts.load_system_fonts();
        // The generic name stands for Arial, which few servers have.
        let first = fonts.faces().find(|face| face.families.iter().any(|(name, _)| name == "DejaVu Sans"));
        let name =
            first.or_else(|| fonts.faces().next()).and_then(|face| Some(face.families.first()?.0.clone()));
        if let Some(name) = name {
            fonts.set_sans_serif_family(name);
        }
        Ok(Self { database: fonts.into() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.database.is_empty()
    }

    /// The picture.
    ///
    /// # Errors
    /// A chart that is too large.
    pub(super) fn render(&self, svg: &str) -> Result<Vec<u8>> {
        use anyhow::Context;
        use resvg::tiny_skia::{Pixmap, Transform};
        use resvg::usvg;

        let options = usvg::Options { fontdb: self.database.clone(), ..usvg::Options::default() };
        let tree = usvg::Tree::from_str(svg, &options).context("failed to read the chart's own SVG")?;
        let size = tree.size();
        let [width, height] = [size.width(), size.height()].map(|side| (side * SCALE).ceil() as u32);
        let mut pixels = Pixmap::new(width, height)
            .with_context(|| format!("a chart of {width} x {height} is too large"))?;
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        pixels.encode_png().context("failed to write PNG")
    }
}

#[cfg(not(feature = "png"))]
impl Fonts {
    /// None.
    ///
    /// # Errors
    /// That this build draws no PNG, with what mends it.
    pub(super) fn find() -> Result<Self> {
        Err(crate::stop::usage(
            "this build draws no PNG: install the command with `--features png`, or take `--format svg`",
        ))
    }

    #[expect(clippy::unused_self, reason = "as in a build that draws PNG")]
    pub(super) fn is_empty(&self) -> bool {
        true
    }

    /// Nothing: nobody has fonts in such a build.
    ///
    /// # Errors
    /// As [`Fonts::find`].
    #[expect(clippy::unused_self, reason = "as in a build that draws PNG")]
    pub(super) fn render(&self, _: &str) -> Result<Vec<u8>> {
        Self::find().map(|_| Vec::new())
    }
}
