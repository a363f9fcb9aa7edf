//! SVG: a drawing, and the few shapes that charts are made of.

use std::fmt::Write;

use weighbridge::data::is_unseen;

const FITS: &str = "a String takes all that is written";

/// A drawing in pixels.
pub struct Svg {
    width: f64,
    height: f64,
    body: String,
    title: String,
    description: String,
    /// Before the ids of its title and description, where several drawings are on one page.
    key: String,
}

/// On which side of its place a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// It is centred there.
    Middle,
    /// It ends there.
    End,
}

/// From values to pixels along one axis.
#[derive(Clone, Copy, Debug)]
pub struct ChartAxis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
}

impl Svg {
    /// A white sheet with its title and, below it, what is to be known of it.
    pub fn new(width: f64, height: f64, title: &str, description: &str) -> Self {
        let mut svg = Self {
            width,
            height,
            body: String::new(),
            title: title.to_owned(),
            description: description.to_owned(),
            key: String::new(),
        };
        svg.text(20.0, 28.0, title, 17.0, Anchor::Start, "#1b1f24", true);
        svg.text(20.0, 47.0, description, 11.5, Anchor::Start, "#59626d", false);
        svg
    }

    /// The same as one of several on a page.
    #[must_use]
    pub fn keyed(self, key: &str) -> Self {
        Self { key: key.to_owned(), ..self }
    }

    /// The vertical coordinate at which a drawing may begin, below its head.
    pub const TOP: f64 = 64.0;

    /// A filled rectangle.
    pub fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, fill: &str) {
        let width = width.max(0.0);
        writeln!(
            self.body,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{fill}"/>"#
        )
        .expect(FITS);
    }

    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: &str, width: f64) {
        writeln!(
            self.body,
            r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="{stroke}" stroke-width="{width}"/>"#,
            from.0, from.1, to.0, to.1
        )
        .expect(FITS);
    }

    /// An interval along x: a line with an end on each side.
    pub fn whisker(&mut self, y: f64, low: f64, high: f64) {
        self.line((low, y), (high, y), "#1b1f24", 1.3);
        for x in [low, high] {
            self.line((x, y - 3.0), (x, y + 3.0), "#1b1f24", 1.3);
        }
    }

    /// A line through points; `dash` as SVG has it, or nothing.
    pub fn polyline(&mut self, points: &[(f64, f64)], stroke: &str, dash: &str) {
        let points = listed(points);
        writeln!(
            self.body,
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"2\" \
             stroke-dasharray=\"{dash}\" stroke-linejoin=\"round\"/>"
        )
        .expect(FITS);
    }

    /// A filled outline.
    pub fn polygon(&mut self, points: &[(f64, f64)], fill: &str, opacity: f64, stroke: &str) {
        let points = listed(points);
        writeln!(
            self.body,
            "<polygon points=\"{points}\" fill=\"{fill}\" fill-opacity=\"{opacity}\" \
             stroke=\"{stroke}\" stroke-width=\"2\"/>"
        )
        .expect(FITS);
    }

    /// A dot.
    pub fn circle(&mut self, x: f64, y: f64, radius: f64, fill: &str) {
        writeln!(self.body, r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius}" fill="{fill}"/>"#).expect(FITS);
    }

    /// A text of a size and a colour.
    #[expect(clippy::too_many_arguments, reason = "a place, a text and its looks")]
    pub fn text(&mut self, x: f64, y: f64, text: &str, size: f64, anchor: Anchor, fill: &str, bold: bool) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let weight = if bold { r#" font-weight="bold""# } else { "" };
        writeln!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" \
             fill=\"{fill}\"{weight}>{}</text>",
            escape(text)
        )
        .expect(FITS);
    }

    /// A small text that is no title.
    pub fn label(&mut self, x: f64, y: f64, text: &str, anchor: Anchor) {
        self.text(x, y, text, 11.5, anchor, "#1b1f24", false);
    }

    /// A paler one.
    pub fn note(&mut self, x: f64, y: f64, text: &str, anchor: Anchor) {
        self.text(x, y, text, 11.0, anchor, "#59626d", false);
    }

    /// A text that runs upwards.
    pub fn upwards(&mut self, x: f64, y: f64, text: &str) {
        writeln!(
            self.body,
            "<text transform=\"translate({x:.1} {y:.1}) rotate(-90)\" font-size=\"11.5\" \
             fill=\"#1b1f24\">{}</text>",
            escape(text)
        )
        .expect(FITS);
    }

    /// Names with their colours, in columns; how high it is.
    pub fn legend(&mut self, x: f64, y: f64, names: &[(&str, String)]) -> f64 {
        let wide = names.iter().map(|(name, _)| width(name, 11.5)).fold(60.0, f64::max) + 34.0;
        let columns = (((self.width - 2.0 * x) / wide) as usize).max(1);
        for (at, (name, colour)) in names.iter().enumerate() {
            let (left, top) = (x + (at % columns) as f64 * wide, y + (at / columns) as f64 * 18.0);
            self.rect(left, top - 9.0, 11.0, 11.0, colour);
            self.label(left + 17.0, top, name, Anchor::Start);
        }
        names.len().div_ceil(columns) as f64 * 18.0
    }

    /// Grid lines with their values along y, and a frame.
    pub fn grid_y(&mut self, axis: &ChartAxis, left: f64, right: f64, show: impl Fn(f64) -> String) {
        for tick in axis.ticks() {
            let y = axis.at(tick);
            self.line((left, y), (right, y), "#e3e6ea", 1.0);
            self.note(left - 7.0, y + 4.0, &show(tick), Anchor::End);
        }
    }

    /// The same along x.
    pub fn grid_x(&mut self, axis: &ChartAxis, top: f64, bottom: f64, show: impl Fn(f64) -> String) {
        for tick in axis.ticks() {
            let x = axis.at(tick);
            self.line((x, top), (x, bottom), "#e3e6ea", 1.0);
            self.note(x, bottom + 16.0, &show(tick), Anchor::Middle);
        }
    }

    /// The file.
    pub fn finish(self) -> String {
        let Self { width, height, body, title, description, key } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-labelledby=\"{key}t {key}d\" \
             font-family=\"'DejaVu Sans', 'Segoe UI', Arial, sans-serif\">\n\
             <title id=\"{key}t\">{}</title><desc id=\"{key}d\">{}</desc>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n",
            escape(&title),
            escape(&description)
        )
    }
}

