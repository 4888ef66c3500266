use proptest::prelude::*;

use super::{Format, ParseError, Quantity};

fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Input, canonical form, whole units rounded up – as `k8s.io/apimachinery` 0.37 computes them.
const CANONICAL: &[(&str, &str, i64)] = &[
    ("0", "0", 0),
    ("0Ki", "0", 0),
    ("0e3", "0", 0),
    ("00012", "12", 12),
    ("1000m", "1", 1),
    ("1500m", "1500m", 2),
    ("0.5", "500m", 1),
    (".5", "500m", 1),
    ("5.", "5", 5),
    ("-0.5", "-500m", -1),
    ("-1n", "-1n", -1),
    ("1.234567891234", "1234567892n", 2),
    ("0.0000000001", "1n", 1),
    ("1k", "1k", 1000),
    ("1000k", "1M", 1_000_000),
    ("1500k", "1500k", 1_500_000),
    ("1000000000000", "1T", 1_000_000_000_000),
    ("1E", "1E", 1_000_000_000_000_000_000),
    ("9223372036854775807", "9223372036854775807", i64::MAX),
    ("1Ki", "1Ki", 1024),
    ("8Ki", "8Ki", 8192),
    ("1024Ki", "1Mi", 1_048_576),
    ("1023Ki", "1023Ki", 1_047_552),
    ("1.5Gi", "1536Mi", 1_610_612_736),
    ("2.5Mi", "2560Ki", 2_621_440),
    ("0.5Ki", "512", 512),
    ("-1.5Ki", "-1536", -1536),
    ("1.1Ki", "1126400m", 1127),
    ("0.3Mi", "314572800m", 314_573),
    ("0.0001Ki", "102400u", 1),
    ("1Ei", "1Ei", 1_152_921_504_606_846_976),
    ("100Ei", "9223372036854775807", i64::MAX),
    ("9223372036854775808Ki", "9223372036854775807", i64::MAX),
    ("12e6", "12e6", 12_000_000),
    ("12E6", "12e6", 12_000_000),
    ("1e+3", "1e3", 1000),
    ("1e-3", "1e-3", 1),
    ("3e18", "3e18", 3_000_000_000_000_000_000),
];

#[test]
fn prints_what_go_prints() {
    for (text, canonical, units) in CANONICAL {
        assert_eq!(
            quantity(text).to_string(),
            *canonical,
            "canonical form of {text}"
        );
        assert_eq!(quantity(text).value(), *units, "value of {text}");
    }
}

#[test]
fn adding_keeps_the_format_of_the_first_unless_it_is_nothing() {
    for (a, b, sum) in [
        ("12e6", "1500m", "12000001500e-3"),
        ("1.5Gi", "1500m", "1610612737500m"),
        ("1Gi", "1024Mi", "2Gi"),
        ("1Gi", "1G", "2073741824"),
        ("0", "1Gi", "1Gi"),
        ("1E", "1500m", "1000000000000000001500m"),
        ("-1n", "1500m", "1499999999n"),
    ] {
        assert_eq!((quantity(a) + quantity(b)).to_string(), sum, "{a} + {b}");
    }
}

#[test]
fn refuses_what_go_refuses() {
    for text in [
        "", " 1", "1 ", "1.1.M", "1+1.0M", "a", "1,5", ".", "-", "Mi",
    ] {
        assert_eq!(
            Quantity::parse(text),
            Err(ParseError::Malformed(text.to_owned()))
        );
    }
    for text in ["1i", "0.1mi", "1K", "1e", "1Ee3", "1Mii", "1e99999999999"] {
        assert_eq!(
            Quantity::parse(text),
            Err(ParseError::Suffix(text.to_owned()))
        );
    }
    assert_eq!(
        Quantity::parse("1e30"),
        Err(ParseError::TooLarge("1e30".to_owned()))
    );
    assert_eq!(
        Quantity::parse("1e1000000000"),
        Err(ParseError::TooLarge("1e1000000000".to_owned()))
    );
}

