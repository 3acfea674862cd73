use super::*;

fn problems(text: &str) -> Vec<(&'static str, String, usize)> {
    let all = load(text.as_bytes()).map(|_| ()).unwrap_err();
    all.into_iter().map(|one| (one.code, one.path.unwrap_or_default(), one.line.unwrap_or(0))).collect()
}

#[test]
fn malformed_json_names_line_and_column() {
    let all = load(b"{\n  \"id\": \"x\",\n  \"initial\" \"a\"\n}").unwrap_err();
    assert_eq!((all[0].code, all[0].line, all[0].column), ("malformed_json", Some(3), Some(13)));
}
