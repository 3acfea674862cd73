//! What commands of a session share, and what they leave running.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::kit::{good, has_person, json, line, person, replays, start, state, workflow};
use crate::project::{Project, has, ran};

fn wait(what: &str, done: impl FnMut() -> bool) {
    wait_for(Duration::from_secs(60), what, done);
}

fn wait_for(limit: Duration, what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + limit;
    while !done() {
        assert!(Instant::now() < until, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The ids of the jobs that live.
fn jobs(project: &Project) -> Vec<String> {
    let value = json(project, &["jobs", "--json"]);
    value["jobs"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap().to_owned()).collect()
}

/// Processes of this host whose arguments hold `mark`, but those that only name it as they look for it.
fn marked(mark: &str) -> Vec<i32> {
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(id) = name.parse::<i32>() else { continue };
        let text = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if name != own && String::from_utf8_lossy(&text).contains(mark) {
            found.push(id);
        }
    }
    found
}

/// A duration for `sleep` that no other test and no other run has.
fn mark(number: u32) -> String {
    format!("7{number}{}.{}", std::process::id(), Instant::now().elapsed().as_nanos() % 97)
}

/// The process that listens under a session's name.
fn keeper(project: &Project, id: &str) -> Option<i32> {
    let socket = project.home().join(".local/state/swbox/keepers").join(id);
    let program = "import socket,struct,sys
s=socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
try: s.connect(sys.argv[1])
except OSError: sys.exit(1)
print(struct.unpack('3i', s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0])";
    let mut command = project.command_as(Path::new("python3"), &["-c", program]);
    // The path of a socket may not be long.
    command.arg(socket.file_name().unwrap()).current_dir(socket.parent().unwrap());
    let ran = ran(command.output().unwrap());
    ran.stdout.trim().parse().ok()
}

fn signal(id: i32, name: &str) {
    assert!(std::process::Command::new("kill").args([name, &id.to_string()]).status().unwrap().success());
}

/// A session of a workflow whose first state runs anything.
fn working(project: &Project) -> String {
    let text = r#"{"id": "jobs", "initial": "working", "states": {
        "working": {"allowed_tools": ["Read", "Write", "Bash", "WebFetch", "__DESTRUCTIVE__"],
            "on": {"DONE": "testing", "FAIL": "failed"}},
        "testing": {"allowed_tools": ["Read", "run_test"], "on": {"DONE": "completed", "FAIL": "failed"}},
        "completed": {"type": "final"}, "failed": {"type": "final"}}}"#;
    start(project, &["--workflow", &workflow(project, "jobs.json", text)])
}

#[test]
fn a_background_server_answers_the_next_command() {
    let name = "a_background_server_answers_the_next_command";
    if !has_person(name) || !has(name, "curl") {
        return;
    }
    let project = Project::new();
    let id = working(&project);
    // Whoever reads the command's output to its end does not wait for the server.
    let begun = line(&project, "python3 -u -m http.server 8000 & echo started");
    assert_eq!((begun.code, begun.stdout.contains("started\n")), (0, true), "{begun:?}");
    assert!(begun.stderr.contains("goes on in the background"), "{begun:?}");
    let page = good(&project, "until curl -sf 127.0.0.1:8000/README.md; do sleep 0.1; done");
    assert!(page.contains("# The project\n"), "{page}");
    let [job] = &jobs(&project)[..] else { panic!("{:?}", jobs(&project)) };
    let shown = &json(&project, &["jobs", "--json"])["jobs"][0];
    assert_eq!((&shown["state"], &shown["rights"]), (&"working".into(), &"writes, loopback".into()));
    assert!(good(&project, "swbox jobs").contains("http.server"));
    wait("the server's log", || good(&project, &format!("swbox output {job}")).contains("GET /README.md"));
    // Another session has a loopback of its own, and so has a command without one.
    let other = working(&project);
    let away = project.swbox(&["exec", "--session", &other, "-c", "curl -s 127.0.0.1:8000"]);
    assert_eq!(away.code, 7, "{away:?}");
    let connect = "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 8000))'";
    assert_eq!(project.line("testing", connect).code, 1);
    let named = |text: &str| {
        let ran = project.swbox(&["exec", "--session", &id, "-c", text]);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout
    };
    named(connect);
    assert_eq!(person(&project, &["session", "end", &other], &[]).code, 0);
    assert_eq!(good(&project, &format!("swbox kill {job}")), format!("{job} has ended\n"));
    assert_eq!(good(&project, "swbox jobs"), "nothing runs in the background\n");
    assert_eq!(line(&project, "curl -s 127.0.0.1:8000").code, 7);
    let unknown = line(&project, "swbox kill j-0000000000");
    assert!(unknown.stderr.contains("job_unknown"), "{unknown:?}");
    replays(&project, &id);
}

