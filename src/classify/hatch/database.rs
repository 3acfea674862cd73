//! What database clients do besides SQL: shell escapes, files, commands of their own.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::{Call, Word};
use crate::classify::spec::Role;

/// Statements on standard input: not to be seen, unless they are in the line itself.
fn statements_from_stdin<'a>(call: &Call<'a>, findings: &mut Findings<'a>, given: bool) {
    if call.fed && !given {
        findings.opaque(Cause::StdinCode, call.name.span());
    }
}

/// psql: `\! cmd`, `\o |cmd`, `COPY … PROGRAM 'cmd'` run programs; `\o FILE`, `\copy … to FILE` write.
pub fn psql<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let given = call.has("command");
    for option in call.all("command") {
        let Some(value) = option.value else { continue };
        let Some(text) = value.text() else { continue };
        let lower = text.to_ascii_lowercase();
        if text.contains("\\!") || text.contains('|') && text.contains('\\') || has_word(&lower, "program") {
            findings.opaque(Cause::ExecOption, value.span());
        }
        if text.contains("\\o")
            || text.contains("\\g ")
            || text.contains("\\w ")
            || (lower.contains("copy") && has_word(&lower, "to"))
        {
            findings.unknown_path(FileWrite, value.span());
        }
        if text.contains("\\i") {
            findings.opaque(Cause::ScriptFile, value.span());
        }
    }
    statements_from_stdin(call, findings, given || call.has("file"));
}

/// mysql: `\! cmd` and `system cmd` run programs, `INTO OUTFILE` writes on the server, `source` reads statements.
pub fn mysql<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let given = call.has("execute");
    for option in call.all("execute") {
        let Some(value) = option.value else { continue };
        let Some(text) = value.text() else { continue };
        let lower = text.trim_start().to_ascii_lowercase();
        if text.contains("\\!")
            || lower.starts_with("system ")
            || lower.starts_with("source ")
            || text.contains("\\.")
        {
            findings.opaque(Cause::ExecOption, value.span());
        }
        if lower.contains("outfile") || lower.starts_with("tee ") {
            findings.unknown_path(FileWrite, value.span());
        }
    }
    statements_from_stdin(call, findings, given);
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|part| part == word)
}

/// sqlite3 and duckdb: the database, then statements and dot commands.
pub fn sqlite<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let texts = call
        .operands
        .iter()
        .skip(1)
        .copied()
        .chain(call.all("cmd").chain(call.all("c")).chain(call.all("s")).filter_map(|given| given.value));
    let mut given = false;
    let mut modifies = false;
    for word in texts {
        given = true;
        findings.sql(word);
        let Some(text) = word.text() else {
            findings.opaque(Cause::DynamicCode, word.span());
            continue;
        };
        modifies |= statement(text, word, findings);
    }
    if let Some(database) = call.operands.first() {
        let is_memory = database.text().is_some_and(|text| text == ":memory:" || text.is_empty());
        if !is_memory {
            let class = if modifies && !call.has("readonly") { FileModify } else { FileRead };
            findings.path(class, *database);
        }
        if !given && !call.fed {
            // Interactive: whatever is typed.
            findings.opaque(Cause::StdinCode, call.name.span());
        }
    }
    statements_from_stdin(call, findings, given);
}

/// One text of statements; whether it changes the database.
fn statement(text: &str, word: Word<'_>, findings: &mut Findings<'_>) -> bool {
    let lower = text.to_ascii_lowercase();
    let mut modifies = false;
    for line in lower.split(['\n', ';']) {
        let line = line.trim();
        match line.split_whitespace().next() {
            Some(
                ".shell" | ".system" | ".load" | ".import" | ".edit" | ".read" | ".scanstats" | ".sh"
                | ".sys",
            ) => findings.opaque(Cause::ExecOption, word.span()),
            Some(
                ".output" | ".once" | ".excel" | ".backup" | ".save" | ".clone" | ".log" | ".trace" | ".dump"
                | ".archive" | ".ar" | ".cd" | ".out" | ".www",
            ) => {
                if line.contains(' ') && !line.starts_with(".dump") {
                    findings.unknown_path(FileWrite, word.span());
                }
                if line.contains('|') || line.starts_with(".excel") || line.starts_with(".www") {
                    findings.opaque(Cause::ExecOption, word.span());
                }
            }
            Some(verb) if verb.starts_with('.') => {}
            None
            | Some(
                "select" | "pragma" | "explain" | "values" | "with" | "analyze" | "describe" | "show"
                | "summarize" | "from" | "begin" | "commit" | "end",
            ) => {}
            Some("copy" | "export") => findings.unknown_path(FileWrite, word.span()),
            Some("install") => {
                findings.add(Network, word.span());
                findings.opaque(Cause::ExecOption, word.span());
            }
            Some(_) => modifies = true,
        }
    }
    if lower.contains("load_extension")
        || lower.contains("edit(")
        || lower.contains("readfile(")
        || lower.contains("fts3_tokenizer")
    {
        findings.opaque(Cause::ExecOption, word.span());
    }
    if lower.contains("writefile(") {
        findings.unknown_path(FileWrite, word.span());
    }
    if lower.contains("http://") || lower.contains("https://") || lower.contains("s3://") {
        findings.add(Network, word.span());
    }
    modifies
}

