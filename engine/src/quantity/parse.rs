//! Text → quantity.

use super::{Format, NANOS, Quantity};

/// Decimal digits an `i128` always holds.
const MAX_DIGITS: usize = 38;

/// Decimal places of a nano-unit.
const NANO_PLACES: i64 = 9;

/// Largest value with a binary suffix; Kubernetes caps instead of refusing.
const MAX_BINARY: i128 = i64::MAX as i128 * NANOS;

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Nothing, or a character that has no place in a quantity.
    #[error(
        "`{0}` is not a quantity; expected a number with an optional suffix, such as `500m`, `2Gi` or `1e3`"
    )]
    Malformed(String),
    /// The number is fine, its suffix is unknown.
    #[error(
        "`{0}` has an unknown suffix; known are n u m k M G T P E, Ki Mi Gi Ti Pi Ei, and exponents such as e3"
    )]
    Suffix(String),
    /// More than about 1.7·10²⁹.
    #[error("`{0}` is too large for a quantity")]
    TooLarge(String),
}

pub(super) fn parse(text: &str) -> Result<Quantity, ParseError> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, rest) = split_digits(unsigned);
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => split_digits(rest),
        None => ("", rest),
    };
    // Go takes a lone sign, point or suffix for zero; nobody means that.
    if whole.len() + fraction.len() == 0 || !is_suffix_shaped(suffix) {
        return Err(ParseError::Malformed(text.to_owned()));
    }
    let scale = scale(suffix).ok_or_else(|| ParseError::Suffix(text.to_owned()))?;
    let magnitude =
        nanos(whole, fraction, &scale).ok_or_else(|| ParseError::TooLarge(text.to_owned()))?;

    let (magnitude, format) = match scale {
        Scale::Binary(_) if magnitude > 0 && magnitude < NANOS => (magnitude, Format::DecimalSi),
        Scale::Binary(_) => (magnitude.min(MAX_BINARY), Format::BinarySi),
        Scale::Decimal(_) => (magnitude, Format::DecimalSi),
        Scale::Exponent(_) => (magnitude, Format::DecimalExponent),
    };
    Ok(Quantity {
        nanos: if text.starts_with('-') {
            -magnitude
        } else {
            magnitude
        },
        format,
    })
}

enum Scale {
    /// Power of ten, by name.
    Decimal(i64),
    /// Power of ten, by exponent.
    Exponent(i64),
    /// Power of two.
    Binary(u32),
}

/// Letters, then perhaps a sign, then digits; anything else is not even an attempt at a suffix.
fn is_suffix_shaped(suffix: &str) -> bool {
    let rest = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    rest.bytes().all(|b| b.is_ascii_digit())
}

fn scale(suffix: &str) -> Option<Scale> {
    Some(match suffix {
        "n" => Scale::Decimal(-9),
        "u" => Scale::Decimal(-6),
        "m" => Scale::Decimal(-3),
        "" => Scale::Decimal(0),
        "k" => Scale::Decimal(3),
        "M" => Scale::Decimal(6),
        "G" => Scale::Decimal(9),
        "T" => Scale::Decimal(12),
        "P" => Scale::Decimal(15),
        "E" => Scale::Decimal(18),
        "Ki" => Scale::Binary(10),
        "Mi" => Scale::Binary(20),
        "Gi" => Scale::Binary(30),
        "Ti" => Scale::Binary(40),
        "Pi" => Scale::Binary(50),
        "Ei" => Scale::Binary(60),
        exponent => {
            let digits = exponent.strip_prefix(['e', 'E'])?;
            Scale::Exponent(i64::from(digits.parse::<i32>().ok()?))
        }
    })
}

/// `whole.fraction × scale` in nano-units, rounded up; `None` if an `i128` cannot hold it.
fn nanos(whole: &str, fraction: &str, scale: &Scale) -> Option<i128> {
    let digits = || {
        whole
            .bytes()
            .chain(fraction.bytes())
            .map(|b| i128::from(b - b'0'))
    };
    if digits().all(|digit| digit == 0) {
        return Some(0);
    }
    match *scale {
        Scale::Decimal(exponent) | Scale::Exponent(exponent) => {
            // How many of the digits count; the rest only decides whether to round up.
            let kept = i64::try_from(whole.len()).ok()? + exponent + NANO_PLACES;
            let mut value: i128 = 0;
            let mut position: i64 = 0;
            let mut inexact = false;
            for digit in digits() {
                if position < kept {
                    value = value.checked_mul(10)?.checked_add(digit)?;
                } else {
                    inexact |= digit != 0;
                }
                position += 1;
            }
            let missing = kept - position;
            if missing > 0 && value != 0 {
                value = value.checked_mul(power_of_ten(missing)?)?;
            }
            value.checked_add(i128::from(inexact))
        }
        Scale::Binary(bits) => {
            let whole = whole.bytes().try_fold(0_i128, |value, b| {
                value.checked_mul(10)?.checked_add(i128::from(b - b'0'))
            });
            let Some(scaled) =
                whole.and_then(|whole| whole.checked_mul(1 << bits)?.checked_mul(NANOS))
            else {
                return Some(MAX_BINARY);
            };
            Some(scaled.saturating_add(binary_fraction(fraction, bits)))
        }
    }
}

/// `0.fraction × 2^bits` in nano-units, rounded up.
///
/// Sums from the last digit, `(digit·unit + sum) / 10`, so that nothing grows beyond the scale however many digits
/// there are. A remainder in any step means that the exact value is a little larger: round up once, at the end.
fn binary_fraction(fraction: &str, bits: u32) -> i128 {
    let unit: i128 = (1_i128 << bits) * NANOS;
    let mut accumulated: i128 = 0;
    let mut inexact = false;
    for digit in fraction.bytes().rev() {
        let sum = i128::from(digit - b'0') * unit + accumulated;
        inexact |= sum % 10 != 0;
        accumulated = sum / 10;
    }
    accumulated + i128::from(inexact)
}

fn power_of_ten(exponent: i64) -> Option<i128> {
    let exponent = u32::try_from(exponent).ok()?;
    if exponent as usize > MAX_DIGITS {
        return None;
    }
    10_i128.checked_pow(exponent)
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text
        .bytes()
        .position(|b| !b.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}