/// A job sees the first process of each later command, with a user namespace in common.
#[test]
fn a_job_that_stops_what_comes_after_it_holds_up_nothing() {
    if !has_person("a_job_that_stops_what_comes_after_it_holds_up_nothing") {
        return;
    }
    let project = Project::new();
    working(&project);
    let stops = "import os, signal, sys
print('looking', flush=True)
while True:
    for name in os.listdir('/proc'):
        if not name.isdigit() or name == '1': continue
        try:
            if open(f'/proc/{name}/stat').read().rsplit(')', 1)[1].split()[1] != '0': continue
            os.kill(int(name), signal.SIGSTOP)
            print('stopped', flush=True)
        except OSError: pass
";
    fs::write(project.path().join("stops.py"), stops).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let ran = line(&project, "python3 stops.py > /tmp/log & sleep 0.3");
        // It was ended instead of waiting for ever.
        if ran.code == 125 && ran.stderr.contains("init_died") {
            break;
        }
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(Instant::now() < until, "twin: it stops them: {ran:?}");
    }
    for job in jobs(&project) {
        good(&project, &format!("swbox kill {job}"));
    }
    good(&project, "sleep 0.1");
}

#[test]
fn nothing_can_be_gained_in_a_session() {
    if !has_person("nothing_can_be_gained_in_a_session") {
        return;
    }
    let project = Project::new();
    working(&project);
    for text in ["cat /proc/self/status", "cat /proc/self/status > /tmp/status; cat /tmp/status"] {
        let status = good(&project, text);
        for line in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert!(status.contains(&format!("{line}:\t0000000000000000")), "{line} is not empty: {status}");
        }
        assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    }
}

#[test]
fn tmp_and_home_are_the_sessions() {
    if !has_person("tmp_and_home_are_the_sessions") {
        return;
    }
    let project = Project::new();
    let id = working(&project);
    good(&project, "echo x > /tmp/a; echo y > /dev/shm/b; mkdir -p ~/.cache/d; echo z > ~/.cache/d/c");
    assert_eq!(good(&project, "cat /tmp/a /dev/shm/b ~/.cache/d/c"), "x\ny\nz\n");
    assert_eq!(good(&project, "cat /tmp/a"), "x\n");
    // The workspace and what is bound below these directories is where it was.
    assert!(good(&project, "cat README.md; git log --oneline | wc -l").ends_with("4\n"));
    assert!(good(&project, "cat ~/.gitconfig").contains("Test"));
    assert_eq!(line(&project, "cat ~/.ssh/id_ed25519 ~/.npmrc").code, 1);
    // A command of git has what the session's commands wrote for it, and no HOME that they made.
    good(&project, "printf '[alias]\\n\\tpwn = !echo pwned\\n' > ~/.gitconfig; echo Message > /tmp/message");
    let committing = workflow(
        &project,
        "commit.json",
        r#"{"id": "commit", "initial": "w", "states": {
            "w": {"allowed_tools": ["Read", "Write", "Bash", "git_commit", "git_add"], "on": {"READ": "r", "FAIL": "failed"}},
            "r": {"allowed_tools": ["Read", "Grep"], "on": {"DONE": "completed", "FAIL": "failed"}},
            "completed": {"type": "final"}, "failed": {"type": "final"}}}"#,
    );
    assert_eq!(person(&project, &["session", "end", &id], &[]).code, 0);
    let second = start(&project, &["--workflow", &committing]);
    // Nothing of one session is in another one.
    assert_eq!(line(&project, "cat /tmp/a ~/.cache/d/c").stdout, "");
    good(&project, "echo Message > /tmp/message; echo planted > ~/planted; echo new > new");
    good(&project, "git add new && git commit -q -F /tmp/message");
    assert_eq!(project.git(&["log", "-1", "--format=%s"]), "Message\n");
    good(&project, "swbox transition READ");
    assert_eq!(good(&project, "cat /tmp/message"), "Message\n");
    assert_eq!(line(&project, "cat ~/planted").code, 1, "a state that runs nothing has no HOME of others");
    for id in [&id, &second] {
        replays(&project, id);
    }
}

