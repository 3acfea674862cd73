//! How a run is watched: the cheapest way that state, session, profile and caller need. Pure.
//!
//! Danger: what is not watched is not judged either. Whoever decides by what programs are given asks
//! [`Choice::sees_programs`] first.

use crate::classify::{Classification, ClassifiedSegment, OpClass, OpSet, registry};
use crate::policy::Rights;
use crate::service::request::Observe;
use crate::shell::Trust;
use crate::supervisor::Mode;
use crate::workflow::model;

/// How a run is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// By which mechanism.
    pub mode: Mode,
    /// Whether each open for reading is seen as well.
    pub reads: bool,
}

/// What wants to be known of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::service) struct Needs {
    /// The decision depends on what programs are given.
    pub(in crate::service) programs: bool,
    /// The session depends on which files are touched.
    pub(in crate::service) touched: bool,
    /// Somebody listens to events.
    pub(in crate::service) events: bool,
    /// A read was missed before: it is to be seen this time.
    pub(in crate::service) reads: bool,
    /// The command could be refused something that only a look from outside explains.
    pub(in crate::service) acts: bool,
}

impl Choice {
    /// Nobody watches.
    pub const OFF: Self = Self { mode: Mode::Off, reads: false };

    /// Whether programs are seen before they begin.
    pub fn sees_programs(self) -> bool {
        self.mode != Mode::Off
    }

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match (self.mode, self.reads) {
            (Mode::Off, _) => "off",
            (Mode::Notify, false) => "notify",
            (Mode::Notify, true) => "reads",
            (Mode::Trace, _) => "trace",
        }
    }
}

/// Chooses.
pub(in crate::service) fn choose(
    asked: Observe,
    state: &[model::Observe],
    profile: &[model::Observe],
    needs: Needs,
) -> Choice {
    let wants = |what: model::Observe| state.contains(&what) || profile.contains(&what);
    let reads = wants(model::Observe::Reads) || needs.reads;
    match asked {
        Observe::Off => Choice::OFF,
        Observe::Notify => Choice { mode: Mode::Notify, reads },
        Observe::Reads => Choice { mode: Mode::Notify, reads: true },
        Observe::Trace => Choice { mode: Mode::Trace, reads },
        Observe::Auto if wants(model::Observe::Trace) => Choice { mode: Mode::Trace, reads },
        Observe::Auto if reads || needs.programs || needs.touched || needs.events || needs.acts => {
            Choice { mode: Mode::Notify, reads }
        }
        Observe::Auto => Choice::OFF,
    }
}

/// Whether a command could do more than look: only of a line whose every program is bound to reading is it known that
/// it could not, as far as swbox's own tables say. A row of a profile is somebody's word; and where narrowing took a right
/// away that the state gives, what fails by that must be told.
pub(in crate::service) fn acts(line: &Classification, rights: &Rights) -> bool {
    const LOOKING: OpSet = OpSet::of(&[
        OpClass::FileRead,
        OpClass::ContentSearch,
        OpClass::FileSearch,
        OpClass::GitRead,
        OpClass::Passthrough,
    ]);
    let bound = line
        .segments
        .iter()
        .all(|segment| segment.closed || segment.pure || segment.stdin_filter || segment.effect_free);
    let known = |segment: &ClassifiedSegment| {
        segment.effect_free || segment.program.is_empty() || registry::lookup(&segment.program).is_some()
    };
    let bound = bound && line.segments.iter().all(known) && rights.narrowed.is_empty();
    line.trust != Trust::Trusted || line.opaque.is_some() || !bound || !line.classes.is_subset(LOOKING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{Environment, classify_line};
    use crate::policy::{NetworkRight, WorkspaceRight};

    #[test]
    fn auto_takes_the_cheapest_that_is_enough() {
        let auto = |needs| choose(Observe::Auto, &[], &[], needs).name();
        assert_eq!(auto(Needs::default()), "off");
        for needs in [
            Needs { programs: true, ..Needs::default() },
            Needs { touched: true, ..Needs::default() },
            Needs { events: true, ..Needs::default() },
            Needs { acts: true, ..Needs::default() },
        ] {
            assert_eq!(auto(needs), "notify", "{needs:?}");
        }
        assert_eq!(auto(Needs { reads: true, ..Needs::default() }), "reads");
        let reads = [model::Observe::Reads];
        let trace = [model::Observe::Trace];
        assert_eq!(choose(Observe::Auto, &reads, &[], Needs::default()).name(), "reads");
        assert_eq!(choose(Observe::Auto, &[], &trace, Needs::default()).name(), "trace");
        assert_eq!(choose(Observe::Notify, &trace, &reads, Needs::default()).name(), "reads");
    }

    #[test]
    fn off_is_off_whatever_wants_to_know() {
        let all = Needs { programs: true, touched: true, events: true, reads: true, acts: true };
        let asked = [model::Observe::Reads, model::Observe::Trace];
        assert_eq!(choose(Observe::Off, &asked, &asked, all), Choice::OFF);
    }

    #[test]
    fn a_line_that_can_only_look_needs_no_watch() {
        let mut rights = Rights {
            workspace: WorkspaceRight::Read,
            git_write: false,
            network: NetworkRight::None,
            narrowed: Vec::new(),
        };
        let acts = |text: &str, rights: &Rights| acts(&classify_line(text, &Environment::default()), rights);
        for quiet in ["cat f | grep -n x | head -3", "git log --oneline | head", "cd x && ls -la", "true"] {
            assert!(!acts(quiet, &rights), "{quiet}");
        }
        for loud in
            ["python3 x.py", "cat f > g", "make", "rm x", "curl -s https://x.example", "./run", "$cmd"]
        {
            assert!(acts(loud, &rights), "{loud}");
        }
        rights.narrowed.push("write");
        assert!(acts("cat f", &rights), "the state would have let it");
    }
}
