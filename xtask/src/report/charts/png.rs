//! SVG as PNG, twice as large as it says.

use std::sync::Arc;

use anyhow::{Context, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, fontdb};

/// How many pixels a pixel of the drawing has.
const SCALE: f32 = 2.0;

/// The fonts that texts are set in.
pub(super) struct Fonts(Arc<fontdb::Database>);

impl Fonts {
    /// Those of the machine.
    pub(super) fn of_the_system() -> Self {
        let mut fonts = fontdb::Database::new();
        fonts.load_system_fonts();
        // The generic name stands for Arial, which few servers have.
        let first = fonts.faces().find(|face| face.families.iter().any(|(name, _)| name == "DejaVu Sans"));
        let name =
            first.or_else(|| fonts.faces().next()).and_then(|face| Some(face.families.first()?.0.clone()));
        if let Some(name) = name {
            fonts.set_sans_serif_family(name);
        }
        Self(Arc::new(fonts))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The picture.
pub(super) fn render(svg: &str, fonts: &Fonts) -> Result<Vec<u8>> {
    let options = usvg::Options { fontdb: fonts.0.clone(), ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(svg, &options).context("failed to read the chart's own SVG")?;
    let size = tree.size();
    let (width, height) = ((size.width() * SCALE).ceil() as u32, (size.height() * SCALE).ceil() as u32);
    let mut pixels =
        Pixmap::new(width, height).with_context(|| format!("a chart of {width} x {height} is too large"))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().context("failed to write PNG")
}
