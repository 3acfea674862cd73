//! Oracle: every argv that bash runs is among the segments, or the script is not trusted, or it is opaque.

use swbox::shell::{Trust, parse};

use super::fragments::DAMAGE;
use super::generator::{Generator, Random};
use super::{Budget, matcher, runner, seed};

#[test]
fn executed() {
    let place = runner::Place::new("executed");
    let traps = lines();
    let budget = Budget::rounds(250);
    let first = seed();
    let (mut scripts, mut trusted, mut programs, mut misses, mut late) =
        (0_usize, 0_usize, 0_usize, 0_usize, 0_usize);
    let mut report = std::time::Instant::now();
    while budget.allows(scripts) {
        let seed = first.wrapping_add(scripts as u64);
        scripts += 1;
        let source = script_of(seed, &traps);
        let script = parse(&source);
        // what `eval` runs is for classification to unwrap
        if script.trust != Trust::Trusted || script.opaque.is_some() || source.contains("eval") {
            continue;
        }
        trusted += 1;
        let Some(argvs) = runner::executed(&place, &source) else {
            late += 1;
            continue;
        };
        programs += argvs.len();
        let missed: Vec<_> = argvs
            .iter()
            .filter(|argv| !script.segments.iter().any(|segment| matcher::matches(segment, argv)))
            .collect();
        if !missed.is_empty() {
            misses += 1;
            println!("MISS seed {seed}: ran {missed:?}\n  source {source:?}");
            for segment in &script.segments {
                let words: Vec<_> = segment.argv.iter().map(|arg| &arg.value).collect();
                println!("    {words:?}");
            }
        }
        if report.elapsed().as_secs() >= 60 {
            report = std::time::Instant::now();
            println!(
                "scripts {scripts}, trusted {trusted}, programs run {programs}, late {late}, misses {misses}"
            );
        }
    }
    println!("scripts {scripts}, trusted {trusted}, programs run {programs}, late {late}, misses {misses}");
    assert_eq!(misses, 0);
    assert!(trusted * 2 > scripts, "too few scripts are trusted to say anything");
}

/// A generated script, or lines of the corpus joined and damaged.
fn script_of(seed: u64, traps: &[String]) -> String {
    let mut random = Random::new(!seed);
    if !random.chance(30) {
        return Generator::new(seed).script();
    }
    let mut text = String::new();
    for _ in 0..=random.below(2) {
        text += &traps[random.below(traps.len())];
        text += random.pick(&["\n", "\n", "; ", " && ", " | ", "\n\n"]);
    }
    for _ in 0..random.below(2) {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        text.insert_str(places[random.below(places.len())], random.pick(DAMAGE));
    }
    text
}

/// Lines with one construct each, and the hidden ones: what bash runs is seen, and what bash accepts is trusted.
#[test]
fn executed_lines() {
    let place = runner::Place::new("lines");
    let mut wrong = Vec::new();
    let mut programs = 0;
    for source in lines() {
        let script = parse(&source);
        if script.trust != Trust::Trusted {
            if runner::accepts(&source) {
                wrong.push(format!("not trusted: {source:?} {:?}", script.trust));
            }
            continue;
        }
        let Some(argvs) = runner::executed(&place, &source) else { continue };
        programs += argvs.len();
        for argv in argvs {
            let seen = script.segments.iter().any(|segment| matcher::matches(segment, &argv));
            if !seen && script.opaque.is_none() {
                wrong.push(format!("ran {argv:?}: {source:?} {:?}", script.segments));
            }
        }
    }
    println!("programs run {programs}");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(programs > 500);
}

fn lines() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let traps = std::fs::read_to_string(folder.join("traps.txt")).unwrap();
    let hidden = std::fs::read_to_string(folder.join("hidden.txt")).unwrap();
    let hidden = hidden.lines().filter_map(|line| line.split_once('\t')).map(|(_, text)| text);
    let lines = traps.lines().chain(hidden).filter(|line| !line.is_empty());
    lines.map(|line| line.replace('⏎', "\n").replace('→', "\t")).collect()
}
