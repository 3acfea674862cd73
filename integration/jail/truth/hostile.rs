//! Programs that work against whoever watches them: they get nothing, and cost no more than a bound.

use swbox::supervisor::notify::Settings;
use swbox::supervisor::{Observed, Verdict as Judgement};

use super::attribution::compile;
use super::{BOTH, How, run};
use crate::check;
use crate::kit::{Case, Jail, Place, Verdict};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "truth: arguments that change during exec, 200 times",
        needs: "namespaces",
        run: some_races,
    },
    Case { name: "truth: a program behind the loader is seen", needs: "namespaces", run: loader },
    Case { name: "truth: names that change under the supervisor", needs: "namespaces", run: names },
    Case { name: "truth: floods are bounded", needs: "namespaces", run: floods },
    Case {
        name: "truth: descriptors and processes of the supervisor are out of reach",
        needs: "namespaces",
        run: steals,
    },
];

pub(crate) const LONG: &[Case] = &[Case {
    name: "truth: arguments that change during exec, 10,000 times",
    needs: "namespaces",
    run: all_races,
}];

/// Executes itself again and again while another thread changes the argument between two words; says which it got.
const RACE: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static char word[8] = "status";
static void *flip(void *unused) {
    for (;;) {
        memcpy(word, "push\0\0\0", 8);
        memcpy(word, "status\0", 8);
    }
    return unused;
}
int main(int count, char **words) {
    if (count > 1 && !strcmp(words[1], "race")) {
        int runs = atoi(words[2]), stopped = 0, ran = 0;
        for (int i = 0; i < runs; i++) {
            pid_t child = fork();
            if (!child) {
                pthread_t thread;
                pthread_create(&thread, 0, flip, 0);
                for (volatile int wait = 0; wait < (i % 97) * 40; wait++) {}
                char *list[] = { words[0], word, 0 };
                execv(words[0], list);
                _exit(9);
            }
            int status;
            waitpid(child, &status, 0);
            if (WIFSIGNALED(status)) stopped++;
            else if (WEXITSTATUS(status) == 7) ran++;
        }
        printf("stopped %d ran %d\n", stopped, ran);
        return 0;
    }
    return count > 1 && !strcmp(words[1], "push") ? 7 : 0;
}
"#;

/// A jail that waits as long as a slow machine needs.
fn patient(place: &Place) -> Jail {
    Jail::write(&place.workspace()).with(|spec| spec.limits.timeout = None)
}

fn forbid_push(what: &Observed) -> Judgement {
    match what {
        Observed::Program(program) if program.argv.get(1).is_some_and(|word| word == b"push") => {
            Judgement::Stop
        }
        _ => Judgement::Go,
    }
}

fn races(count: u32) -> Verdict {
    for how in BOTH {
        let place = Place::new();
        if !compile(&place.workspace(), "race", RACE) {
            return Verdict::Skipped("no C compiler".to_owned());
        }
        let jail = patient(&place);
        let settings = Settings { required: true, ..Settings::default() };
        let (count, argv) = (count.to_string(), ["./race", "race"]);
        let argv = [argv[0], argv[1], &count];
        let watched = match how {
            How::Notify => jail.watch(settings, &argv, forbid_push),
            How::Trace => jail.trace(settings, &argv, forbid_push),
        };
        let (done, seen) = watched.unwrap();
        let stopped =
            seen.programs.iter().filter(|program| program.what.stopped).map(|program| program.times);
        println!("{how:?}: {}, {} stopped", done.out.trim(), stopped.sum::<u64>());
        check!(done.ok() && done.out.ends_with(" ran 0\n"), "{how:?}: {}", done.all());
    }
    Verdict::Passed
}

fn some_races() -> Verdict {
    races(200)
}

fn all_races() -> Verdict {
    races(10_000)
}

fn loader() -> Verdict {
    let loaders = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    let Some(loader) = loaders.iter().find(|path| std::path::Path::new(path).exists()) else {
        return Verdict::Skipped("no loader of glibc".to_owned());
    };
    for how in BOTH {
        let place = Place::new();
        let (done, seen) = run(&Jail::write(&place.workspace()), how, &[loader, "/bin/echo", "push"]);
        check!(done.out == "push\n", "{}", done.all());
        let argv: Vec<_> = seen.programs.iter().map(|program| program.what.argv.clone()).collect();
        check!(argv == [[loader.as_bytes().to_vec(), b"/bin/echo".to_vec(), b"push".to_vec()]], "{argv:?}");
    }
    Verdict::Passed
}

/// A thread changes a name between one that may be written and one that may not, while others open it.
const NAMES: &str = r#"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static char name[16] = "open";
static void *flip(void *unused) {
    for (;;) {
        memcpy(name, ".envrc\0\0", 8);
        memcpy(name, "open\0\0\0\0", 8);
    }
    return unused;
}
static void *work(void *unused) {
    for (int i = 0; i < 3000; i++) {
        int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd >= 0) { write(fd, "x", 1); close(fd); }
        rename("open", name);
        unlink(name);
    }
    return unused;
}
int main(void) {
    pthread_t flipper, workers[4];
    pthread_create(&flipper, 0, flip, 0);
    for (int i = 0; i < 4; i++) pthread_create(&workers[i], 0, work, 0);
    for (int i = 0; i < 4; i++) pthread_join(workers[i], 0);
    return 0;
}
"#;

