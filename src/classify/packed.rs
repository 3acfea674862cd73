//! The rows as bytes without addresses, packed by the compiler.
//!
//! Duty: a table of `&str` needs every pointer relocated before `main`, in a program that is loaded at a random address:
//! 13,000 of them on 90 pages, each copied at every start, although a command looks at one or two rows. Here the tables
//! of `commands/` are read by the compiler only; the program holds their bytes, and a row is made when it is asked for.
//!
//! Danger: a row that is unpacked differently from how it was written judges differently. A test compares them all, and a
//! row that cannot be unpacked is an unknown program, which is opaque.

use std::sync::OnceLock;

use super::commands::FAMILIES;
use super::op::OpSet;
use super::opacity::Cause;
use super::spec::{CommandSpec, Hatch, Operands, OptionSpec, Role, Row, Style, Takes, Traits, Unknown};

/// Stands for "none" where a byte is else an index.
const NONE: u8 = 0xff;

/// How many rows there are.
pub(super) const COUNT: usize = count();

/// How much they need.
const SIZE: (usize, usize) = {
    let mut pack = Pack::<0, 0>::new();
    pack.families();
    (pack.at, pack.hatched)
};

#[allow(long_running_const_eval, reason = "it is bounded by the tables")]
const PACK: Pack<{ SIZE.0 }, { SIZE.1 }> = {
    let mut pack = Pack::new();
    pack.families();
    pack
};

static BYTES: [u8; SIZE.0] = PACK.bytes;
static STARTS: [u32; COUNT] = PACK.starts;
static HATCHES: [Option<Hatch>; SIZE.1] = PACK.hatches;
static MADE: [OnceLock<Option<&'static Row>>; COUNT] = [const { OnceLock::new() }; COUNT];

/// The row of this index.
pub(super) fn row(index: usize) -> Option<&'static Row> {
    *MADE.get(index)?.get_or_init(|| Some(Box::leak(Box::new(reader(index)?.row()?))))
}

/// Whether the row of this index has this name.
pub(super) fn is_named(index: usize, name: &str) -> bool {
    let found = || {
        let mut reader = reader(index)?;
        (0..reader.count()?).find_map(|_| (reader.text()? == name).then_some(()))
    };
    found().is_some()
}

fn reader(index: usize) -> Option<Reader> {
    Some(Reader { rest: BYTES.get(*STARTS.get(index)? as usize..)? })
}

const fn count() -> usize {
    let (mut rows, mut family) = (0, 0);
    while family < FAMILIES.len() {
        rows += FAMILIES[family].len();
        family += 1;
    }
    rows
}

/// The packed tables; of size 0 it only measures.
struct Pack<const BYTES: usize, const HATCHES: usize> {
    bytes: [u8; BYTES],
    at: usize,
    starts: [u32; COUNT],
    hatches: [Option<Hatch>; HATCHES],
    hatched: usize,
}

#[allow(clippy::cast_possible_truncation, reason = "each is asserted where it could be")]
impl<const BYTES: usize, const HATCHES: usize> Pack<BYTES, HATCHES> {
    const fn new() -> Self {
        Self { bytes: [0; BYTES], at: 0, starts: [0; COUNT], hatches: [None; HATCHES], hatched: 0 }
    }

    const fn families(&mut self) {
        let (mut index, mut family) = (0, 0);
        while family < FAMILIES.len() {
            let mut row = 0;
            while row < FAMILIES[family].len() {
                self.starts[index] = self.at as u32;
                self.row(&FAMILIES[family][row]);
                index += 1;
                row += 1;
            }
            family += 1;
        }
    }

    const fn byte(&mut self, byte: u8) {
        if BYTES > 0 {
            self.bytes[self.at] = byte;
        }
        self.at += 1;
    }

    const fn number(&mut self, number: usize) {
        assert!(number < 1 << 16);
        self.byte(number as u8);
        self.byte((number >> 8) as u8);
    }

    const fn text(&mut self, text: &str) {
        let text = text.as_bytes();
        assert!(text.len() < 1 << 8);
        self.byte(text.len() as u8);
        if BYTES > 0 {
            self.bytes.split_at_mut(self.at).1.split_at_mut(text.len()).0.copy_from_slice(text);
        }
        self.at += text.len();
    }

    const fn texts(&mut self, texts: &[&str]) {
        self.number(texts.len());
        let mut index = 0;
        while index < texts.len() {
            self.text(texts[index]);
            index += 1;
        }
    }

    const fn cause(&mut self, cause: Option<Cause>) {
        match cause {
            Some(cause) => self.byte(cause as u8),
            None => self.byte(NONE),
        }
    }

    const fn option(&mut self, option: &OptionSpec<'_>) {
        self.text(option.short);
        self.text(option.long);
        self.byte(option.takes as u8);
        self.number(option.adds.bits() as usize);
        self.number(option.drops.bits() as usize);
        self.byte(option.role as u8);
        self.cause(option.opaque);
        self.number(option.traits.bits() as usize & 0xffff);
        self.number(option.traits.bits() as usize >> 16);
        self.texts(option.only);
        self.texts(option.except);
    }

