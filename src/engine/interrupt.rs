//! Interrupts: a written file moves the session, whatever program wrote it, and `$return` leads back.
//!
//! Danger: one that is lost is a law that was not applied; one that fires in its own handler never ends.

use serde_json::Value;

use super::change::Move;
use super::effect::{Fact, NoticeCode, Reply};
use super::session::{Cause, Destination, Frame, Queued};
use super::step::Run;
use super::{MAX_FIRING, MAX_INTERRUPTS};
use crate::workflow::glob;
use crate::workflow::model::Interrupt;

/// The files among `paths` that fire an interrupt.
fn matching(interrupt: &Interrupt, paths: &[&str]) -> Vec<String> {
    let fires = |path: &&&str| interrupt.file_patterns.iter().any(|pattern| glob::matches(pattern, path));
    paths.iter().filter(fires).take(MAX_FIRING).map(|path| (*path).to_owned()).collect()
}

/// Whether the frame is where the interrupt leads, or handles it.
fn handles(frame: &Frame, name: &str, target: &str) -> bool {
    frame.state == target || frame.stack.iter().any(|back| back.interrupt == name)
}

impl Run<'_> {
    /// Queues what the files fire, in every workflow that runs or waits, and fires what can.
    pub(super) fn fire(&mut self, paths: &[&str]) {
        if paths.is_empty() || self.session.is_over() {
            return;
        }
        let workflow = self.workflow;
        let mut queued = Vec::new();
        let frames = std::iter::once(&mut self.session.current).chain(&mut self.session.callers);
        for frame in frames {
            let Some(machine) = workflow.machine(&frame.workflow) else { continue };
            for (name, interrupt) in &machine.interrupts {
                let files = matching(interrupt, paths);
                if files.is_empty() || handles(frame, name, &interrupt.target) {
                    continue;
                }
                queued.push(Fact::Queued { interrupt: name.clone(), files: files.clone() });
                match frame.queue.iter_mut().find(|present| present.interrupt == *name) {
                    Some(present) => {
                        let new = files.into_iter().filter(|file| !present.files.contains(file));
                        let room = MAX_FIRING.saturating_sub(present.files.len());
                        let new: Vec<String> = new.take(room).collect();
                        present.files.extend(new);
                    }
                    None => {
                        let height = frame.stack.len();
                        frame.queue.push(Queued { interrupt: name.clone(), files, height });
                    }
                }
            }
        }
        for fact in queued {
            self.record(fact);
        }
        self.drain();
    }

    /// Fires the first waiting interrupt whose turn it is.
    pub(super) fn drain(&mut self) {
        let height = self.session.current.stack.len();
        self.fire_first(|queued| queued.height >= height);
    }

    /// Fires a waiting interrupt before the workflow ends well; whether one fired.
    pub(super) fn fire_before_the_end(&mut self) -> bool {
        self.fire_first(|_| true)
    }

    fn fire_first(&mut self, may: impl Fn(&Queued) -> bool) -> bool {
        let workflow = self.workflow;
        let Some(machine) = workflow.machine(&self.session.current.workflow) else { return false };
        let mut at = 0;
        while let Some(queued) = self.session.current.queue.get(at) {
            if self.session.is_over()
                || self.session.fork.is_some()
                || self.moves()
                || self.session.current.stack.len() >= MAX_INTERRUPTS
            {
                return false;
            }
            let target = machine.interrupts.get(&queued.interrupt).map(|interrupt| &interrupt.target);
            let Some(target) =
                target.filter(|target| !handles(&self.session.current, &queued.interrupt, target))
            else {
                let dropped = self.session.current.queue.remove(at);
                self.record(Fact::Dropped { interrupt: dropped.interrupt });
                continue;
            };
            if !may(queued) {
                at += 1;
                continue;
            }
            let queued = self.session.current.queue.remove(at);
            let cause = Cause::Interrupt { interrupt: queued.interrupt.clone(), files: queued.files.clone() };
            let wanted = Move { cause, to: Destination::State(target.clone()), data: Value::Null };
            match self.go(wanted) {
                Ok(Reply::Moved { .. }) => {
                    let text = format!(
                        "the interrupt {} leads to {target:?} because of {}",
                        queued.interrupt,
                        some(&queued.files)
                    );
                    self.notice(NoticeCode::Interrupted, text);
                    return true;
                }
                Ok(_) => return true,
                Err(_) => {
                    // A command that runs yet: its turn comes when that ends.
                    self.session.current.queue.insert(at, queued);
                    return false;
                }
            }
        }
        false
    }

    /// The answer to a request that a waiting interrupt overtook.
    pub(super) fn moved_by_interrupt(&self) -> Reply {
        match &self.session.pending {
            Some(pending) => Reply::Waiting { request: pending.id.clone(), on: super::WaitOn::Jobs },
            None => {
                let back = self.session.current.stack.last();
                let cause = Cause::Interrupt {
                    interrupt: back.map_or_else(String::new, |back| back.interrupt.clone()),
                    files: back.map_or_else(Vec::new, |back| back.files.clone()),
                };
                Reply::Moved {
                    from: back.map_or_else(String::new, |back| back.state.clone()),
                    to: self.session.current.state.clone(),
                    cause,
                }
            }
        }
    }
}

/// The first files of a list, for a message.
fn some(files: &[String]) -> String {
    const SHOWN: usize = 3;
    let mut text = files.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if files.len() > SHOWN {
        text.push_str(&format!(" and {} more", files.len() - SHOWN));
    }
    text
}
