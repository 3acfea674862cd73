//! Secrets out of what is written down: tokens by their shape, values by the name in front of them, and values that the
//! caller knows.
//!
//! Danger: masking is a courtesy, no wall; a secret without a shape or a name passes. What is masked is masked before
//! anything is decided by it, so that the journal tells what was judged.

use serde_json::Value;

/// What stands in a secret's place.
pub const MASK: &str = "[masked]";

/// Beginnings of tokens, with the least number of characters after them.
const TOKENS: &[(&str, usize)] = &[
    ("AIza", 30),
    ("AKIA", 16),
    ("ASIA", 16),
    ("dop_v1_", 20),
    ("eyJ", 40),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghr_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("hf_", 20),
    ("npm_", 20),
    ("pypi-", 20),
    ("rk_live_", 16),
    ("sk-", 20),
    ("sk_live_", 16),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxp-", 10),
];

/// Names (in any case, `-` as `_`) whose value is a secret.
const NAMES: &[&str] = &[
    "api_key",
    "apikey",
    "access_key",
    "auth_token",
    "authtoken",
    "client_secret",
    "credential",
    "passphrase",
    "passwd",
    "password",
    "private_key",
    "secret",
    "token",
];

/// Shortest value of a known secret that is looked for: shorter ones would hit ordinary text.
const SHORTEST: usize = 8;

/// Masks a text. `known` are values that must not appear.
pub fn mask(text: &str, known: &[String]) -> String {
    let mut out = text.to_owned();
    for value in known.iter().filter(|value| value.len() >= SHORTEST) {
        if out.contains(value.as_str()) {
            out = out.replace(value.as_str(), MASK);
        }
    }
    let out = private_keys(&out);
    words(&out)
}