    const fn row(&mut self, row: &CommandSpec<'_>) {
        self.texts(row.names);
        self.number(row.classes.bits() as usize);
        self.byte(if row.bare.is_some() { 1 } else { 0 });
        if let Some(bare) = row.bare {
            self.number(bare.bits() as usize);
        }
        self.byte(if row.tool.is_some() { 1 } else { 0 });
        if let Some(tool) = row.tool {
            self.text(tool);
        }
        self.number(row.traits.bits() as usize & 0xffff);
        self.number(row.traits.bits() as usize >> 16);
        self.byte(row.style as u8);
        match row.unknown {
            Unknown::Opaque => self.byte(0),
            Unknown::Ignored => self.byte(1),
            Unknown::Adds(classes) => {
                self.byte(2);
                self.number(classes.bits() as usize);
            }
        }
        self.text(row.switches);
        self.texts(row.longs);
        self.text(row.values);
        self.texts(row.long_values);
        self.number(row.options.len());
        let mut index = 0;
        while index < row.options.len() {
            self.option(&row.options[index]);
            index += 1;
        }
        self.number(row.operands.first.len());
        let mut index = 0;
        while index < row.operands.first.len() {
            self.byte(row.operands.first[index] as u8);
            index += 1;
        }
        self.byte(row.operands.rest as u8);
        match row.operands.last {
            Some(role) => self.byte(role as u8),
            None => self.byte(NONE),
        }
        self.number(row.subcommands.len());
        let mut index = 0;
        while index < row.subcommands.len() {
            self.row(&row.subcommands[index]);
            index += 1;
        }
        self.cause(row.opaque);
        self.byte(if row.hatch.is_some() { 1 } else { 0 });
        if row.hatch.is_some() {
            self.number(self.hatched);
            if HATCHES > 0 {
                self.hatches[self.hatched] = row.hatch;
            }
            self.hatched += 1;
        }
    }
}

/// What is left of the bytes. Everything read is `None` where they do not hold it.
struct Reader {
    rest: &'static [u8],
}

impl Reader {
    fn take(&mut self, length: usize) -> Option<&'static [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }

    fn count(&mut self) -> Option<usize> {
        self.number().map(usize::from)
    }

    fn text(&mut self) -> Option<&'static str> {
        let length = self.byte()?;
        std::str::from_utf8(self.take(usize::from(length))?).ok()
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<&'static [T]> {
        let count = self.count()?;
        let mut list = Vec::with_capacity(count);
        for _ in 0..count {
            list.push(item(self)?);
        }
        Some(list.leak())
    }

    fn texts(&mut self) -> Option<&'static [&'static str]> {
        self.list(Self::text)
    }

    fn classes(&mut self) -> Option<OpSet> {
        self.number().map(OpSet::from_bits)
    }

    fn traits(&mut self) -> Option<Traits> {
        let (low, high) = (self.number()?, self.number()?);
        Some(Traits::from_bits(u32::from(high) << 16 | u32::from(low)))
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// One of `all`, by its place among them.
    fn one<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        all.get(usize::from(self.byte()?)).copied()
    }

    /// As [`Self::one`], or none at all.
    fn perhaps<T: Copy>(&mut self, all: &[T]) -> Option<Option<T>> {
        match self.byte()? {
            NONE => Some(None),
            index => all.get(usize::from(index)).copied().map(Some),
        }
    }

    fn option(&mut self) -> Option<OptionSpec<'static>> {
        Some(OptionSpec {
            short: self.text()?,
            long: self.text()?,
            takes: self.one(&Takes::ALL)?,
            adds: self.classes()?,
            drops: self.classes()?,
            role: self.one(&Role::ALL)?,
            opaque: self.perhaps(&Cause::ALL)?,
            traits: self.traits()?,
            only: self.texts()?,
            except: self.texts()?,
        })
    }

    fn row(&mut self) -> Option<Row> {
        Some(CommandSpec {
            names: self.texts()?,
            classes: self.classes()?,
            bare: if self.flag()? { Some(self.classes()?) } else { None },
            tool: if self.flag()? { Some(self.text()?) } else { None },
            traits: self.traits()?,
            style: self.one(&Style::ALL)?,
            unknown: match self.byte()? {
                0 => Unknown::Opaque,
                1 => Unknown::Ignored,
                2 => Unknown::Adds(self.classes()?),
                _ => return None,
            },
            switches: self.text()?,
            longs: self.texts()?,
            values: self.text()?,
            long_values: self.texts()?,
            options: self.list(Self::option)?,
            operands: Operands {
                first: self.list(|reader| reader.one(&Role::ALL))?,
                rest: self.one(&Role::ALL)?,
                last: self.perhaps(&Role::ALL)?,
            },
            subcommands: self.list(Self::row)?,
            opaque: self.perhaps(&Cause::ALL)?,
            hatch: if self.flag()? { *HATCHES.get(self.count()?)? } else { None },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_unpacked_as_it_was_written() {
        let written: Vec<&Row> = FAMILIES.iter().flat_map(|family| family.iter()).collect();
        assert_eq!(written.len(), COUNT);
        for (index, written) in written.iter().enumerate() {
            let unpacked = row(index).unwrap_or_else(|| panic!("{:?} cannot be unpacked", written.names));
            // With the addresses of the hatches.
            assert_eq!(format!("{unpacked:?}"), format!("{written:?}"));
            assert!(written.names.iter().all(|name| is_named(index, name)) && !is_named(index, ""));
        }
        assert!(row(COUNT).is_none());
    }

    #[test]
    fn a_number_means_the_same_in_both_directions() {
        fn each<T: Copy>(all: &[T], number: fn(T) -> u8) {
            assert!(all.iter().enumerate().all(|(index, one)| index == usize::from(number(*one))));
        }
        each(&Role::ALL, |role| role as u8);
        each(&Takes::ALL, |takes| takes as u8);
        each(&Style::ALL, |style| style as u8);
        each(&Cause::ALL, |cause| cause as u8);
    }

    #[test]
    fn bytes_that_are_no_row_are_none() {
        let whole = reader(0).unwrap().rest;
        for length in 0..40 {
            assert!(Reader { rest: &whole[..length] }.row().is_none(), "{length}");
        }
        assert!(Reader { rest: &[0xff; 64] }.row().is_none());
    }
}
