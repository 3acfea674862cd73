//! Oracle: every argv that bash runs is among the segments, or the script is not trusted, or it is opaque.

use swbox::shell::{Trust, parse};

use super::generator::Generator;
use super::{Budget, matcher, runner, seed};

#[test]
fn executed() {
    let place = runner::Place::new("executed");
    let budget = Budget::rounds(250);
    let first = seed();
    let (mut scripts, mut trusted, mut programs, mut misses, mut late) =
        (0_usize, 0_usize, 0_usize, 0_usize, 0_usize);
    let mut report = std::time::Instant::now();
    while budget.allows(scripts) {
        let seed = first.wrapping_add(scripts as u64);
        scripts += 1;
        let source = Generator::new(seed).script();
        let script = parse(&source);
        if script.trust != Trust::Trusted || script.opaque.is_some() {
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