impl ChartAxis {
    /// An axis that begins at zero.
    pub fn from_zero(high: f64, from: f64, to: f64) -> Self {
        Self { low: 0.0, high: if high > 0.0 { high } else { 1.0 }, from, to, log: false }
    }

    /// An axis between two values; by powers where they are far apart and above zero.
    pub fn between(low: f64, high: f64, from: f64, to: f64) -> Self {
        let log = low > 0.0 && high / low >= 16.0;
        let high = if high > low { high } else { low + low.abs().max(1.0) };
        Self { low, high, from, to, log }
    }

    /// Returns the coordinate of a value.
    pub fn at(&self, value: f64) -> f64 {
        let share = match self.log {
            true => (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        self.from + share * (self.to - self.from)
    }

    /// Round values within its bounds: 1, 2 and 5 times powers of ten.
    pub fn ticks(&self) -> Vec<f64> {
        if self.log {
            let steps: &[f64] = if self.high / self.low > 1e4 { &[1.0] } else { &[1.0, 2.0, 5.0] };
            let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
            let all = (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
            return all.filter(|tick| (self.low..=self.high * 1.000_1).contains(tick)).collect();
        }
        let rough = (self.high - self.low) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        (first..)
            .map(|at| at as f64 * step)
            .take_while(|tick| *tick <= self.high * 1.000_1)
            .take(20)
            .collect()
    }
}

/// About how wide a text is.
pub fn width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.6
}

fn listed(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
}

/// Returns the text of an author, escaped: what nobody would see is written out. XML has no place for control
/// characters, and marks that turn the direction of writing would turn the rest of the chart.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\t' | '\n' | '\r' => safe.push(' '),
            '\u{fffe}' | '\u{ffff}' => {}
            letter if is_unseen(letter) => safe.extend(letter.escape_default()),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        assert_eq!(ChartAxis::from_zero(9.0, 0.0, 100.0).ticks(), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(
            ChartAxis::between(1.0, 100.0, 0.0, 100.0).ticks(),
            [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
        );
        assert!(ChartAxis::between(3.0, 3.0, 0.0, 1.0).ticks().len() > 1, "one value has an axis still");
        assert!((ChartAxis::between(1.0, 100.0, 0.0, 100.0).at(10.0) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn what_an_author_wrote_is_text_alone() {
        let mut svg = Svg::new(100.0, 50.0, "a<script>\u{202e}\u{1}&\"", "");
        svg.label(0.0, 0.0, "</text>", Anchor::End);
        let text = svg.finish();
        assert!(
            text.contains(r"a&lt;script&gt;\u{202e}\u{1}&amp;&quot;") && text.contains("&lt;/text&gt;"),
            "{text}"
        );
        assert!(!text.contains('\u{202e}') && !text.contains("<script"), "{text}");
    }
}
