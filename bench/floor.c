/*
 * The least that a jail of swbox's shape costs on this machine: what the kernel is asked for, by a static program that reads
 * no workflow, judges nothing, plans nothing, probes nothing and reports nothing.
 *
 * usage: floor CMD [ARG...]             namespaces, a root of its own with some forty mounts, no capabilities, Landlock, seccomp
 *        floor --own CMD [ARG...]       and a network of its own, a layer over the working directory, a supervisor that says
 *                                       "go on"
 *
 * It holds nothing: paths are not checked, secrets are not found, the stubs stand where they do on one machine. It is here so
 * that a figure of bench/startup can be told from one that no jail of this shape can have.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLONE_TREE (1 | AT_RECURSIVE | O_CLOEXEC)
#define RULES 150
#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Linux 6.6; older headers lack them. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1
#endif
/* The first call of a new program's C library, where its arguments are read. */
#ifdef SYS_arch_prctl
#define FIRST SYS_arch_prctl
#else
#define FIRST SYS_set_tid_address
#endif

struct attributes {
    unsigned long set, clear, propagation, userns;
};

static void check(long answer, const char *what) {
    if (answer < 0) {
        perror(what);
        _exit(125);
    }
}

static int tree(const char *path) {
    int found = syscall(SYS_open_tree, AT_FDCWD, path, CLONE_TREE);
    check(found, path);
    return found;
}

static void restrict_mount(int mount, unsigned long set) {
    struct attributes attributes = {set, 0, 0, 0};
    check(syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes), "mount_setattr");
}

static void put(int mount, int root, const char *name) {
    check(syscall(SYS_move_mount, mount, "", root, name, 4), name);
    close(mount);
}

static int made(const char *kind) {
    int context = syscall(SYS_fsopen, kind, 1);
    check(context, kind);
    check(syscall(SYS_fsconfig, context, 6, NULL, NULL, 0), kind);
    int mount = syscall(SYS_fsmount, context, 1, 0);
    check(mount, kind);
    close(context);
    return mount;
}

static void shown(int root, const char *path, const char *name, int file) {
    check(file ? mknodat(root, name, S_IFREG | 0600, 0) : mkdirat(root, name, 0700), name);
    int mount = tree(path);
    restrict_mount(mount, 1 | 2);
    put(mount, root, name);
}

static void text(const char *path, const char *what) {
    int file = open(path, O_WRONLY);
    check(file, path);
    check(write(file, what, strlen(what)), path);
    close(file);
}

static void layer(int root, const char *name) {
    char below[64];
    int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    check(here, "workspace");
    /* Its name may lie below the new root already. */
    snprintf(below, sizeof below, "/proc/self/fd/%d", here);
    int scratch = made("tmpfs");
    check(mkdirat(scratch, "upper", 0700), "upper");
    check(mkdirat(scratch, "work", 0700), "work");
    check(fchdir(scratch), "scratch");
    int context = syscall(SYS_fsopen, "overlay", 1);
    check(context, "overlay");
    check(syscall(SYS_fsconfig, context, 1, "lowerdir", below, 0), "lowerdir");
    check(syscall(SYS_fsconfig, context, 1, "upperdir", "upper", 0), "upperdir");
    check(syscall(SYS_fsconfig, context, 1, "workdir", "work", 0), "workdir");
    syscall(SYS_fsconfig, context, 0, "userxattr", NULL, 0);
    check(syscall(SYS_fsconfig, context, 6, NULL, NULL, 0), "overlay");
    int mount = syscall(SYS_fsmount, context, 1, 0);
    check(mount, "overlay");
    put(mount, root, name);
}