/// Masks every text in a JSON value.
pub fn mask_json(value: &mut Value, known: &[String]) {
    match value {
        Value::String(text) => {
            let masked = mask(text, known);
            if masked != *text {
                *text = masked;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mask_json(item, known)),
        Value::Object(fields) => {
            for (name, item) in fields {
                match item {
                    Value::String(text) if is_secret_name(name) && !text.is_empty() => {
                        *text = MASK.to_owned()
                    }
                    _ => mask_json(item, known),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The values of an environment that are secrets by their name.
pub fn secrets_of<'a>(environment: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let secret = environment.filter(|(name, value)| is_secret_name(name) && value.len() >= SHORTEST);
    secret.map(|(_, value)| value.to_owned()).collect()
}

/// Whether a name says that its value is a secret: it ends in one of the list, alone or after a separator.
fn is_secret_name(name: &str) -> bool {
    let name = name.trim_start_matches('-').to_ascii_lowercase().replace('-', "_");
    NAMES.iter().any(|known| {
        name.strip_suffix(known)
            .or_else(|| name.strip_suffix('s')?.strip_suffix(known))
            .is_some_and(|before| before.is_empty() || before.ends_with('_'))
    })
}

/// PEM blocks of private keys.
fn private_keys(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("-----BEGIN ") {
        let block = &rest[start..];
        let header = block.lines().next().unwrap_or_default();
        if !header.contains("PRIVATE KEY") {
            let skip = start + "-----BEGIN ".len();
            out.push_str(&rest[..skip]);
            rest = &rest[skip..];
            continue;
        }
        out.push_str(&rest[..start]);
        out.push_str(MASK);
        let end = block.find("-----END ").and_then(|end| {
            let tail = &block[end + "-----END ".len()..];
            tail.find("-----").map(|close| end + "-----END ".len() + close + "-----".len())
        });
        rest = end.map_or("", |end| &block[end..]);
    }
    out + rest
}

/// Whether a character can be part of a token.
fn is_token(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '+' | '/' | '=' | '~')
}

/// Tokens by shape, assignments and options by name, credentials of URLs and of `Authorization`.
fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut boundary = true;
    while let Some(letter) = rest.chars().next() {
        if boundary && let Some((kept, secret)) = secret_at(rest) {
            out.push_str(&rest[..kept]);
            out.push_str(MASK);
            rest = &rest[kept + secret..];
            boundary = false;
            continue;
        }
        if let Some(after) = rest.strip_prefix("://")
            && let Some(masked) = credentials(after)
        {
            out.push_str("://");
            out.push_str(MASK);
            rest = &after[masked..];
            boundary = false;
            continue;
        }
        boundary = !(letter.is_ascii_alphanumeric() || letter == '_' || letter == '-');
        out.push(letter);
        rest = &rest[letter.len_utf8()..];
    }
    out
}

/// The bytes before the `@` of a URL that hold a password.
fn credentials(after: &str) -> Option<usize> {
    let end =
        after.find(|letter: char| letter == '/' || letter.is_whitespace() || matches!(letter, '"' | '\''));
    let authority = &after[..end.unwrap_or(after.len())];
    let at = authority.rfind('@')?;
    authority[..at].contains(':').then_some(at)
}

/// A secret that begins here: the bytes that stay and the bytes that go.
fn secret_at(rest: &str) -> Option<(usize, usize)> {
    for (beginning, least) in TOKENS {
        if let Some(after) = rest.strip_prefix(beginning) {
            let length = after.find(|letter| !is_token(letter)).unwrap_or(after.len());
            if length >= *least {
                return Some((0, beginning.len() + length));
            }
        }
    }
    let name = rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')))?;
    let word = &rest[..name];
    if word.is_empty() {
        return None;
    }
    let after = &rest[name..];
    if word.eq_ignore_ascii_case("bearer") || (word.eq_ignore_ascii_case("basic") && after.len() > SHORTEST) {
        let value = after.strip_prefix(' ')?;
        let length = value.find(|letter| !is_token(letter)).unwrap_or(value.len());
        return (length >= SHORTEST).then_some((name + 1, length));
    }
    if !is_secret_name(word) {
        return None;
    }
    // `NAME=value`, `--name value`, `"name": "value"`.
    let option = word.starts_with("--");
    let gap = after.find(|letter: char| !matches!(letter, '=' | ':' | ' ' | '"' | '\''))?;
    let between = &after[..gap];
    if !(between.contains(['=', ':']) || option && between.starts_with(' ')) {
        return None;
    }
    let value = &after[gap..];
    let quote = between.chars().next_back().filter(|letter| matches!(letter, '"' | '\''));
    let length = match quote {
        Some(quote) => value.find(quote),
        None => value.find(|letter: char| {
            letter.is_whitespace() || matches!(letter, '"' | '\'' | ';' | '&' | '|' | ',')
        }),
    };
    let length = length.unwrap_or(value.len());
    // A variable is no secret; its value is not in the text.
    (length > 0 && !value.starts_with('$')).then_some((name + gap, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_by_shape_name_and_value() {
        let token = "ghp_abcdefghijklmnopqrstuvwx0123456789";
        for (text, expected) in [
            (
                format!("git push https://x:{token}@github.com/a/b"),
                "git push https://[masked]@github.com/a/b".to_owned(),
            ),
            (format!("echo {token} | gh auth"), "echo [masked] | gh auth".into()),
            ("API_KEY=abc123 run".into(), "API_KEY=[masked] run".into()),
            ("export DB_PASSWORD='a b'; x".into(), "export DB_PASSWORD='[masked]'; x".into()),
            ("mysql --password hunter2 -e x".into(), "mysql --password [masked] -e x".into()),
            ("mysql --password=hunter2 -e x".into(), "mysql --password=[masked] -e x".into()),
            (
                "curl -H 'Authorization: Bearer abcdef123456'".into(),
                "curl -H 'Authorization: Bearer [masked]'".into(),
            ),
            ("{\"token\": \"abc\"}".into(), "{\"token\": \"[masked]\"}".into()),
            (
                "a -----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY----- b".into(),
                "a [masked] b".into(),
            ),
            ("value known-secret-1 here".into(), "value [masked] here".into()),
        ] {
            assert_eq!(mask(&text, &["known-secret-1".to_owned()]), expected);
        }
    }

    #[test]
    fn ordinary_text_stays() {
        for text in [
            "cargo test --workspace 2>&1 | tail -5",
            "grep -rn token src",
            "git commit -m 'Fix the password prompt: ask once'",
            "echo $API_KEY; X_TOKEN=$OTHER y",
            "https://example.org/a@b:c",
            "ssh://git@github.com/a/b",
            "tokenizer=fast secretary=x",
            "-----BEGIN CERTIFICATE-----",
            "größe → sk-kurz",
        ] {
            assert_eq!(mask(text, &[]), text);
        }
    }

    #[test]
    fn json_is_masked_by_value_and_by_name() {
        let mut value =
            serde_json::json!({"a": ["TOKEN=abcd"], "password": "x", "tokens": 5, "note": "fine"});
        mask_json(&mut value, &[]);
        assert_eq!(
            value,
            serde_json::json!({"a": ["TOKEN=[masked]"], "password": "[masked]", "tokens": 5, "note": "fine"})
        );
    }

    #[test]
    fn an_environment_gives_its_secrets() {
        let found = secrets_of(
            [("MY_TOKEN", "abcdefgh1"), ("PATH", "/usr/bin:/bin"), ("SECRET", "short")].into_iter(),
        );
        assert_eq!(found, ["abcdefgh1"]);
    }
}
