//! Hostile scripts: each program in them is a marker `P1`, `P2`, … that exists nowhere.

use super::fragments::{
    BODY, DAMAGE, DELIMITERS, EXPANSIONS, LOOP_BODY, LOOP_WORDS, PREFIXES, REDIRECTS, SEPARATORS, WORDS,
};

/// A small deterministic generator (splitmix64).
pub(crate) struct Random(u64);

const fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        // neighbouring seeds must not give shifted sequences
        Self(mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap_or(0)
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// Writes one script.
pub(crate) struct Generator {
    random: Random,
    markers: usize,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), markers: 0 }
    }

    /// A whole script; a fifth of them are damaged in one place.
    pub(crate) fn script(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..=self.random.below(2) {
            let depth = self.random.below(3);
            if self.random.chance(25) {
                text += &self.heredoc();
            } else if self.random.chance(20) {
                text += &self.looping();
                text.push('\n');
            } else {
                text += &self.list(depth);
                text.push('\n');
            }
        }
        if self.random.chance(30) {
            let cut: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let at = cut[self.random.below(cut.len())];
            let insert = self.random.pick(DAMAGE);
            text.insert_str(at, insert);
        }
        text
    }

    fn marker(&mut self) -> String {
        self.markers += 1;
        format!("P{}", self.markers)
    }

    /// A template with a marker or a nested list in place of each `@`.
    fn fill(&mut self, template: &str, depth: usize) -> String {
        let mut text = String::new();
        for (index, part) in template.split('@').enumerate() {
            // `$@`, `[@]` are no places
            if index > 0 {
                if text.ends_with('$') || text.ends_with('[') {
                    text.push('@');
                } else if depth > 0 && self.random.chance(25) && !template.contains('`') {
                    text += &self.list(depth - 1);
                } else {
                    text += &self.marker();
                }
            }
            text += part;
        }
        text
    }

    fn word(&mut self, depth: usize) -> String {
        if depth > 0 || self.random.chance(30) {
            let template = self.random.pick(EXPANSIONS);
            return self.fill(template, depth.saturating_sub(1));
        }
        let mut word = self.random.pick(WORDS).to_owned();
        if self.random.chance(15) {
            word += self.random.pick(WORDS);
        }
        word
    }

    fn redirect(&mut self) -> String {
        let template = self.random.pick(REDIRECTS);
        self.fill(template, 0)
    }

    fn simple(&mut self, depth: usize) -> String {
        let mut parts = Vec::new();
        if self.random.chance(20) {
            let template = self.random.pick(PREFIXES);
            let prefix = if self.random.chance(80) { self.fill(template, 0) } else { self.redirect() };
            parts.push(prefix);
        }
        parts.push(match self.random.below(30) {
            0 => format!("{{{},a}}", self.marker()),
            1 => format!("'{}'", self.marker()),
            2 => format!("\\{}", self.marker()),
            3 => format!("A={}; $A", self.marker()),
            4 => format!("$'{}'", self.marker()),
            5 => format!("\"{}\"", self.marker()),
            _ => self.marker(),
        });
        for _ in 0..self.random.below(3) {
            let part = if self.random.chance(75) {
                let depth = if self.random.chance(35) { depth } else { 0 };
                self.word(depth)
            } else {
                self.redirect()
            };
            parts.push(part);
        }
        parts.join(if self.random.chance(5) { " \\\n" } else { " " })
    }

    fn command(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.chance(45) {
            return self.simple(depth);
        }
        let body = self.list(depth - 1);
        let mut text = match self.random.below(34) {
            0 => format!("{{ {body}; }}"),
            1 => format!("( {body} )"),
            2 => format!("({body})"),
            3 => format!("if {}; then {body}; fi", self.simple(0)),
            4 => format!(
                "if {}; then {}; elif {}; then :; else {body}; fi",
                self.simple(0),
                self.simple(0),
                self.simple(0)
            ),
            5 => format!("for i in a b; do {body}; done"),
            6 => format!("for i in {} $({}); do\n{body}\ndone", self.word(0), self.marker()),
            7 => format!("while {}; do {body}; break; done", self.simple(0)),
            8 => format!("case x in x) {body};; y|z) {};; esac", self.marker()),
            9 => format!("case x in\n (y) {};;\n x|$({})) {body}\n ;;\nesac", self.marker(), self.marker()),
            10 => format!("case x in x) {body};& y) {};;& *) {}; esac", self.marker(), self.marker()),
            11 => format!("! {{ {body}; }}"),
            12 => format!("time {{ {body}; }}"),
            13 => format!("time -p {}", self.marker()),
            14 => format!("! {}", self.marker()),
            15 => format!("f() {{ {body}; }}; f"),
            16 => format!("function g {{ {body}; }}\ng"),
            17 => format!("[[ -n $({}) ]] && {}", self.marker(), self.marker()),
            18 => format!("for i in 1; {{ {body}; }}"),
            19 => format!("until {body}; do break; done"),
            20 => format!("((1<<2)); {}", self.marker()),
            21 => format!("(( $({}) + 1 > 2 )) || {}", self.marker(), self.marker()),
            22 => format!("for ((i=0;i<1;i++)); do {body}; done"),
            23 => format!("for ((i=0; i<$({}) 1; i++)) {{ {body}; }}", self.marker()),
            24 => format!("[[ a =~ ^(a|b\" \"c)$ && '$(' != x ]] && {}", self.marker()),
            25 => format!("[[ x == @(x|$({})) || ( a < b ) ]]\n{}", self.marker(), self.marker()),
            26 => format!("coproc {{ {body}; }}; wait"),
            27 => format!("coproc N {{ {}; }}\nwait", self.marker()),
            28 => format!("f() ( {body} )\nf"),
            29 => format!("f() if {}; then {body}; fi\nf", self.marker()),
            30 => format!("function h() {{\n{body}\n}}; h"),
            31 => format!("time {}", self.simple(0)),
            32 => format!("((({}); {}) )", self.marker(), self.marker()),
            _ => format!("if {{ {}; }} then {body}; fi", self.marker()),
        };
        if self.random.chance(15) {
            text.push(' ');
            text += &self.redirect();
        }
        text
    }

    /// A loop over words that are known, whose variable is a verb and an argument, and which may change it; twice in
    /// three with one more such loop or a use of the variable behind it.
    fn looping(&mut self) -> String {
        let name = self.random.pick(&["i", "i", "i", "f", "N", "IFS", "LINES"]);
        let mut text = String::new();
        for _ in 0..=self.random.below(2) {
            let words = self.random.pick(LOOP_WORDS);
            let words = self.fill(words, 0);
            let head = if self.random.chance(20) {
                "for ((§=0; §<2 && z<5; §++, z++)); do ".to_owned()
            } else {
                format!("for § in {words}; do ")
            };
            let mut body = String::new();
            for _ in 0..=self.random.below(4) {
                let template = self.random.pick(LOOP_BODY);
                body += &self.fill(template, 0);
                body += if template.ends_with('\n') {
                    ""
                } else {
                    self.random.pick(&["; ", "\n", " && ", "\n", "; "])
                };
            }
            let before = if self.random.chance(20) { self.random.pick(LOOP_BODY) } else { "" };
            let behind = self.random.pick(&["", "@ $§", "$§", "@ x\"$§\"", "{ @ $§; } >n", "§=@; $§"]);
            let before = self.fill(before, 0);
            let behind = self.fill(behind, 0);
            let end = self.random.pick(&["done", "done", "done >n$§", "done & wait", "done | @ $§"]);
            let end = self.fill(end, 0);
            text += &format!("{before}\n{head}{body}:; {end}\n{behind}\n");
        }
        if self.random.chance(15) {
            text = format!("for j in a {}; do {text} @ $j; done", self.marker());
            text = self.fill(&text, 0);
        }
        // the runner must be able to set it
        text.replace('§', name).replace("readonly IFS", ":")
    }

    fn heredoc(&mut self) -> String {
        let delimiter = self.random.pick(DELIMITERS);
        let dash = self.random.pick(&["", "-"]);
        let rest = self.random.pick(&[
            "",
            " 2>&1",
            " | @",
            " && @",
            "; @",
            " >n && @",
            " | @ | @",
            " x 'y",
            " &",
            " || { @; }",
            " # c'",
            " <<<x",
        ]);
        let rest = if rest == " x 'y" { " x 'y'".to_owned() } else { self.fill(rest, 0) };
        let opener = self.random.pick(&[
            "@ ",
            "",
            "A=1 @ ",
            "{ @; } ",
            "(@) ",
            "while @; do @; break; done ",
            "@ | @ ",
            "! @ ",
        ]);
        let mut text = self.fill(opener, 0);
        text += "<<";
        text += dash;
        text += self.random.pick(&["", "", " "]);
        text += delimiter;
        let second = self.random.chance(10);
        if second {
            text += " <<F";
        }
        text += &rest;
        text.push('\n');
        for _ in 0..self.random.below(4) {
            let template = self.random.pick(BODY);
            text += &self.fill(template, 0);
            text.push('\n');
        }
        if !self.random.chance(4) {
            text += if dash == "-" { self.random.pick(&["EOF\n", "\tEOF\n", "\t\tEOF\n"]) } else { "EOF\n" };
        }
        if second {
            let template = self.random.pick(BODY);
            text += &self.fill(template, 0);
            text += "\nF\n";
        }
        if self.random.chance(10) {
            return format!("{}(\n{text})\n", self.random.pick(&["", "! ", "$", "P0 $", "P0 <"]));
        }
        text
    }

    fn list(&mut self, depth: usize) -> String {
        let mut text = self.command(depth);
        for _ in 0..self.random.below(3) {
            text += self.random.pick(SEPARATORS);
            text += &self.command(depth.saturating_sub(1));
        }
        text
    }
}
