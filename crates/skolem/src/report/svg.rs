//! Axes with round ticks, and frames that figures are drawn in.

use super::text::{decimal, escape, grouped};

/// One direction of a figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    low: f64,
    high: f64,
    ticks: Vec<f64>,
    is_log: bool,
}

impl Axis {
    /// From a number to another or a little further, so that it ends at ticks, of which there are about so many.
    pub fn linear(low: f64, high: f64, about: usize) -> Axis {
        let high = if high > low { high } else { low + 1.0 };
        let rough = (high - low) / about.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].iter().map(|by| by * power).find(|step| *step >= rough * 0.999);
        let step = step.unwrap_or(10.0 * power);
        // Multiples of a whole number of steps: sums of a step would drift.
        let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
        let ticks: Vec<f64> =
            (0..=(last - first) as usize).map(|at| (first + at as f64) * step).collect();
        Axis { low: first * step, high: last * step, ticks, is_log: false }
    }

    /// Powers of ten, from the one before the first number to the one after the second.
    pub fn log(low: f64, high: f64) -> Axis {
        let first = low.max(1e-12).log10().floor();
        let last = high.max(low).max(1e-12).log10().ceil().max(first + 1.0);
        let ticks = (0..=(last - first) as usize).map(|at| 10f64.powf(first + at as f64)).collect();
        Axis { low: first, high: last, ticks, is_log: true }
    }

    /// Where a number is, from 0 to 1.
    pub fn share(&self, number: f64) -> f64 {
        let number = if self.is_log { number.max(1e-12).log10() } else { number };
        ((number - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Its ticks, each as a number and as text.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let step = self.ticks.get(1).map_or(1.0, |second| second - self.ticks[0]);
        let decimals = if self.is_log { 0 } else { (-step.log10().floor()).max(0.0) as usize };
        let text = |tick: f64| match tick {
            1000.0.. => grouped(tick.round() as u64),
            _ => decimal(tick, decimals),
        };
        self.ticks.iter().map(|tick| (*tick, text(*tick))).collect()
    }
}

/// The area of a figure that its axes are around.
#[derive(Clone, PartialEq, Debug)]
pub struct Frame {
    /// Size of the figure.
    pub size: (f64, f64),
    /// Space around the area: above, right, below, left.
    pub space: [f64; 4],
    /// From left to right.
    pub x: Axis,
    /// From below to above.
    pub y: Axis,
}

impl Frame {
    /// Where a number is from left to right.
    pub fn x(&self, number: f64) -> f64 {
        let [_, right, _, left] = self.space;
        left + self.x.share(number) * (self.size.0 - left - right)
    }

    /// Where a number is from above to below.
    pub fn y(&self, number: f64) -> f64 {
        let [above, _, below, _] = self.space;
        self.size.1 - below - self.y.share(number) * (self.size.1 - above - below)
    }

    /// A figure: its axes with what they are called, and what is drawn in it. `title` is for those who cannot
    /// see it.
    pub fn figure(&self, title: &str, x: &str, y: &str, inside: &str) -> String {
        let (width, height) = self.size;
        let [above, right, below, left] = self.space;
        let (floor, end) = (height - below, width - right);
        let mut out = format!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">\n",
            escape(title)
        );
        for (tick, label) in self.y.ticks() {
            let at = self.y(tick);
            out += &format!("<path class=\"grid\" d=\"M{left} {at:.1}H{end}\"/>");
            out += &text(left - 8.0, at + 4.0, "tick end", &label);
        }
        for (tick, label) in self.x.ticks() {
            let at = self.x(tick);
            out += &format!("<path class=\"axis\" d=\"M{at:.1} {floor}v5\"/>");
            out += &text(at, floor + 19.0, "tick middle", &label);
        }
        out += &format!("<path class=\"axis\" d=\"M{left} {floor}H{end}\"/>\n");
        out += &text((left + end) / 2.0, height - 6.0, "name middle", x);
        // Above the axis rather than turned beside it: it is read without turning the head.
        out += &text(4.0, above - 14.0, "name", y);
        out + "\n" + inside + "</svg>"
    }
}

/// A piece of text.
pub fn text(x: f64, y: f64, class: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{}</text>", escape(text))
}

/// A sign for a point, of this radius: another one for each of the first five series, so that colour is not all that
/// tells them apart.
pub fn sign(x: f64, y: f64, radius: f64, series: usize) -> String {
    // Signs of the same area look alike in size.
    let [square, triangle, diamond] = [0.89, 1.35, 1.25].map(|by| by * radius);
    let path = match series % 5 {
        0 => return format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>"),
        1 => {
            format!("M{:.1} {:.1}h{d:.1}v{d:.1}h-{d:.1}z", x - square, y - square, d = 2.0 * square)
        }
        2 => format!(
            "M{x:.1} {:.1}l{a:.1} {b:.1}h-{d:.1}z",
            y - triangle,
            a = triangle,
            b = 1.7 * triangle,
            d = 2.0 * triangle
        ),
        3 => format!(
            "M{x:.1} {:.1}l{d:.1} {d:.1}l-{d:.1} {d:.1}l-{d:.1} -{d:.1}z",
            y - diamond,
            d = diamond
        ),
        _ => format!(
            "M{x:.1} {:.1}l{a:.1} -{b:.1}h-{d:.1}z",
            y + triangle,
            a = triangle,
            b = 1.7 * triangle,
            d = 2.0 * triangle
        ),
    };
    format!("<path d=\"{path}\"/>")
}

/// Moves places apart that are nearer than `gap`, as little as that takes, and keeps them between `low` and
/// `high` where they fit. They must be in order.
pub fn apart(places: &mut [f64], gap: f64, low: f64, high: f64) {
    let mut least = low;
    for place in places.iter_mut() {
        *place = place.max(least);
        least = *place + gap;
    }
    let mut most = high;
    for place in places.iter_mut().rev() {
        *place = place.min(most);
        most = *place - gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> String {
        let ticks = axis.ticks().into_iter();
        ticks.map(|(_, label)| label).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(labels(&Axis::linear(0.0, 22.3, 5)), "0 5 10 15 20 25");
        assert_eq!(labels(&Axis::linear(0.0, 30.0, 6)), "0 5 10 15 20 25 30");
        assert_eq!(labels(&Axis::linear(0.0, 0.031, 4)), "0.00 0.01 0.02 0.03 0.04");
        assert_eq!(labels(&Axis::linear(-312.0, -120.0, 4)), "−350 −300 −250 −200 −150 −100");
        assert_eq!(labels(&Axis::linear(3.0, 3.0, 2)), "3.0 3.5 4.0");
        assert_eq!(labels(&Axis::log(1.0, 4200.0)), "1 10 100 1,000 10,000");
        assert_eq!(labels(&Axis::log(5.0, 5.0)), "1 10");
    }

    #[test]
    fn numbers_have_their_places() {
        let axis = Axis::linear(0.0, 10.0, 5);
        assert_eq!([0.0, 5.0, 10.0, 11.0].map(|number| axis.share(number)), [0.0, 0.5, 1.0, 1.0]);
        assert_eq!(Axis::log(1.0, 100.0).share(10.0), 0.5);
    }

    #[test]
    fn labels_do_not_overlap() {
        let mut places = [10.0, 11.0, 12.0, 99.0];
        apart(&mut places, 10.0, 0.0, 100.0);
        assert_eq!(places, [10.0, 20.0, 30.0, 99.0]);
        let mut places = [95.0, 99.0];
        apart(&mut places, 10.0, 0.0, 100.0);
        assert_eq!(places, [90.0, 100.0]);
    }
}