/* A root as a plan has it: system trees, devices, stubs over what is hidden, private directories, a home. */
static int root_of(int own) {
    static const char *const devices[] = {"null", "zero", "full", "random", "urandom"};
    static const char *const trees[] = {"usr", "etc", "opt", "sys"};
    static const char *const links[] = {"bin", "lib", "lib64", "sbin"};
    static const char *const hidden[] = {
        "proc/kcore", "proc/keys", "proc/timer_list", "proc/sysrq-trigger", "proc/kmsg", "proc/kallsyms", "proc/kpagecount",
        "proc/kpageflags", "proc/kpagecgroup", "etc/shadow", "etc/gshadow", "etc/shadow-", "etc/gshadow-", "etc/ssh",
        "etc/sudoers", "etc/ssl/private"};
    char path[64], name[64];
    check(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
    int root = made("tmpfs");
    check(syscall(SYS_move_mount, root, "", AT_FDCWD, "/tmp", 4), "root");
    for (size_t i = 0; i < COUNT(trees); i++) {
        snprintf(path, sizeof path, "/%s", trees[i]);
        shown(root, path, trees[i], 0);
    }
    for (size_t i = 0; i < COUNT(links); i++) {
        snprintf(path, sizeof path, "usr/%s", links[i]);
        check(symlinkat(path, root, links[i]), path);
    }
    check(mkdirat(root, "dev", 0755), "dev");
    for (size_t i = 0; i < COUNT(devices); i++) {
        snprintf(path, sizeof path, "/dev/%s", devices[i]);
        shown(root, path, path + 1, 1);
    }
    check(mkdirat(root, "dev/pts", 0755), "pts");
    put(made("devpts"), root, "dev/pts");
    check(mkdirat(root, "proc", 0755), "proc");
    put(made("proc"), root, "proc");
    int nothing = tree("/dev/null");
    for (size_t i = 0; i < COUNT(hidden); i++) {
        int stub = syscall(SYS_open_tree, nothing, "", CLONE_TREE | AT_EMPTY_PATH);
        check(stub, "stub");
        /* Where this machine has no such file, or a directory, the kernel was asked all the same. */
        syscall(SYS_move_mount, stub, "", root, hidden[i], 4);
        close(stub);
    }
    static const char *const private[] = {"tmp", "var", "shm"};
    int scratch = made("tmpfs");
    for (size_t i = 0; i < COUNT(private); i++) {
        check(mkdirat(root, private[i], 0700), private[i]);
        int mount = syscall(SYS_open_tree, scratch, "", CLONE_TREE | AT_EMPTY_PATH);
        check(mount, private[i]);
        put(mount, root, private[i]);
    }
    check(mkdirat(root, "home", 0755), "home");
    for (int i = 0; i < 7; i++) {
        snprintf(name, sizeof name, "home/%d", i);
        shown(root, "/usr/share", name, 0);
    }
    if (own) {
        check(mkdirat(root, "home/w", 0755), "workspace");
        layer(root, "home/w");
    } else {
        shown(root, ".", "home/w", 0);
    }
    return root;
}

static void no_capabilities(void) {
    for (int i = 0; i < 41; i++) {
        prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
    }
    unsigned header[2] = {0x20080522, 0};
    unsigned none[6] = {0};
    check(syscall(SYS_capset, header, none), "capset");
    check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
}

static void landlock(int root) {
    struct {
        unsigned long files, network, scopes;
    } handled = {0xfff2, 0, 3};
    struct __attribute__((packed)) {
        unsigned long access;
        int directory;
    } rule = {0xfff2, root};
    int rules = syscall(444, &handled, sizeof handled, 0);
    check(rules, "landlock");
    for (int i = 0; i < 10; i++) {
        check(syscall(445, rules, 1, &rule, 0), "landlock rule");
    }
    check(syscall(446, rules, 0), "landlock");
    close(rules);
}

/* As many instructions as swbox has; what is allowed takes a short way through them, as through its tree or a shorter one. */
static int filter(int own) {
    struct sock_filter program[RULES + 8];
    int count = 0;
    program[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    if (own) {
        program[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 1, 0);
        program[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FIRST, 0, 1);
        program[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    }
    program[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1000, 0, RULES);
    for (int i = 0; i < RULES; i++) {
        program[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1000 + i, RULES - i, 0);
    }
    program[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1);
    struct sock_fprog whole = {count, program};
    int listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, own ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0, &whole);
    check(listener, "seccomp");
    return listener;
}

static void hand_over(int socket, int descriptor) {
    char byte = 0, control[CMSG_SPACE(sizeof descriptor)] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    check(sendmsg(socket, &message, 0), "sendmsg");
}

static int taken(int socket) {
    int descriptor = -1;
    char byte, control[CMSG_SPACE(sizeof descriptor)];
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    check(recvmsg(socket, &message, 0), "recvmsg");
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header) {
        memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    }
    return descriptor;
}

static void supervise(int socket) {
    int listener = taken(socket);
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
    for (;;) {
        struct seccomp_notif call = {0};
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call)) {
            return;
        }
        struct seccomp_notif_resp answer = {.id = call.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
}

static void loopback(void) {
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    check(any, "socket");
    check(ioctl(any, SIOCSIFFLAGS, &request), "lo");
    close(any);
}

int main(int count, char **words) {
    int own = count > 1 && !strcmp(words[1], "--own");
    char **command = words + 1 + own;
    char user[32], group[32];
    int pair[2], status;
    if (!*command) {
        fprintf(stderr, "usage: floor [--own] CMD [ARG...]\n");
        return 2;
    }
    snprintf(user, sizeof user, "%d %d 1", getuid(), getuid());
    snprintf(group, sizeof group, "%d %d 1", getgid(), getgid());
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), "socketpair");
    unsigned long spaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | (own ? CLONE_NEWNET : 0);
    int first = syscall(SYS_clone, spaces | SIGCHLD, 0, 0, 0, 0);
    check(first, "clone");
    if (first) {
        close(pair[1]);
        if (own) {
            supervise(pair[0]);
        }
        check(waitpid(first, &status, 0), "waitpid");
        return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
    }
    text("/proc/self/uid_map", user);
    text("/proc/self/setgroups", "deny");
    text("/proc/self/gid_map", group);
    if (own) {
        loopback();
    }
    int root = root_of(own);
    struct attributes read_only = {1, 0, 0, 0};
    check(syscall(SYS_mount_setattr, root, "", AT_EMPTY_PATH, &read_only, sizeof read_only), "root");
    check(fchdir(root), "root");
    check(syscall(SYS_pivot_root, ".", "."), "pivot_root");
    int gate[2];
    check(pipe2(gate, O_CLOEXEC), "pipe");
    int child = fork();
    check(child, "fork");
    if (!child) {
        char byte;
        close(gate[1]);
        check(chdir("/home/w"), "workspace");
        no_capabilities();
        landlock(root);
        read(gate[0], &byte, 1);
        int listener = filter(own);
        if (own) {
            hand_over(pair[1], listener);
            close(listener);
        }
        execv(*command, command);
        _exit(127);
    }
    close(pair[1]);
    check(umount2(".", MNT_DETACH), "umount");
    close(gate[0]);
    close(gate[1]);
    check(waitpid(child, &status, 0), "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
