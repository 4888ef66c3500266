//! Words that have to fit.

/// The text, cut between two characters to at most `max` bytes, with three dots where it was cut.
pub fn bounded(text: &str, max: usize) -> String {
    const DOTS: &str = "...";
    if text.len() <= max {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(max.saturating_sub(DOTS.len()));
    format!("{}{DOTS}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::bounded;

    #[test]
    fn what_fits_stays_and_what_does_not_is_cut_between_characters() {
        assert_eq!(bounded("abcd", 4), "abcd");
        assert_eq!(bounded("abcdefgh", 7), "abcd...");
        for max in 3..40 {
            let cut = bounded(&"ä".repeat(20), max);
            assert!(
                cut.len() <= max && max - cut.len() < 'ä'.len_utf8(),
                "{max}"
            );
            assert!(cut.len() == 40 || cut.ends_with("..."), "{max}");
        }
    }
}