#[test]
fn a_writer_is_dead_before_the_next_state_is_entered() {
    if !has_person("a_writer_is_dead_before_the_next_state_is_entered") {
        return;
    }
    let project = Project::new();
    let id = working(&project);
    good(
        &project,
        "(trap '' TERM; while :; do date +%s%N > beat; done) >/dev/null 2>&1 & setsid sleep 1000 &",
    );
    wait("the writer", || project.path().join("beat").exists());
    let [job] = &jobs(&project)[..] else { panic!("{:?}", jobs(&project)) };
    let went = good(&project, "swbox transition DONE");
    assert!(went.contains(job) && went.contains("was ended") && went.contains("(`(trap"), "{went}");
    assert_eq!(state(&project), "testing");
    let last = fs::read(project.path().join("beat")).unwrap();
    assert!(jobs(&project).is_empty());
    good(&project, "sleep 0.2");
    assert_eq!(fs::read(project.path().join("beat")).unwrap(), last);
    replays(&project, &id);
}

#[test]
fn a_job_within_the_next_states_rights_goes_on() {
    if !has_person("a_job_within_the_next_states_rights_goes_on") {
        return;
    }
    let project = Project::new();
    working(&project);
    good(&project, "sleep 1000 & echo");
    let before = jobs(&project);
    assert_eq!(before.len(), 1);
    good(&project, "swbox transition DONE");
    assert_eq!((state(&project).as_str(), jobs(&project)), ("testing", before));
}

#[test]
fn a_living_writer_voids_evidence() {
    if !has_person("a_living_writer_voids_evidence") {
        return;
    }
    let project = Project::new();
    let text = r#"{"id": "proof", "initial": "w", "states": {
        "w": {"allowed_tools": ["Read", "Write", "Bash"], "on": {
            "PASS": {"target": "w2", "evidence": {"command": "true", "exit_code": 0}}, "FAIL": "failed"}},
        "w2": {"allowed_tools": ["Read", "Write", "Bash"], "on": {"DONE": "completed", "FAIL": "failed"}},
        "completed": {"type": "final"}, "failed": {"type": "final"}}}"#;
    let id = start(&project, &["--workflow", &workflow(&project, "proof.json", text)]);
    good(&project, "python3 -c 'import time; time.sleep(1000)' &");
    let [job] = &jobs(&project)[..] else { panic!("{:?}", jobs(&project)) };
    let refused = line(&project, "swbox transition PASS");
    assert_eq!((refused.code, refused.stdout.contains("[evidence_busy]")), (126, true), "{refused:?}");
    good(&project, &format!("swbox kill {job}"));
    good(&project, "swbox transition PASS");
    // The end of the session is the end of what it left.
    good(&project, "python3 -c 'import time; time.sleep(1000)' &");
    good(&project, "swbox transition DONE");
    wait("the keeper's end", || keeper(&project, &id).is_none());
    replays(&project, &id);
}

#[test]
fn what_is_cut_off_leaves_nothing() {
    if !has_person("what_is_cut_off_leaves_nothing") {
        return;
    }
    let project = Project::new();
    working(&project);
    let mark = mark(1);
    let text = format!("sleep {mark} & setsid sleep {mark} & (setsid sleep {mark} &) ; sleep {mark}");
    let late = project.swbox(&["exec", "--timeout", "500ms", "-c", &text]);
    assert_eq!(late.code, 124, "{late:?}");
    assert!(marked(&mark).is_empty() && jobs(&project).is_empty());
    // All of it is asked first, what runs in the background too. On a busy machine that may come too late once.
    let patient =
        "(trap 'echo asked > /tmp/asked; exit' TERM; while :; do sleep 0.05; done) & trap '' TERM; wait";
    wait("the question", || {
        assert_eq!(project.swbox(&["exec", "--timeout", "500ms", "-c", patient]).code, 124);
        line(&project, "cat /tmp/asked").stdout == "asked\n"
    });
    // A killed swbox takes its command along, background and all.
    let mut child = spawn(&project, &text);
    wait("the command", || marked(&mark).len() > 4);
    child.kill().unwrap();
    child.wait().unwrap();
    wait("the end of all", || marked(&mark).is_empty());
    assert!(jobs(&project).is_empty());
    // One that kills the first process of its own jail is no better off.
    let own = line(&project, &format!("sleep {mark} & kill -9 -1"));
    assert_eq!(own.code, 125, "{own:?}");
    wait("the end of all", || marked(&mark).is_empty());
    assert_eq!(good(&project, "echo on"), "on\n");
}

