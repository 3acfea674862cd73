//! Files as others publish them: forty calls each, and the session is alive. Small `max_iterations`, `safe_next` into a
//! final state, no `failed` state, globs in `allowed_commands`, `Bash` without a list, wrapped definitions, free keys.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use swbox::classify::{Environment, classify_line};
use swbox::engine::{
    Answer, Call, Edit, Ended, Event, Held, NoticeCode, Reply, Session, Touch, Transition, What, Workflow,
    step,
};
use swbox::policy::{Decision, Policy, RightsRequest, RuleSet};
use swbox::workflow::load;

const WORKSPACE: &str = "/work/project";

/// Calls that an agent makes while it works, by tool: shell lines and native tools.
const CALLS: [(&str, &str); 10] = [
    ("Read", "src/app.py"),
    ("Bash", "ls -la"),
    ("Grep", "TODO"),
    ("Bash", "cat src/app.py | head -50"),
    ("Edit", "src/app.py"),
    ("Bash", "pytest -x -q 2>&1 | tail -5"),
    ("TodoWrite", ""),
    ("Bash", "git status && git diff --stat"),
    ("Bash", "grep -rn name src"),
    ("Write", "src/new.py"),
];

struct Agent {
    workflow: Workflow,
    session: Session,
    count: u64,
    notices: Vec<NoticeCode>,
    allowed: usize,
}

impl Agent {
    fn new(text: &str) -> Self {
        let loaded = load(text.as_bytes()).unwrap_or_else(|all| panic!("{text}\n{all:#?}"));
        let workflow = Workflow::new(loaded.machine);
        let session = Session::start(&workflow, "s", 0);
        Self { workflow, session, count: 0, notices: Vec::new(), allowed: 0 }
    }

    fn send(&mut self, what: What) -> Reply {
        self.count += 1;
        let event = Event { at: self.count * 1000, id: format!("e{}", self.count), what };
        let stepped = step(&self.workflow, self.session.clone(), &event);
        self.session = stepped.session;
        self.notices.extend(stepped.effects.iter().filter_map(|effect| match effect {
            swbox::engine::Effect::Notice(notice) => Some(notice.code),
            _ => None,
        }));
        stepped.reply
    }

    fn event(&mut self, event: &str) -> Reply {
        let reply = self.send(What::Transition(Transition { event: event.into(), ..Transition::default() }));
        if let Reply::Parked { approval } = reply {
            let answer = Answer { approval, channel: "terminal".into(), ..Answer::default() };
            return self.send(What::Approve(answer));
        }
        reply
    }

    /// One call as a harness makes it: judged, counted, run, ended.
    fn call(&mut self, tool: &str, what: &str) {
        let machine = self.workflow.machine(&self.session.current.workflow).unwrap().clone();
        let policy = Policy::compile(&machine, RuleSet::default()).unwrap().within(WORKSPACE);
        let law = policy.state(self.session.state()).unwrap();
        let shell = tool == "Bash";
        let environment =
            Environment { cwd: WORKSPACE.into(), home: "/home/u".into(), ..Environment::default() };
        let line = classify_line(if shell { what } else { "" }, &environment);
        let decision = if shell {
            policy.evaluate(law, what, &line).decision
        } else {
            policy.decide_tool(law, tool).decision
        };
        let rights = policy.rights(law, &line, RightsRequest { hosts: &[], narrow: true });
        let edit = matches!(tool, "Edit" | "Write").then(|| Edit { path: what.into(), lines: 3 });
        let touched = edit.iter().map(|edit| Touch { path: edit.path.clone(), kept: true }).collect();
        let id = format!("c{}", self.count);
        let call = Call {
            call: id.clone(),
            tool: tool.into(),
            decision,
            counts: tool != "TodoWrite",
            writes: edit.is_some(),
            edit,
            command: None,
            question: None,
            held: shell.then(|| Held::from(&rights)),
            background: false,
        };
        match self.send(What::Call(call)) {
            Reply::Allowed => {
                self.allowed += 1;
                self.send(What::Ended(Ended { call: id, exit_code: Some(0), touched, ..Ended::default() }));
            }
            Reply::Forbidden => assert_eq!(decision, Decision::Forbidden),
            other => panic!("{tool} {what} in {:?}: {other:?}", self.session.state()),
        }
    }

