//! A benchmark's own verification: results compared with published values.

use crate::fault::Fault;

/// One number of the verification.
pub struct Check {
    pub name: String,
    pub got: f64,
    pub want: f64,
    /// The largest difference, relative to the wanted value; absolute if that value is 0.
    pub epsilon: f64,
}

impl Check {
    pub fn new(name: impl Into<String>, got: f64, want: f64, epsilon: f64) -> Check {
        Check { name: name.into(), got, want, epsilon }
    }

    /// Returns the difference, relative to the wanted value.
    fn error(&self) -> f64 {
        let difference = (self.got - self.want).abs();
        if self.want == 0.0 { difference } else { difference / self.want.abs() }
    }

    /// Whether the check passes; NaN never passes.
    fn holds(&self) -> bool {
        self.error() <= self.epsilon
    }
}

/// Returns the largest relative difference, or a fault that names the first number that differs too much.
pub fn verify(checks: &[Check]) -> Result<f64, Fault> {
    let Some(wrong) = checks.iter().find(|check| !check.holds()) else {
        return match checks.iter().map(Check::error).reduce(f64::max) {
            Some(worst) => Ok(worst),
            None => Err(Fault::invalid("nothing was verified", "report this")),
        };
    };
    let Check { name, got, want, epsilon } = wrong;
    let what = format!("{name} is {got:.13e}, not {want:.13e} within {epsilon:e}");
    Err(Fault::invalid(what, "do not trust this machine's arithmetic, or report this"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_that_differs_is_named() {
        let near = Check::new("a", 1.0 + 5e-9, 1.0, 1e-8);
        let checks = [near, Check::new("b", 2.0 + 3e-8, 2.0, 1e-8), Check::new("c", 0.0, 9.0, 1e-8)];
        assert!((verify(&checks[..1]).unwrap() - 5e-9).abs() < 1e-12);
        let fault = verify(&checks).unwrap_err();
        assert_eq!(fault.outcome.name(), "invalid");
        assert!(fault.what.starts_with("b is 2.0000000300000e0, not 2.0000000000000e0"), "{}", fault.what);
    }

    #[test]
    fn nan_and_an_empty_list_are_wrong() {
        assert!(verify(&[Check::new("a", f64::NAN, 1.0, 1e-8)]).is_err());
        assert!(
            verify(&[Check::new("a", 1.0, 0.0, 0.0)]).is_err() && verify(&[Check::new("a", 0.0, 0.0, 0.0)]).is_ok()
        );
        assert!(verify(&[]).is_err());
    }
}
