//! `$'…'`: ANSI-C quoting.
//!
//! Danger: what depends on the locale or is no text must stay unknown.

/// The value of `$'…'`; none where it depends on the locale or is no text.
pub(super) fn ansi(text: &[u8]) -> Option<String> {
    let mut value = Vec::new();
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        at += 1;
        if *byte != b'\\' {
            value.push(*byte);
            continue;
        }
        let Some(escape) = text.get(at) else {
            value.push(b'\\');
            break;
        };
        at += 1;
        let number = |from: usize, most: usize, radix: u32| {
            let digits = text.get(from..).unwrap_or(&[]).iter().take(most);
            digits.take_while(|byte| char::from(**byte).is_digit(radix)).count()
        };
        let parse = |from: usize, length: usize, radix: u32| {
            let digits = std::str::from_utf8(text.get(from..from + length)?).ok()?;
            u32::from_str_radix(digits, radix).ok()
        };
        let code = match escape {
            b'a' => 7,
            b'b' => 8,
            b'e' | b'E' => 27,
            b'f' => 12,
            b'n' => 10,
            b'r' => 13,
            b't' => 9,
            b'v' => 11,
            b'\\' | b'\'' | b'"' | b'?' => u32::from(*escape),
            b'0'..=b'7' => {
                let length = number(at - 1, 3, 8);
                at += length - 1;
                parse(at - length, length, 8)? & 0xff
            }
            b'x' | b'u' | b'U' => {
                let most = match escape {
                    b'x' => 2,
                    b'u' => 4,
                    _ => 8,
                };
                let length = number(at, most, 16);
                if text.get(at) == Some(&b'{') {
                    // `\x{…}`: braces around the digits, closed or not
                    return None;
                }
                if length == 0 {
                    value.extend_from_slice(&[b'\\', *escape]);
                    continue;
                }
                at += length;
                parse(at - length, length, 16)?
            }
            b'c' => {
                let control = *text.get(at)?;
                at += 1;
                if control == b'\\' {
                    return None;
                }
                if control == b'?' { 0x7f } else { u32::from(control.to_ascii_uppercase() & 0x1f) }
            }
            other => {
                value.extend_from_slice(&[b'\\', *other]);
                continue;
            }
        };
        // a NUL ends the string, and above ASCII the locale decides
        if code == 0 || code > 0x7f {
            return None;
        }
        value.push(u8::try_from(code).ok()?);
    }
    String::from_utf8(value).ok()
}