fn names() -> Verdict {
    for how in BOTH {
        let place = Place::new();
        if !compile(&place.workspace(), "names", NAMES) {
            return Verdict::Skipped("no C compiler".to_owned());
        }
        place.write("w/.envrc", "kept\n");
        let jail = patient(&place).with(|spec| spec.protected.push(".envrc".into()));
        let (done, _) = run(&jail, how, &["./names"]);
        check!(done.ok(), "{how:?}: {}", done.all());
        let text = std::fs::read_to_string(place.path("w/.envrc")).unwrap();
        check!(text == "kept\n", "{how:?}: {text:?}");
    }
    Verdict::Passed
}

/// Many processes, many names, each of them refused or made; and programs without number.
const FLOOD: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words) {
    if (count > 1) return 0;
    for (int process = 0; process < 8; process++) {
        if (fork()) continue;
        char name[64];
        for (int i = 0; i < 1500; i++) {
            sprintf(name, ".git/%d-%d", process, i);
            close(open(name, O_WRONLY | O_CREAT, 0600));
            sprintf(name, "made-%d-%d", process, i % 50);
            mkdir(name, 0700);
            rmdir(name);
        }
        for (int i = 0; i < 25; i++) {
            sprintf(name, "%d-%d", process, i);
            if (!fork()) { execl(words[0], words[0], name, (char *)0); _exit(1); }
            wait(0);
        }
        _exit(0);
    }
    while (wait(0) > 0) {}
    return 0;
}
"#;

/// KiB of this process that are resident.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn floods() -> Verdict {
    for how in BOTH {
        let place = Place::new();
        place.repository();
        if !compile(&place.workspace(), "flood", FLOOD) {
            return Verdict::Skipped("no C compiler".to_owned());
        }
        let before = resident();
        let (done, seen) = run(&patient(&place), how, &["./flood"]);
        let grown = resident().saturating_sub(before);
        println!(
            "{how:?}: {} calls, {} refusals kept, {} dropped, {grown} KiB",
            seen.calls,
            seen.denials.len(),
            seen.dropped
        );
        check!(done.ok(), "{how:?}: {}", done.all());
        let refused: u64 = seen.denials.iter().map(|denial| denial.times).sum();
        check!(refused + seen.dropped == 12_000, "{how:?}: {refused} and {} dropped", seen.dropped);
        check!(seen.programs.iter().map(|program| program.times).sum::<u64>() == 201, "{how:?}");
        check!(grown < 64 * 1024, "{how:?}: {grown} KiB");
    }
    Verdict::Passed
}

/// Tries to reach what watches it, and to be watched by nobody.
const STEALS: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static char stack[65536];
static int child(void *unused) {
    (void)unused;
    return open(".git/untraced", O_WRONLY | O_CREAT, 0600) >= 0 ? 1 : 0;
}
int main(void) {
    int got = 0;
    for (int fd = 3; fd < 4096; fd++) if (fcntl(fd, F_GETFD) >= 0) got |= 1;
    if (ptrace(PTRACE_SEIZE, 1, 0, 0) == 0) got |= 2;
    int first = syscall(SYS_pidfd_open, 1, 0);
    for (int fd = 0; fd < 64 && first >= 0; fd++) if (syscall(SYS_pidfd_getfd, first, fd, 0) >= 0) got |= 4;
    if (open("/proc/1/mem", O_RDWR) >= 0) got |= 8;
    if (kill(1, SIGKILL) == 0) got |= 0;
    // Where the kernel lets it be asked for, this child would not be traced.
    int untraced = clone(child, stack + sizeof stack, 0x00800000 | SIGCHLD, 0);
    int status = 0;
    if (untraced > 0) { waitpid(untraced, &status, __WALL); if (WIFEXITED(status) && WEXITSTATUS(status)) got |= 16; }
    long listener = syscall(SYS_seccomp, 1, 8, 0);
    if (listener >= 0) got |= 32;
    close_range(3, ~0U, 0);
    if (open(".git/after", O_WRONLY | O_CREAT, 0600) >= 0) got |= 64;
    printf("got %d untraced %d\n", got, untraced > 0);
    return 0;
}
"#;

fn steals() -> Verdict {
    for how in BOTH {
        let place = Place::new();
        place.repository();
        if !compile(&place.workspace(), "steals", STEALS) {
            return Verdict::Skipped("no C compiler".to_owned());
        }
        let (done, seen) = run(&patient(&place), how, &["./steals"]);
        check!(done.out.starts_with("got 0 "), "{how:?}: {}", done.all());
        let told = super::denials(&place.path(""), &seen);
        check!(told.iter().any(|line| line.starts_with("Create ~/w/.git/after ")), "{how:?}: {told:?}");
        // A child that asked not to be traced is, or is not there.
        let untraced = done.out.ends_with("untraced 1\n");
        let seen = told.iter().any(|line| line.starts_with("Create ~/w/.git/untraced "));
        check!(!untraced || seen, "{how:?}: {} {told:?}", done.out);
    }
    Verdict::Passed
}
