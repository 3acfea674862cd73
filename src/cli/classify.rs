//! `swbox classify`: how a line is read.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::args::ClassifyArgs;
use super::exit::Code;
use super::json_line;
use super::output::{ColorChoice, Paint, print};
use super::show::{excerpt, visible};
use crate::diagnostic::Diagnostic;
use crate::service::{Classification, ClassifiedSegment, OpClass, Reader, Span, Subject, Trust, report};

/// Largest line from standard input.
const LINE_LIMIT: u64 = 1024 * 1024;

/// `swbox classify`.
pub(super) fn classify(args: &ClassifyArgs, color: ColorChoice) -> Result<u8, Diagnostic> {
    if let Some(file) = &args.jsonl {
        return many(file, &args.profile);
    }
    let line = match args.line.as_ref() {
        Some(line) if line == "-" => from_stdin()?,
        Some(line) => line.clone(),
        None => OsString::new(),
    };
    match Reader::new(&args.profile).and_then(|reader| reader.read(&line)) {
        Err(problem) => {
            if args.json {
                print(&json_line(&report::failure_to_json(&problem)))?;
            }
            Err(problem)
        }
        Ok((source, reading)) if args.json => {
            let mut fields = Map::new();
            fields.insert("version".into(), json!(report::JSON_VERSION));
            fields.insert("command".into(), json!(source));
            for (name, value) in report::reading_fields(&source, &reading) {
                fields.insert(name.into(), value);
            }
            print(&json_line(&Value::Object(fields)))?;
            Ok(Code::OK)
        }
        Ok((source, reading)) => {
            print(&table(&source, &reading, Paint::stdout(color)))?;
            Ok(Code::OK)
        }
    }
}

fn from_stdin() -> Result<OsString, Diagnostic> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(LINE_LIMIT).read_to_end(&mut bytes).map_err(|error| {
        Diagnostic::new("input_unreadable", format!("standard input cannot be read: {error}"))
    })?;
    while bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    Ok(OsString::from_vec(bytes))
}

/// The line with its segments underlined, and what is known of each.
fn table(source: &str, reading: &Classification, paint: Paint) -> String {
    let mut out = String::new();
    let mut start = 0;
    for line in source.split('\n') {
        let _ = writeln!(out, "  {}", visible(line));
        let end = start + line.len();
        for (number, segment) in reading.segments.iter().enumerate() {
            if (start..=end).contains(&segment.span.start) {
                let mark = underline(source, segment.span, start, end);
                let _ = writeln!(out, "  {} {}", paint.yellow(&mark), paint.dim(&(number + 1).to_string()));
            }
        }
        start = end + 1;
    }
    let rows: Vec<[String; 4]> = reading
        .segments
        .iter()
        .enumerate()
        .map(|(number, segment)| {
            [(number + 1).to_string(), program(segment), classes(segment), notes(segment)]
        })
        .collect();
    if !rows.is_empty() {
        out.push('\n');
        out.push_str(&columns(["#", "program", "does", "notes"], &rows, paint));
    }
    if let Some(shape) = &reading.catastrophe {
        let text = excerpt(shape.span.of(source), 60);
        let _ = writeln!(
            out,
            "\n{} {} at `{text}`: nothing overrides this",
            paint.red("catastrophe"),
            shape.shape
        );
    }
    if let Trust::Untrusted { code, reason, span } = &reading.trust {
        let text = excerpt(span.of(source), 60);
        let _ = writeln!(out, "\n{} {} at `{text}` [{code}]", paint.red("untrusted"), visible(reason));
    }
    if let Some(opaque) = &reading.opaque {
        let _ = writeln!(out, "\n{} {} [{}]", paint.yellow("opaque"), visible(&opaque.reason), opaque.code);
    }
    out
}

/// Blanks up to the span and `~` under it, as far as it lies in this line.
fn underline(source: &str, span: Span, start: usize, end: usize) -> String {
    let width = |from: usize, to: usize| source.get(from..to).map_or(0, |text| visible(text).chars().count());
    let mut mark = " ".repeat(width(start, span.start));
    mark.push_str(&"~".repeat(width(span.start, span.end.min(end)).max(1)));
    if span.end > end {
        mark.push('…');
    }
    mark
}

fn program(segment: &ClassifiedSegment) -> String {
    if segment.prefix.is_empty() {
        return if segment.program.is_empty() { "-".to_owned() } else { excerpt(&segment.program, 40) };
    }
    excerpt(&segment.prefix.join(" "), 40)
}

