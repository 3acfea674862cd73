//! Reads a script on standard input with brush-parser and prints its commands as JSON: a list of lists of raw words.
//!
//! Exits with 1 where brush refuses the script. A process of its own, because brush hangs on `((((…` and overflows its
//! stack on nesting; the caller sets a time limit.

use std::io::Read as _;
use std::process::ExitCode;

use brush_parser::ast::{
    AndOr, Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList,
    CompoundListItem, ExtendedTestExpr, IoFileRedirectTarget, IoRedirect, Pipeline, RedirectList, SimpleCommand,
};
use brush_parser::word::{ParameterExpr, WordPiece, WordPieceWithSource};
use brush_parser::{Parser, ParserOptions};

fn main() -> ExitCode {
    let mut source = String::new();
    if std::io::stdin().read_to_string(&mut source).is_err() {
        return ExitCode::from(2);
    }
    let mut reader = Reader { commands: Vec::new(), refused: false, options: ParserOptions::default(), depth: 0 };
    reader.script(&source);
    if reader.refused {
        return ExitCode::from(1);
    }
    println!("{}", serde_json::json!(reader.commands));
    ExitCode::SUCCESS
}

struct Reader {
    commands: Vec<Vec<String>>,
    refused: bool,
    options: ParserOptions,
    depth: usize,
}

impl Reader {
    fn script(&mut self, source: &str) {
        self.depth += 1;
        if self.depth > 60 {
            self.refused = true;
            return;
        }
        match Parser::new(source.as_bytes(), &self.options).parse_program() {
            Ok(program) => program.complete_commands.iter().for_each(|list| self.list(list)),
            Err(_) => self.refused = true,
        }
        self.depth -= 1;
    }