fn spawn(project: &Project, text: &str) -> Child {
    project.command(&["bash", "-c", text]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn a_killed_keeper_takes_everything_along() {
    if !has_person("a_killed_keeper_takes_everything_along") {
        return;
    }
    let project = Project::new();
    let id = working(&project);
    let mark = mark(2);
    good(&project, &format!("echo x > /tmp/a; setsid sleep {mark} &"));
    assert_eq!((jobs(&project).len(), marked(&mark).len()), (1, 1));
    signal(keeper(&project, &id).unwrap(), "-9");
    wait("the job's end", || marked(&mark).is_empty());
    assert!(jobs(&project).is_empty());
    assert_eq!(line(&project, "cat /tmp/a").code, 1);
    good(&project, "echo y > /tmp/a");
    assert_eq!(good(&project, "cat /tmp/a"), "y\n");
    replays(&project, &id);
}

#[test]
fn a_harness_that_is_gone_leaves_nothing() {
    if !has_person("a_harness_that_is_gone_leaves_nothing") {
        return;
    }
    let project = Project::new();
    working(&project);
    let mark = mark(3);
    // Between the harness and swbox stands a shell, as usual.
    let program = "import subprocess,sys,time
subprocess.run(['sh', '-c', 'exec \"$@\"; :', 'sh', *sys.argv[1:]], check=True); print('ready', flush=True); time.sleep(1000)";
    let text = format!("sleep {mark} &");
    let mut command = project.command_as(Path::new("python3"), &["-c", program]);
    command.args([env!("CARGO_BIN_EXE_swbox"), "bash", "-c", &text]);
    let mut harness = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    wait("the job", || marked(&mark).iter().any(|id| name_of(*id) == "sleep"));
    std::io::Read::read_exact(harness.stdout.as_mut().unwrap(), &mut [0; 6]).unwrap();
    harness.kill().unwrap();
    harness.wait().unwrap();
    // Nobody uses the session any more: whoever did would be one more for whom it works.
    wait_for(Duration::from_secs(120), "the job's end", || marked(&mark).is_empty());
}

fn name_of(id: i32) -> String {
    fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default().trim().to_owned()
}

#[test]
fn nothing_in_a_session_reaches_its_keeper_or_its_neighbours() {
    let name = "nothing_in_a_session_reaches_its_keeper_or_its_neighbours";
    if !has_person(name) {
        return;
    }
    let project = Project::new();
    let id = working(&project);
    good(&project, "SECRET=of-the-job sleep 1000 & echo");
    let store = project.home().join(".local/state/swbox");
    assert_ne!(line(&project, &format!("ls -d {}", store.display())).code, 0);
    let found =
        line(&project, "find / -xdev -type s -name 's-*' 2>/dev/null; ss -xl 2>/dev/null | grep keepers");
    assert_eq!(found.stdout, "");
    // The keeper is process 1, a job another one: both are seen, neither shows more, and the first one stays.
    let seen = good(
        &project,
        "kill -9 1; kill -TERM 1; p=$(pgrep -x sleep); for n in 1 $p; do
            for f in environ maps fd/0; do head -c 1 /proc/$n/$f >/dev/null 2>&1 && echo reached $n $f; done
            for f in root cwd; do ls /proc/$n/$f/ >/dev/null 2>&1 && echo reached $n $f; done
        done; echo \"jobs $(echo $p | wc -w)\"",
    );
    assert_eq!(seen, "jobs 1\n");
    assert_eq!(jobs(&project).len(), 1);
    // It can be ended from the next command, as in any shell.
    good(&project, "kill $(pgrep -x sleep); while pgrep -x sleep; do sleep 0.1; done");
    assert!(jobs(&project).is_empty());
    // What is no agent's own word changes nothing.
    good(&project, "sleep 1000 & echo");
    let [job] = &jobs(&project)[..] else { panic!("{:?}", jobs(&project)) };
    for text in [format!("swbox kill {job}; true"), format!("echo $(swbox kill {job})")] {
        assert_eq!(line(&project, &text).code, 126, "{text}");
    }
    assert_eq!(jobs(&project).len(), 1);
    assert_eq!(person(&project, &["session", "end", &id], &[]).code, 0);
    wait("the keeper's end", || keeper(&project, &id).is_none());
}

/// Read through at each opening, the log is a tenth of what a session adds to a command.
#[test]
fn a_keeper_keeps_the_index_of_the_log_and_dies_with_it() {
    if !has_person("a_keeper_keeps_the_index_of_the_log_and_dies_with_it") {
        return;
    }
    let project = Project::new();
    let id = working(&project);
    let index = project.home().join(".local/state/swbox/sessions.db-shm");
    let locked = || {
        let inode = fs::metadata(&index).unwrap().ino();
        let locks = fs::read_to_string("/proc/locks").unwrap();
        locks.lines().filter(|line| line.contains("OFDLCK") && line.contains(&format!(":{inode} "))).count()
    };
    assert_eq!(locked(), 0);
    good(&project, "echo x > /tmp/a");
    assert_eq!(locked(), 1);
    good(&project, "cat /tmp/a");
    // Killed, it leaves nothing that the next one could not begin with.
    signal(keeper(&project, &id).unwrap(), "-KILL");
    wait("its end", || locked() == 0);
    good(&project, "echo y > /tmp/a");
    assert_eq!(locked(), 1);
    assert_eq!(good(&project, "cat /tmp/a"), "y\n");
    replays(&project, &id);
}

#[test]
fn links_and_moves_in_shared_directories_lead_nothing_astray() {
    if !has_person("links_and_moves_in_shared_directories_lead_nothing_astray") {
        return;
    }
    let project = Project::new();
    let id = working(&project);
    let around = project.path().parent().unwrap().to_owned();
    let moved = format!("cd / && mv {0} {0}-moved && ln -s /etc {0}", around.display());
    // The directories around the workspace are the session's where the host's are private: they may be moved.
    line(&project, &moved);
    assert_eq!(good(&project, "cat README.md").lines().next(), Some("# The project"));
    assert_eq!(line(&project, "echo x > .git/config").code, 1, "git directories stay read-only");
    good(
        &project,
        "rm -rf ~/.config ~/.cache; ln -s \"$PWD\" ~/.config; echo 'no directory' > ~/.cache; ln -sfn \"$PWD/.git/config\" ~/.gitconfig",
    );
    assert_eq!(good(&project, "pwd").trim(), project.path().canonicalize().unwrap().to_string_lossy());
    let before = fs::read(project.path().join(".git/config")).unwrap();
    good(&project, "swbox transition DONE");
    for _ in 0..3 {
        line(&project, "python3 -c 'print(1)'");
    }
    assert_eq!(fs::read(project.path().join(".git/config")).unwrap(), before);
    assert!(!around.with_file_name("moved").exists());
    replays(&project, &id);
}

#[test]
fn output_of_jobs_is_bounded_and_whole_output_of_commands_arrives() {
    if !has_person("output_of_jobs_is_bounded_and_whole_output_of_commands_arrives") {
        return;
    }
    let project = Project::new();
    working(&project);
    // More than any pipe holds, in order, from both streams into one pipe.
    let text = "for n in $(seq 20000); do echo out $n; echo err $n >&2; done; sleep 1000 &";
    let both = project.command_as(
        Path::new("/bin/bash"),
        &["-c", "exec \"$@\" 2>&1", "bash", env!("CARGO_BIN_EXE_swbox"), "bash", "-c", text],
    );
    let mut both = both;
    let ran = ran(both.output().unwrap());
    let expected: String = (1..=20000).map(|n| format!("out {n}\nerr {n}\n")).collect();
    assert!(ran.stdout.starts_with(&expected), "{} bytes", ran.stdout.len());
    let first = jobs(&project);
    // A chatty job holds nobody up, and not more than so much is kept of it.
    let chatty = line(&project, "yes chatty & echo begun");
    assert!(chatty.stdout.contains("begun"));
    let job = jobs(&project).into_iter().find(|job| !first.contains(job)).unwrap();
    wait("its output", || json(&project, &["output", &job, "--json"])["dropped"].as_u64().unwrap() > 100_000);
    assert!(json(&project, &["output", &job, "--json"])["output"].as_str().unwrap().len() < 100_000);
    good(&project, &format!("swbox kill {job}"));
    let captured = project.swbox(&["exec", "--json", "-c", "echo captured; sleep 1000 & echo err >&2"]);
    let value: serde_json::Value = serde_json::from_str(&captured.stdout).unwrap();
    assert!(value["output"].to_string().contains("captured"), "{}", value["output"]);
}
