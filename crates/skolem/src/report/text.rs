//! Numbers and names as text.

/// Text as it stands in HTML and SVG, in attributes too.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Not allowed in XML, whatever way they are written.
            '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}' => {
                safe.push('\u{fffd}')
            }
            sign => safe.push(sign),
        }
    }
    safe
}

/// Text as it stands in Markdown, in cells of tables too.
pub fn escape_markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            '\n' | '\r' => safe.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => safe.extend(['\\', sign]),
            sign => safe.push(sign),
        }
    }
    safe
}

/// A number with so many decimals, and a true minus sign.
pub fn decimal(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    match text.strip_prefix('-') {
        // There is no minus zero for people.
        Some(zero) if zero.chars().all(|sign| matches!(sign, '0' | '.')) => zero.to_owned(),
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

/// A difference, with its sign.
pub fn signed(number: f64, decimals: usize) -> String {
    let text = decimal(number, decimals);
    let is_positive =
        !text.starts_with('−') && text.contains(|sign: char| ('1'..='9').contains(&sign));
    if is_positive { format!("+{text}") } else { text }
}

/// A whole number with its thousands set apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time as people say it.
pub fn duration(seconds: f64) -> String {
    match seconds {
        ..60.0 => format!("{} s", decimal(seconds, 0)),
        ..5400.0 => format!("{} min", decimal(seconds / 60.0, usize::from(seconds % 60.0 > 3.0))),
        _ => format!("{} h", decimal(seconds / 3600.0, 1)),
    }
}

/// Things in a row, as in "a, b and c".
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!((decimal(-1.25, 1), decimal(-0.01, 1)), ("−1.2".into(), "0.0".into()));
        assert_eq!(
            (signed(0.31, 1), signed(-0.31, 1), signed(0.0, 1)),
            ("+0.3".into(), "−0.3".into(), "0.0".into())
        );
        assert_eq!((grouped(999), grouped(1_234_567)), ("999".into(), "1,234,567".into()));
        assert_eq!(
            (duration(59.2), duration(1800.4), duration(90.0)),
            ("59 s".into(), "30 min".into(), "1.5 min".into())
        );
        assert_eq!(duration(7200.0), "2.0 h");
        assert_eq!(list(&["a", "b", "c"].map(str::to_owned)), "a, b and c");
    }

    #[test]
    fn names_do_no_harm() {
        assert_eq!(escape("<b a='1'>&\"\0"), "&lt;b a=&#39;1&#39;&gt;&amp;&quot;\u{fffd}");
        assert_eq!(escape_markdown("a|b_c\n<d>"), "a\\|b\\_c &lt;d>");
    }
}