    fn list(&mut self, list: &CompoundList) {
        for CompoundListItem(chain, _) in &list.0 {
            self.pipeline(&chain.first);
            for AndOr::And(pipeline) | AndOr::Or(pipeline) in &chain.additional {
                self.pipeline(pipeline);
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        pipeline.seq.iter().for_each(|command| self.command(command));
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(command) => self.simple(command),
            Command::Compound(command, redirects) => {
                self.compound(command);
                self.redirects(redirects.as_ref());
            }
            Command::Function(function) => {
                self.compound(&function.body.0);
                self.redirects(function.body.1.as_ref());
            }
            Command::ExtendedTest(test, redirects) => {
                self.test(&test.expr);
                self.redirects(redirects.as_ref());
            }
        }
    }

    fn test(&mut self, test: &ExtendedTestExpr) {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ExtendedTestExpr::UnaryTest(_, word) => self.word(&word.value),
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.word(&left.value);
                self.word(&right.value);
            }
        }
    }

    fn redirects(&mut self, redirects: Option<&RedirectList>) {
        if let Some(redirects) = redirects {
            redirects.0.iter().for_each(|redirect| self.redirect(redirect));
        }
    }

    fn redirect(&mut self, redirect: &IoRedirect) {
        match redirect {
            IoRedirect::File(_, _, target) => match target {
                IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => self.word(&word.value),
                IoFileRedirectTarget::ProcessSubstitution(_, command) => self.list(&command.list),
                IoFileRedirectTarget::Fd(_) => {}
            },
            IoRedirect::HereDocument(_, document) => {
                if document.requires_expansion {
                    match brush_parser::word::parse_heredoc(&document.doc.value, &self.options) {
                        Ok(pieces) => self.pieces(&pieces),
                        Err(_) => self.refused = true,
                    }
                }
            }
            IoRedirect::HereString(_, word) | IoRedirect::OutputAndError(word, _) => self.word(&word.value),
        }
    }

    fn compound(&mut self, command: &CompoundCommand) {
        match command {
            CompoundCommand::Arithmetic(command) => self.word(&command.expr.value),
            CompoundCommand::ArithmeticForClause(command) => {
                for text in [&command.initializer, &command.condition, &command.updater].into_iter().flatten() {
                    self.word(&text.value);
                }
                self.list(&command.body.list);
            }
            CompoundCommand::BraceGroup(command) => self.list(&command.list),
            CompoundCommand::Subshell(command) => self.list(&command.list),
            CompoundCommand::ForClause(command) => {
                command.values.iter().flatten().for_each(|word| self.word(&word.value));
                self.list(&command.body.list);
            }
            CompoundCommand::CaseClause(command) => {
                self.word(&command.value.value);
                for item in &command.cases {
                    item.patterns.iter().for_each(|pattern| self.word(&pattern.value));
                    item.cmd.iter().for_each(|list| self.list(list));
                }
            }
            CompoundCommand::IfClause(command) => {
                self.list(&command.condition);
                self.list(&command.then);
                for part in command.elses.iter().flatten() {
                    part.condition.iter().for_each(|list| self.list(list));
                    self.list(&part.body);
                }
            }
            CompoundCommand::WhileClause(command) | CompoundCommand::UntilClause(command) => {
                self.list(&command.0);
                self.list(&command.1.list);
            }
            CompoundCommand::Coprocess(command) => self.command(&command.body),
        }
    }

    fn assignment(&mut self, assignment: &Assignment) {
        if let AssignmentName::ArrayElementName(_, index) = &assignment.name {
            self.word(index);
        }
        match &assignment.value {
            AssignmentValue::Scalar(word) => self.word(&word.value),
            AssignmentValue::Array(elements) => {
                for (key, value) in elements {
                    key.iter().for_each(|word| self.word(&word.value));
                    self.word(&value.value);
                }
            }
        }
    }

    fn simple(&mut self, command: &SimpleCommand) {
        let mut argv = Vec::new();
        for item in command.prefix.iter().flat_map(|prefix| &prefix.0) {
            self.item(item, &mut argv, true);
        }
        if let Some(word) = &command.word_or_name {
            argv.push(word.value.clone());
            self.word(&word.value);
        }
        for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut argv, false);
        }
        if !argv.is_empty() {
            self.commands.push(argv);
        }
    }

    fn item(&mut self, item: &CommandPrefixOrSuffixItem, argv: &mut Vec<String>, prefix: bool) {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect),
            CommandPrefixOrSuffixItem::Word(word) => {
                argv.push(word.value.clone());
                self.word(&word.value);
            }
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                if !prefix {
                    argv.push(word.value.clone());
                }
                self.assignment(assignment);
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, command) => {
                argv.push("<()".to_owned());
                self.list(&command.list);
            }
        }
    }

    fn word(&mut self, text: &str) {
        if !text.bytes().any(|byte| matches!(byte, b'$' | b'`' | b'<' | b'>')) {
            return;
        }
        match brush_parser::word::parse(text, &self.options) {
            Ok(pieces) => self.pieces(&pieces),
            Err(_) => self.refused = true,
        }
    }

    fn pieces(&mut self, pieces: &[WordPieceWithSource]) {
        for piece in pieces {
            match &piece.piece {
                WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => self.pieces(inner),
                WordPiece::CommandSubstitution(source) | WordPiece::BackquotedCommandSubstitution(source) => {
                    let source = source.clone();
                    self.script(&source);
                }
                WordPiece::ArithmeticExpression(expression) => self.word(&expression.value),
                WordPiece::ParameterExpansion(expression) => self.parameter(expression),
                _ => {}
            }
        }
    }

    fn parameter(&mut self, expression: &ParameterExpr) {
        use ParameterExpr::{
            AssignDefaultValues, IndicateErrorIfNullOrUnset, Parameter, RemoveLargestPrefixPattern, RemoveLargestSuffixPattern,
            RemoveSmallestPrefixPattern, RemoveSmallestSuffixPattern, ReplaceSubstring, Substring, UseAlternativeValue,
            UseDefaultValues,
        };
        match expression {
            UseDefaultValues { default_value: text, .. }
            | AssignDefaultValues { default_value: text, .. }
            | IndicateErrorIfNullOrUnset { error_message: text, .. }
            | UseAlternativeValue { alternative_value: text, .. }
            | RemoveSmallestSuffixPattern { pattern: text, .. }
            | RemoveLargestSuffixPattern { pattern: text, .. }
            | RemoveSmallestPrefixPattern { pattern: text, .. }
            | RemoveLargestPrefixPattern { pattern: text, .. } => text.iter().for_each(|text| self.word(text)),
            Substring { offset, length, .. } => {
                self.word(&offset.value);
                length.iter().for_each(|text| self.word(&text.value));
            }
            ReplaceSubstring { pattern, replacement, .. } => {
                self.word(pattern);
                replacement.iter().for_each(|text| self.word(text));
            }
            Parameter { parameter: brush_parser::word::Parameter::NamedWithIndex { index, .. }, .. } => self.word(index),
            _ => {}
        }
    }
}