/// redis: the command is in the operands.
pub fn redis<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let Some(verb) = call.operands.first() else {
        statements_from_stdin(call, findings, false);
        return;
    };
    let Some(text) = verb.text() else {
        findings.opaque(Cause::DynamicCode, verb.span());
        return;
    };
    match text.to_ascii_lowercase().as_str() {
        "flushall" | "flushdb" | "del" | "unlink" | "getdel" | "hdel" | "ltrim" | "srem" | "zrem"
        | "lrem" | "xdel" | "xtrim" | "swapdb" => findings.add(Destructive, verb.span()),
        "eval" | "evalsha" | "fcall" | "script" | "function" | "module" | "debug" => {
            findings.opaque(Cause::Interpreter, verb.span())
        }
        // `CONFIG SET dir` and `SAVE` write a file of the server's choosing.
        "config" | "save" | "bgsave" | "bgrewriteaof" | "migrate" | "slaveof" | "replicaof" => {
            findings.unknown_path(FileWrite, verb.span())
        }
        _ => {}
    }
}

/// mongosh: `--eval` is code; its plain forms of deletion are named all the same.
pub fn mongo<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for given in call.all("eval") {
        let deletes = given.value.is_some_and(|value| {
            value.text().is_none_or(|text| {
                ["dropDatabase", ".drop(", "deleteMany", "deleteOne", ".remove(", "findOneAndDelete"]
                    .iter()
                    .any(|verb| text.contains(verb))
            })
        });
        if deletes {
            findings.add(Destructive, call.name.span());
        }
    }
}

/// `mongodump` writes `dump/` unless told otherwise.
pub fn mongo_dump<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    if matches!(name, "mongodump" | "mydumper" | "pg_basebackup") && !call.has("out") && !call.has("pgdata") {
        findings.unknown_path(FileWrite, call.name.span());
    }
}

/// `mysqladmin drop NAME`.
pub fn drop_verb<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.operands.iter().any(|word| word.text() == Some("drop")) {
        findings.add(Destructive, call.name.span());
    }
}

/// Other clients: statements from standard input, migrations, verbs of removal.
pub fn other<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    let span = call.name.span();
    let given = call.has("execute") || call.has("query") || call.has("Q");
    let verbs = || call.operands.iter().take(3).filter_map(|word| word.text());
    let migrates = matches!(
        name,
        "dbmate"
            | "flyway"
            | "liquibase"
            | "goose"
            | "migrate"
            | "sqitch"
            | "sqlx"
            | "diesel"
            | "sea-orm-cli"
            | "refinery"
            | "tern"
            | "yoyo"
            | "soda"
            | "bytebase"
            | "sequel"
    );
    if migrates {
        findings.opaque(Cause::ScriptFile, span);
    } else {
        statements_from_stdin(
            call,
            findings,
            given || matches!(name, "mosquitto_pub" | "kcat" | "kafkacat" | "kafka-console-producer"),
        );
    }
    let deletes = |verb: &str| {
        matches!(
            verb,
            "drop"
                | "delete"
                | "clean"
                | "reset"
                | "down"
                | "rollback"
                | "revert"
                | "purge_queue"
                | "delete_queue"
                | "redo"
                | "droptables"
                | "drop-all"
                | "fresh"
                | "rm"
        )
    };
    if verbs().any(deletes) || call.words.iter().any(|arg| arg.value.literal() == Some("--delete")) {
        findings.add(Destructive, span);
    }
    if matches!(
        name,
        "sqlplus" | "sqlldr" | "logstash" | "filebeat" | "arangosh" | "beeline" | "spark-sql" | "rabbitmqctl"
    ) && !given
    {
        findings.opaque(Cause::ScriptFile, span);
    }
}

/// Converters of data files: those with an output operand write it.
pub fn converter<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    match name {
        // `ogr2ogr DST SRC`
        "ogr2ogr" => {
            if let Some(target) = call.operands.first() {
                findings.role(Role::Write, *target);
            }
        }
        "gdal_translate" | "gdalwarp" => {
            if let Some(target) = call.operands.last() {
                findings.role(Role::Write, *target);
            }
        }
        "db_load" => findings.unknown_path(FileWrite, call.name.span()),
        "gdbmtool" => findings.opaque(Cause::ScriptFile, call.name.span()),
        _ => {
            for pair in call.words.windows(2) {
                if matches!(pair[0].value.literal(), Some("-o" | "-f"))
                    && !matches!(name, "mdb-tables" | "mdb-schema")
                {
                    findings.role(Role::Write, Word::whole(&pair[1]));
                }
            }
        }
    }
    let remote =
        |word: &Word<'_>| word.known_prefix().contains("/vsicurl") || word.known_prefix().contains("://");
    if call.operands.iter().any(remote) {
        findings.add(Network, call.name.span());
    }
}