    fn work(&mut self, calls: usize) {
        for at in 0..calls {
            let (tool, what) = CALLS[at % CALLS.len()];
            self.call(tool, what);
            assert!(!self.session.is_over(), "over after {at} calls: {:?}", self.session.stop);
        }
    }
}

#[test]
fn small_limits_are_checkpoints() {
    let mut agent = Agent::new(
        r#"{"id":"small","initial":"work","states":{
            "work":{"allowed_tools":["Read","Grep","Edit","Write","Bash"],"max_iterations":3,"safe_next":"done","on":{"DONE":"done"}},
            "done":{"type":"final"}}}"#,
    );
    agent.work(40);
    assert_eq!((agent.session.state(), agent.allowed), ("work", 40));
    assert!(agent.notices.contains(&NoticeCode::Checkpoint));
    // Text that is no event does not end it, the event does.
    assert!(matches!(agent.event("I am finished now"), Reply::Refused(_)));
    assert_eq!(agent.session.state(), "work");
    agent.event("DONE");
    assert!(agent.session.is_over());
}

#[test]
fn a_wrapped_file_without_a_failure_state() {
    let mut agent = Agent::new(
        r#"{"definition":{"id":"tdd","initial":"red","context":{"attempt":0,"notes":[]},"states":{
            "red":{"allowed_tools":["Read","Write","Edit","Bash","Grep","Glob"],"allowed_commands":["pytest*","python -m pytest*","git status","git diff*","ls*","cat *"],
                "instructions":"Write a failing test.","max_iterations":1,"on":{"TEST_WRITTEN":{"target":"green","guard":"fails"},"SKIP":"green"}},
            "green":{"allowed_tools":["Read","Edit","Bash"],"allowed_commands":["pytest"],"max_iterations":2,"safe_next":"refactor","on":{"PASS":"refactor","STUCK":"red"}},
            "refactor":{"disallowed_tools":["Write"],"max_iterations":1,"safe_next":"complete","on":{"CLEAN":"complete","MORE":"red"}},
            "complete":{"type":"final"}},
            "guards":{"fails":{"field":"test_failed","op":"eq","value":true}},
            "meta":{"danger_level":"safe","task_type":"tdd","autonomous":true,"debug":false,"orchestration":"plugin","workspace":{"version":1,"mode":"git_worktree"}}},
          "upstream_servers":[{"name":"github","command":"gh-mcp"}]}"#,
    );
    agent.work(40);
    assert_eq!(agent.session.state(), "red");
    assert!(agent.allowed >= 30, "{}", agent.allowed);
    agent.event("skip");
    agent.work(20);
    assert_eq!(agent.session.state(), "green");
    assert_eq!(agent.event("all tests are green, going on"), agent_moved("green", "refactor", "PASS"));
    agent.work(20);
    agent.event("CLEAN");
    assert_eq!((agent.session.state(), agent.session.is_over()), ("complete", true));
}

fn agent_moved(from: &str, to: &str, event: &str) -> Reply {
    let cause = swbox::engine::Cause::Event { event: event.into(), branch: None };
    Reply::Moved { from: from.into(), to: to.into(), cause }
}

#[test]
fn bash_without_a_list_is_bounded_by_the_jail_alone() {
    let mut agent = Agent::new(
        r#"{"id":"loose","initial":"go","states":{"go":{"allowed_tools":["Bash"],"max_iterations":2,"on":{"OK":"end"}},"end":{"type":"final"}},
            "meta":{"danger_level":"moderate","requires_human_approval":false}}"#,
    );
    for _ in 0..4 {
        for line in [
            "python3 -c 'print(1)'",
            "make test",
            "node -e 1",
            "./run.sh",
            "ls",
            "npm test",
            "true",
            "date",
            "cargo test",
            "echo hi",
        ] {
            agent.call("Bash", line);
        }
    }
    assert_eq!((agent.allowed >= 36, agent.session.state()), (true, "go"), "{}", agent.allowed);
}

#[test]
fn a_state_without_any_list_has_the_default_tools() {
    let mut agent = Agent::new(
        r#"{"id":"bare","initial":"a","states":{"a":{"on":{"NEXT":[{"target":"b","guard":"done"},{"target":"a"}]}},
            "b":{"type":"final"}},"guards":{"done":{"field":"ready","op":"exists"}}}"#,
    );
    agent.work(40);
    assert_eq!(agent.allowed, 40);
    agent.event("NEXT");
    assert_eq!(agent.session.state(), "a");
}
