//! How many tool decisions (state × tool, by the name that a harness gives) one core makes in a second, of the state's
//! law alone and of the engine with its session; how many steps; and how long a workflow takes to load, compile and
//! answer. `cargo bench --bench decision`.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a measuring program"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use swbox::engine::{Call, Event, Reply, Session, What, Workflow, decide, step};
use swbox::policy::{Decision, Policy, RuleSet};
use swbox::workflow::builtin::builtin;
use swbox::workflow::load;

/// Names as harnesses call them: snake case, harness spellings, aliases, session tools, sentinels, strangers.
const TOOLS: [&str; 16] = [
    "read_file",
    "Write",
    "MultiEdit",
    "Bash",
    "exec_command",
    "apply_patch",
    "Grep",
    "WebFetch",
    "git_commit",
    "deploy",
    "TodoWrite",
    "__DESTRUCTIVE__",
    "NotebookEdit",
    "LS",
    "mcp__github__create_issue",
    "no_such_tool",
];

const BUDGET: f64 = 10_000_000.0;

/// The best of many short rounds: what the core does when it is not taken away in between.
fn best(rounds: usize, mut round: impl FnMut() -> f64) -> f64 {
    (0..rounds).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// Seconds for one decision.
fn decision() -> f64 {
    let machine = load(builtin("bugfix").unwrap().source.as_bytes()).unwrap().machine;
    let policy = Policy::compile(&machine, RuleSet::default()).unwrap();
    let states: Vec<_> = machine.states.keys().map(|name| policy.state(name).unwrap()).collect();
    best(200, || {
        let (mut asked, mut allowed) = (0_usize, 0_usize);
        let start = Instant::now();
        while asked < 20_000 {
            for law in &states {
                for tool in TOOLS {
                    allowed += usize::from(black_box(law).decide(black_box(tool)) == Decision::Allow);
                    asked += 1;
                }
            }
        }
        black_box(allowed);
        start.elapsed().as_secs_f64() / asked as f64
    })
}

/// Seconds for one decision of the engine: session, limits and state.
fn engine_decision() -> f64 {
    let machine = load(thirty_states().as_bytes()).unwrap().machine;
    let workflow = Workflow::new(machine);
    let session = Session::start(&workflow, "s", 0);
    best(200, || {
        let (mut asked, mut allowed) = (0_usize, 0_usize);
        let start = Instant::now();
        while asked < 20_000 {
            for tool in TOOLS {
                let decision = decide(black_box(&workflow), black_box(&session), black_box(tool));
                allowed += usize::from(decision == Decision::Allow);
                asked += 1;
            }
        }
        black_box(allowed);
        start.elapsed().as_secs_f64() / asked as f64
    })
}

/// Seconds for one step: a call that is counted and let go.
fn one_step() -> f64 {
    let workflow = Workflow::new(load(builtin("bugfix").unwrap().source.as_bytes()).unwrap().machine);
    let mut session = Session::start(&workflow, "s", 0);
    let call = Call {
        call: "c1".into(),
        tool: "Read".into(),
        decision: Decision::Allow,
        counts: true,
        writes: false,
        edit: None,
        command: None,
        question: None,
        held: None,
        background: false,
    };
    let event = Event { at: 1, id: "e1".into(), what: What::Call(call) };
    best(200, || {
        let start = Instant::now();
        for _ in 0..1000 {
            let stepped = step(&workflow, session.clone(), black_box(&event));
            assert!(stepped.reply == Reply::Allowed);
            session = stepped.session;
        }
        start.elapsed().as_secs_f64() / 1000.0
    })
}

/// A chain of thirty states with the tools of `bugfix` in turn.
fn thirty_states() -> String {
    let mut text = String::from("{\"id\": \"long\", \"initial\": \"s0\", \"states\": {");
    for at in 0..29 {
        let tools =
            ["\"read_file\", \"grep\"", "\"read_file\", \"write_file\"", "\"read_file\", \"run_test\""]
                [at % 3];
        let _ = write!(
            text,
            "\"s{at}\": {{\"allowed_tools\": [{tools}], \"instructions\": \"Step {at} of the work.\", \
             \"on\": {{\"NEXT\": \"s{}\", \"BACK\": \"s0\", \"FAIL\": \"failed\"}}}},",
            at + 1
        );
    }
    text + "\"s29\": {\"type\": \"final\"}, \"failed\": {\"type\": \"final\"}}}"
}

/// Seconds from the bytes of a workflow to an answer.
fn load_to_answer(text: &str) -> f64 {
    best(200, || {
        let start = Instant::now();
        let machine = load(black_box(text.as_bytes())).unwrap().machine;
        let policy = Policy::compile(&machine, RuleSet::default()).unwrap();
        let first = policy.require_state(&machine.initial).unwrap();
        black_box(policy.decide_tool(first, "write_file"));
        start.elapsed().as_secs_f64()
    })
}

fn main() -> std::process::ExitCode {
    let rate = 1.0 / decision();
    let thirty = load_to_answer(&thirty_states()) * 1e6;
    let bugfix = load_to_answer(builtin("bugfix").unwrap().source) * 1e6;
    let engine = 1.0 / engine_decision();
    println!("tool decisions        {:>8.1} million/s   (budget >= {:.0})", rate / 1e6, BUDGET / 1e6);
    println!("engine decisions      {:>8.1} million/s   (budget >= {:.0})", engine / 1e6, BUDGET / 1e6);
    println!("steps with a clone    {:>8.2} million/s", 1e-6 / one_step());
    println!("30 states, to answer  {thirty:>8.1} µs          (budget <= 300)");
    println!("bugfix, to answer     {bugfix:>8.1} µs");
    if rate < BUDGET || engine < BUDGET || thirty > 300.0 {
        println!("over budget");
        return std::process::ExitCode::FAILURE;
    }
    std::process::ExitCode::SUCCESS
}
