//! Quantity → canonical text: the largest suffix that needs no fraction.

use std::fmt;

use super::{Format, NANOS, Quantity};

/// Largest power of ten with a name (`E`).
const MAX_DECIMAL: usize = 18;

/// Suffixes of 10⁻⁹, 10⁻⁶, …, 10¹⁸.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

/// Suffixes of 2⁰, 2¹⁰, …, 2⁶⁰.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        match self.format {
            Format::DecimalSi => decimal(self.nanos, f),
            Format::DecimalExponent => exponent(self.nanos, f),
            // A small or fractional amount would have to be rounded in powers of 1024, so it is shown in decimal.
            Format::BinarySi if self.nanos.abs() < 1024 * NANOS || self.nanos % NANOS != 0 => {
                decimal(self.nanos, f)
            }
            Format::BinarySi => binary(self.nanos / NANOS, f),
        }
    }
}

fn decimal(nanos: i128, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (mantissa, thousands) = strip(nanos, 1000, (MAX_DECIMAL + 9) / 3);
    write!(f, "{mantissa}{}", DECIMAL[thousands])
}

fn exponent(nanos: i128, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (mantissa, thousands) = strip(nanos, 1000, usize::MAX);
    match thousands {
        3 => write!(f, "{mantissa}"),
        0..3 => write!(f, "{mantissa}e-{}", 9 - thousands * 3),
        _ => write!(f, "{mantissa}e{}", thousands * 3 - 9),
    }
}

fn binary(units: i128, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (mantissa, powers) = strip(units, 1024, BINARY.len() - 1);
    write!(f, "{mantissa}{}", BINARY[powers])
}

/// Takes out `factor` as often as it divides, at most `limit` times; `value` is not zero.
fn strip(mut value: i128, factor: i128, limit: usize) -> (i128, usize) {
    let mut times = 0;
    while times < limit && value % factor == 0 {
        value /= factor;
        times += 1;
    }
    (value, times)
}
