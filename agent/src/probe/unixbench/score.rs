//! UnixBench's arithmetic: passes to a score, a score to an index, indices to one index.
//!
//! The same as in its `Run` script: the copies' counts are added up and divided by their mean time; the third of the
//! passes with the lowest counts is dropped, rounded down; the score is the geometric mean of the others (hence "7
//! samples" of ten passes and "2 samples" of three); an index is ten times the score over that of "George", a
//! SPARCstation 20-61; the overall index is the geometric mean of the twelve.

/// The result of one copy in one pass: loops, or a rate if the test has no time base; and the elapsed time, s.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    pub count: f64,
    pub elapsed_s: f64,
}

/// One of the twelve tests.
pub struct Test {
    /// The original's own short name.
    pub name: &'static str,
    pub unit: &'static str,
    /// Score of the baseline.
    pub base: f64,
    /// The time base of the unit, s; `None` if a copy reports a rate itself.
    pub timebase_s: Option<f64>,
    /// Length of a pass, as a multiple of that of the short tests.
    pub length: f64,
    /// Whether the test has as many passes as requested; otherwise three for each ten.
    often: bool,
}

const fn test(name: &'static str, unit: &'static str, base: f64, timebase_s: Option<f64>, length: f64) -> Test {
    Test { name, unit, base, timebase_s, length, often: length < 2.0 }
}

/// In the original's order, with its baselines (`pgms/index.base`) and its lengths of 10, 30 and 60 s.
pub const TESTS: &[Test] = &[
    test("dhry2reg", "lps", 116_700.0, Some(1.0), 1.0),
    test("whetstone-double", "MWIPS", 55.0, None, 1.0),
    test("execl", "lps", 43.0, Some(1.0), 3.0),
    test("fstime", "KBps", 3960.0, None, 3.0),
    test("fsbuffer", "KBps", 1655.0, None, 3.0),
    test("fsdisk", "KBps", 5800.0, None, 3.0),
    test("pipe", "lps", 12_440.0, Some(1.0), 1.0),
    test("context1", "lps", 4000.0, Some(1.0), 1.0),
    test("spawn", "lps", 126.0, Some(1.0), 3.0),
    test("shell1", "lpm", 42.4, Some(60.0), 6.0),
    test("shell8", "lpm", 6.0, Some(60.0), 6.0),
    test("syscall", "lps", 15_000.0, Some(1.0), 1.0),
];

impl Test {
    /// Returns the key of the note that contains its score.
    pub fn note(&self) -> String {
        format!("score_{}_{}", self.name, self.unit).replace('-', "_").to_lowercase()
    }

    /// Returns its number of passes if the short tests have `asked`.
    pub fn passes(&self, asked: usize) -> usize {
        if self.often { asked } else { (asked * 3).div_ceil(10) }
    }
}

/// Returns the score of a test's passes; a pass consists of the concurrent copies' reports.
pub fn combine(passes: &[Vec<Report>], timebase_s: Option<f64>) -> f64 {
    let whole = |copies: &Vec<Report>| Report {
        count: copies.iter().map(|copy| copy.count).sum(),
        elapsed_s: copies.iter().map(|copy| copy.elapsed_s).sum::<f64>() / copies.len() as f64,
    };
    let mut passes: Vec<Report> = passes.iter().map(whole).collect();
    passes.sort_by(|a, b| a.count.total_cmp(&b.count));
    let kept = &passes[passes.len() / 3..];
    let rate = |pass: &Report| timebase_s.map_or(pass.count, |base_s| pass.count * base_s / pass.elapsed_s);
    geometric_mean(&kept.iter().map(rate).collect::<Vec<_>>())
}

pub fn index(score: f64, base: f64) -> f64 {
    10.0 * score / base
}

pub fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deval, "Empirical Evaluation of Cloud IaaS Platforms using System-level Benchmarks", University of North
    /// Florida, 2017, appendix A, pages 77 to 79, figures 1 and 2: the printed scores of one copy and of eight, in the
    /// order of `TESTS`; then the printed indices.
    type Printed = ([f64; 12], [f64; 12], f64);
    const ONE: Printed = (
        [
            13_325_424.3,
            897.8,
            1004.4,
            232_744.6,
            67_600.2,
            416_575.7,
            408_041.2,
            92_731.6,
            3596.8,
            1012.3,
            138.0,
            718_929.1,
        ],
        [1141.9, 163.2, 233.6, 587.7, 408.5, 718.2, 328.0, 231.8, 285.5, 238.8, 230.0, 479.3],
        357.0,
    );
    const EIGHT: Printed = (
        [
            15_214_149.1,
            1893.7,
            864.3,
            176_577.7,
            49_305.9,
            382_251.5,
            420_120.6,
            85_251.7,
            3462.6,
            1046.3,
            141.0,
            641_787.5,
        ],
        [1303.7, 344.3, 201.0, 445.9, 297.9, 659.1, 337.7, 213.1, 274.8, 246.8, 235.1, 427.9],
        354.0,
    );

    fn to_one_decimal(value: f64) -> f64 {
        (value * 10.0).round() / 10.0
    }

    #[test]
    fn devals_printed_indices_follow_from_her_printed_scores() {
        for (scores, printed, total) in [ONE, EIGHT] {
            let indices: Vec<f64> = TESTS.iter().zip(scores).map(|(test, score)| index(score, test.base)).collect();
            for (test, (found, printed)) in TESTS.iter().zip(indices.iter().zip(printed)) {
                // Scores are printed to 0.1, half of which is 0.08 of shell8's index; indices to 0.1.
                let slack = 0.05 + 10.0 * 0.05 / test.base + 1e-9;
                assert!((found - printed).abs() <= slack, "{}: {found} {printed}", test.name);
            }
            assert_eq!(to_one_decimal(geometric_mean(&indices)), total);
        }
    }

    #[test]
    fn the_worst_third_is_dropped_and_copies_are_added_up() {
        let pass = |count: f64, elapsed_s: f64| vec![Report { count, elapsed_s }];
        let ten: Vec<_> = (1..=10).map(|count| pass(f64::from(count), 1.0)).collect();
        let expected = geometric_mean(&[4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]);
        assert!((combine(&ten, Some(1.0)) - expected).abs() < 1e-12);
        // Dropped by count, not by rate; of three passes two stay; loops per minute.
        let three = [pass(10.0, 30.0), pass(20.0, 60.0), pass(5.0, 1.0)];
        assert!((combine(&three, Some(60.0)) - 20.0).abs() < 1e-12);
        let copies = [vec![Report { count: 30.0, elapsed_s: 1.0 }, Report { count: 10.0, elapsed_s: 3.0 }]];
        assert!((combine(&copies, Some(1.0)) - 20.0).abs() < 1e-12);
        assert!((combine(&copies, None) - 40.0).abs() < 1e-12);
    }

    #[test]
    fn passes_match_the_original() {
        let passes = |asked| TESTS.iter().map(|test| test.passes(asked)).collect::<Vec<_>>();
        assert_eq!(passes(10), [10, 10, 3, 3, 3, 3, 10, 10, 3, 3, 3, 10]);
        assert_eq!(passes(1), [1; 12]);
    }
}