fn classes(segment: &ClassifiedSegment) -> String {
    let mut parts: Vec<String> = Vec::new();
    for class in segment.classes.iter() {
        let subjects: Vec<String> = segment
            .ops
            .iter()
            .filter(|op| op.class == class)
            .filter_map(|op| match &op.subject {
                Subject::Path(name) | Subject::Host(name) => Some(excerpt(name, 40)),
                Subject::None | Subject::Unknown => None,
            })
            .take(4)
            .collect();
        parts.push(if subjects.is_empty() {
            class.name().to_owned()
        } else {
            format!("{}: {}", class.name(), subjects.join(", "))
        });
    }
    if parts.is_empty() { "nothing".to_owned() } else { parts.join("; ") }
}

fn notes(segment: &ClassifiedSegment) -> String {
    let flags = [
        ("closed", segment.closed),
        ("pure", segment.pure),
        ("filter", segment.stdin_filter),
        ("no effect", segment.effect_free),
        ("wrapped", segment.indirect),
    ];
    let mut notes: Vec<String> =
        flags.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).to_owned()).collect();
    notes.extend(segment.opaque.as_ref().map(|opaque| format!("opaque: {}", visible(&opaque.reason))));
    notes.join(", ")
}

/// Rows in columns as wide as their widest cell.
pub(super) fn columns<const N: usize>(head: [&str; N], rows: &[[String; N]], paint: Paint) -> String {
    let widths: [usize; N] = std::array::from_fn(|column| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .chain([head[column].chars().count()])
            .max()
            .unwrap_or(0)
    });
    let line = |cells: [&str; N]| {
        let padded: Vec<String> = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell}{}", " ".repeat(width.saturating_sub(cell.chars().count()))))
            .collect();
        padded.join("  ").trim_end().to_owned()
    };
    let mut out = format!("{}\n", paint.bold(&line(head)));
    for row in rows {
        out.push_str(&line(std::array::from_fn(|column| row[column].as_str())));
        out.push('\n');
    }
    out
}

/// One JSON object a line in, one out.
fn many(file: &Path, profiles: &[OsString]) -> Result<u8, Diagnostic> {
    let unreadable = |error: std::io::Error| {
        Diagnostic::new("input_unreadable", format!("cannot be read: {error}")).file(file)
    };
    let input: Box<dyn BufRead> = if file == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(file).map_err(unreadable)?))
    };
    let reader = Reader::new(profiles)?;
    let mut out = String::new();
    for (number, line) in input.lines().enumerate() {
        let line = line.map_err(unreadable)?;
        if line.trim().is_empty() {
            continue;
        }
        let case: Value = serde_json::from_str(&line).map_err(|error| {
            let mut problem = Diagnostic::new("malformed_jsonl", error.to_string()).file(file);
            (problem.line, problem.column) = (Some(number + 1), Some(error.column()));
            problem
        })?;
        let command = case.get("cmd").and_then(Value::as_str).ok_or_else(|| {
            let mut problem = Diagnostic::new("malformed_jsonl", "the object has no text `cmd`").file(file);
            problem.line = Some(number + 1);
            problem
        })?;
        let answer = answer(&reader, case.get("id").cloned().unwrap_or(Value::Null), command);
        out.push_str(&json_line(&answer));
        if out.len() > 64 * 1024 {
            print(&out)?;
            out.clear();
        }
    }
    print(&out)?;
    Ok(Code::OK)
}

fn answer(reader: &Reader, id: Value, command: &str) -> Value {
    let begun = Instant::now();
    let read = reader.read(command.as_ref());
    let us = begun.elapsed().as_secs_f64() * 1e6;
    match read {
        Err(problem) => json!({
            "id": id, "classes": [], "opaque": false, "error": true, "catastrophic": false, "segments": [],
            "reason": problem.code, "us": us,
        }),
        Ok((source, reading)) => json!({
            "id": id,
            "classes": reading.classes.iter().map(OpClass::name).collect::<Vec<_>>(),
            "opaque": reading.opaque.is_some(),
            "error": reading.trust != Trust::Trusted,
            "catastrophic": reading.catastrophe.is_some(),
            "segments": reading.segments.iter().map(|segment| json!({
                "text": segment.span.of(&source),
                "prefix": segment.prefix,
                "classes": segment.classes.iter().map(OpClass::name).collect::<Vec<_>>(),
                "opaque": segment.opaque.as_ref().map(|opaque| opaque.code),
            })).collect::<Vec<_>>(),
            "us": us,
        }),
    }
}