#[test]
fn values_beyond_the_last_suffix_keep_it() {
    assert_eq!(quantity("1000E").to_string(), "1000E");
    assert_eq!((quantity("4Ei") * 1024).to_string(), "4096Ei");
}

#[test]
fn the_most_digits_that_fit_are_exact() {
    let text = "123456789012345678901234567890m";
    assert_eq!(
        quantity(text).nanos(),
        123_456_789_012_345_678_901_234_567_890_i128 * 1_000_000
    );
    assert_eq!(quantity(text).to_string(), text);
    assert_eq!(quantity("1e-1000000000").to_string(), "1e-9");
}

#[test]
fn equality_is_by_value_and_order_follows_it() {
    assert_eq!(quantity("1Ki"), quantity("1024"));
    assert!(quantity("1100m") > quantity("1"));
    assert!(quantity("-1") < Quantity::ZERO);
}

#[test]
fn a_part_fits_so_many_times() {
    assert_eq!(quantity("1").times(quantity("300m")), Some(3));
    assert_eq!(quantity("1Gi").times(quantity("1Gi")), Some(1));
    assert_eq!(quantity("-1").times(quantity("300m")), Some(0));
    assert_eq!(quantity("1").times(Quantity::ZERO), None);
    assert_eq!(quantity("1").saturating_sub(quantity("3")), Quantity::ZERO);
}

#[test]
fn json_accepts_text_and_numbers_and_writes_text() {
    let read = |json: &str| serde_json::from_str::<Quantity>(json);
    assert_eq!(read("\"500m\"").unwrap(), quantity("500m"));
    assert_eq!(read("3").unwrap(), quantity("3"));
    assert_eq!(read("0.5").unwrap(), quantity("500m"));
    assert!(
        read("\"x\"")
            .unwrap_err()
            .to_string()
            .contains("`x` is not a quantity")
    );
    assert_eq!(
        serde_json::to_string(&quantity("1024Mi")).unwrap(),
        "\"1Gi\""
    );
}

fn any_quantity() -> impl Strategy<Value = Quantity> {
    let format = prop_oneof![
        Just(Format::DecimalSi),
        Just(Format::BinarySi),
        Just(Format::DecimalExponent)
    ];
    let nanos = prop_oneof![
        any::<i64>().prop_map(i128::from),
        // Round numbers, where suffixes matter, within what a binary suffix may hold.
        (any::<i32>(), 0..10_u32).prop_map(|(n, p)| i128::from(n) * 10_i128.pow(p)),
        (any::<i16>(), 0..40_u32).prop_map(|(n, p)| i128::from(n) * super::NANOS * (1 << p)),
    ];
    (nanos, format).prop_map(|(nanos, format)| Quantity::from_nanos(nanos, format))
}

proptest! {
    #[test]
    fn reading_what_was_printed_gives_the_same(q in any_quantity()) {
        let text = q.to_string();
        let back = quantity(&text);
        prop_assert_eq!(back, q);
        // A binary amount that is no multiple of 1024 is printed without suffix, and read as a decimal one, as in Go.
        prop_assert_eq!(quantity(&back.to_string()), q);
    }

    #[test]
    fn arithmetic_agrees_with_integers(a in any_quantity(), b in any_quantity(), n in -1000..1000_i64) {
        prop_assert_eq!((a + b).nanos(), a.nanos() + b.nanos());
        prop_assert_eq!((a - b).nanos(), a.nanos() - b.nanos());
        prop_assert_eq!((a * n).nanos(), a.nanos() * i128::from(n));
        prop_assert_eq!(a.cmp(&b), a.nanos().cmp(&b.nanos()));
        prop_assert_eq!(a + b - b, a);
    }

    #[test]
    fn no_text_makes_it_panic(text in "[-+]?[0-9]{0,30}[.]?[0-9]{0,30}[eEinumkKMGTP]{0,3}[-+]?[0-9]{0,12}") {
        if let Ok(q) = Quantity::parse(&text) {
            let canonical = q.to_string();
            // Sums beyond the cap are kept, but a single text with a binary suffix is capped when read again.
            prop_assert_eq!(quantity(&canonical).to_string(), canonical);
        }
    }
}
