//! Kubernetes' `resource.Quantity`: exact arithmetic and the canonical form Go prints.
//!
//! A value is a whole number of nano-units in an `i128`, so every quantity between 10⁻⁹ and about 1.7·10²⁹ is
//! exact; what is finer than a nano-unit is rounded away from zero, as Kubernetes does ("if you want some, you
//! get some"). What is larger is refused by [`Quantity::parse`] and saturates in arithmetic.
//!
//! Source of the rules: Kubernetes API conventions, "Quantity", and the behaviour of `k8s.io/apimachinery`. Two
//! differences, both where Go prints a wrong number: values of 10²¹ and more keep the suffix `E` (Go drops it),
//! values of 2⁷⁰ and more keep `Ei`.

mod parse;
mod print;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};
use std::str::FromStr;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

pub use parse::ParseError;

/// Nano-units in one unit.
const NANOS: i128 = 1_000_000_000;

/// How a quantity is written; it never changes its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// `12M`, `1500m`: powers of 1000 by name.
    #[default]
    DecimalSi,
    /// `12Mi`: powers of 1024 by name.
    BinarySi,
    /// `12e6`: powers of 1000 by exponent.
    DecimalExponent,
}

/// An amount of a resource, such as `500m` of CPU or `2Gi` of memory.
///
/// Two quantities are equal when their values are, however they were written: `1Ki == 1024`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

impl Quantity {
    /// Nothing, in decimal form.
    pub const ZERO: Self = Self {
        nanos: 0,
        format: Format::DecimalSi,
    };

    /// Reads what Kubernetes reads: sign, digits, fraction, and a suffix (`n u m k M G T P E`, `Ki … Ei`, `e3`).
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse::parse(text)
    }

    /// A whole number of units, in decimal form.
    pub const fn from_units(units: i64) -> Self {
        Self {
            nanos: units as i128 * NANOS,
            format: Format::DecimalSi,
        }
    }

    /// A number of thousandths, such as milli-CPUs, in decimal form.
    pub const fn from_millis(millis: i64) -> Self {
        Self {
            nanos: millis as i128 * (NANOS / 1000),
            format: Format::DecimalSi,
        }
    }

    /// A whole number of units written in powers of 1024, as memory is.
    pub const fn from_bytes(bytes: i64) -> Self {
        Self {
            nanos: bytes as i128 * NANOS,
            format: Format::BinarySi,
        }
    }

    /// A number of nano-units, written in `format`.
    pub const fn from_nanos(nanos: i128, format: Format) -> Self {
        Self { nanos, format }
    }

    /// The exact value in nano-units.
    pub const fn nanos(self) -> i128 {
        self.nanos
    }

    /// How the value is written.
    pub const fn format(self) -> Format {
        self.format
    }

    /// Whether the value is zero.
    pub const fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// Whether the value is below zero.
    pub const fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// The value in whole units, rounded away from zero; limited to what an `i64` holds.
    pub fn value(self) -> i64 {
        clamp(divide_away_from_zero(self.nanos, NANOS))
    }

    /// The value in thousandths, rounded away from zero; limited to what an `i64` holds.
    pub fn milli_value(self) -> i64 {
        clamp(divide_away_from_zero(self.nanos, NANOS / 1000))
    }

    /// The value as a floating-point number, for metrics and weights.
    #[allow(
        clippy::cast_precision_loss,
        reason = "a metric needs no more than 15 digits"
    )]
    pub fn as_f64(self) -> f64 {
        self.nanos as f64 / NANOS as f64
    }

    /// How often `part` fits into this value: whole times, never below zero. `None` if `part` is not above zero,
    /// because then it fits without end.
    pub fn times(self, part: Self) -> Option<i64> {
        if part.nanos <= 0 {
            return None;
        }
        Some(clamp((self.nanos / part.nanos).max(0)))
    }

    /// The difference, but not below zero.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        let rest = self - other;
        Self {
            nanos: rest.nanos.max(0),
            format: rest.format,
        }
    }

    /// Nothing takes the format of the other operand, as in Go: `0 + 1Gi` is `1Gi`, not `1073741824`.
    fn format_beside(self, other: Self) -> Format {
        if self.is_zero() {
            other.format
        } else {
            self.format
        }
    }
}

fn divide_away_from_zero(nanos: i128, by: i128) -> i128 {
    let whole = nanos / by;
    match nanos % by {
        0 => whole,
        rest => whole + rest.signum(),
    }
}

fn clamp(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nanos.hash(state);
    }
}

impl Add for Quantity {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_add(other.nanos),
            format: self.format_beside(other),
        }
    }
}

impl AddAssign for Quantity {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Quantity {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_sub(other.nanos),
            format: self.format_beside(other),
        }
    }
}

impl SubAssign for Quantity {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<i64> for Quantity {
    type Output = Self;

    fn mul(self, factor: i64) -> Self {
        Self {
            nanos: self.nanos.saturating_mul(i128::from(factor)),
            format: self.format,
        }
    }
}

impl Neg for Quantity {
    type Output = Self;

    fn neg(self) -> Self {
        Self {
            nanos: self.nanos.saturating_neg(),
            format: self.format,
        }
    }
}

impl Sum for Quantity {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::ZERO, Add::add)
    }
}

impl FromStr for Quantity {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl TryFrom<&ApiQuantity> for Quantity {
    type Error = ParseError;

    fn try_from(quantity: &ApiQuantity) -> Result<Self, Self::Error> {
        Self::parse(quantity.0.trim())
    }
}

impl From<Quantity> for ApiQuantity {
    fn from(quantity: Quantity) -> Self {
        Self(quantity.to_string())
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor)
    }
}

/// Accepts a string or a bare number, as the Kubernetes API does.
struct QuantityVisitor;

impl Visitor<'_> for QuantityVisitor {
    type Value = Quantity;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a quantity such as \"500m\", \"2Gi\" or 3")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
        Quantity::parse(text.trim()).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, units: i64) -> Result<Quantity, E> {
        Ok(Quantity::from_units(units))
    }

    fn visit_u64<E: de::Error>(self, units: u64) -> Result<Quantity, E> {
        Ok(Quantity::from_nanos(
            i128::from(units) * NANOS,
            Format::DecimalSi,
        ))
    }

    fn visit_f64<E: de::Error>(self, units: f64) -> Result<Quantity, E> {
        Quantity::parse(&units.to_string()).map_err(E::custom)
    }
}
