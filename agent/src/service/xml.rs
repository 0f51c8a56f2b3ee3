//! The few words that are read from an XML answer, without a parser: a service's elements of text have no attributes.

/// Returns the text of the first element of this name.
pub fn text<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let from = xml.find(&format!("<{name}>"))? + name.len() + 2;
    let length = xml[from..].find("</")?;
    Some(&xml[from..from + length])
}

/// Returns the number of elements of this name.
pub fn count(xml: &str, name: &str) -> usize {
    xml.matches(&format!("<{name}>")).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn elements_are_found_and_counted() {
        let xml = "<?xml?><Error><Code>SlowDown</Code><Message>a &amp; b</Message><Key>x</Key><Key>y</Key></Error>";
        assert_eq!((text(xml, "Code"), text(xml, "Message")), (Some("SlowDown"), Some("a &amp; b")));
        assert_eq!((text(xml, "Region"), count(xml, "Key"), count(xml, "Ke")), (None, 2, 0));
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_xml_of_any_shape_never_panics(xml in r"(</?Code>|\PC{0,6}){0,9}") {
            let _ = (text(&xml, "Code"), count(&xml, "Code"));
        }
    }
}
