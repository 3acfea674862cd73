#!/usr/bin/env python3
"""Runs a command on a lesser host: under.py [--no-namespaces] [--no-landlock ERRNO] [--listener] [--landlock DIR...] -- CMD

--no-namespaces   a seccomp filter as strict containers have it: unshare, clone with namespace flags, mounts -> EPERM
--no-landlock N   landlock_* answer errno N: 38 ENOSYS (an old kernel), 95 EOPNOTSUPP (switched off)
--listener        a seccomp listener is already in the chain (it waits for a call that nobody makes)
--landlock DIR    an outer Landlock domain that lets files be changed only beneath these directories
"""
import ctypes, os, platform, struct, sys

libc = ctypes.CDLL(None, use_errno=True)
ARM = platform.machine() == 'aarch64'
X86 = dict(clone=56, mount=165, umount2=166, pivot_root=155, unshare=272, setns=308, acct=163)
AARCH = dict(clone=220, mount=40, umount2=39, pivot_root=41, unshare=97, setns=268, acct=89)
NR = dict(AARCH if ARM else X86, clone3=435, open_tree=428, move_mount=429, fsopen=430, fsconfig=431, fsmount=432,
          fspick=433, mount_setattr=442, landlock_create_ruleset=444, landlock_add_rule=445, landlock_restrict_self=446)
ERRNO, NOTIFY, ALLOW = 0x00050000, 0x7FC00000, 0x7FFF0000
NEW = 0x7E020000

def op(code, k, jt=0, jf=0): return struct.pack('HBBI', code, jt, jf, k)

def install(rules, flags=0):
    """rules: (number, mask of the first argument or None, what to return)"""
    code = op(0x20, 0)
    for number, mask, value in rules:
        if mask is None: code += op(0x15, number, 0, 1) + op(0x06, value)
        else: code += op(0x15, number, 0, 4) + op(0x20, 16) + op(0x45, mask, 0, 1) + op(0x06, value) + op(0x20, 0)
    code += op(0x06, ALLOW)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack('HxxxxxxQ', len(code) // 8, ctypes.addressof(buffer))
    libc.prctl(38, 1, 0, 0, 0)
    answer = libc.syscall(317 if not ARM else 277, 1, flags, ctypes.create_string_buffer(program, len(program)))
    if answer < 0: sys.exit(f'seccomp: {os.strerror(ctypes.get_errno())}')
    return answer

def landlock(directories):
    rights = 0x7FF2   # write, remove, make, refer, truncate: not reads, not execution
    attributes = struct.pack('QQQ', rights, 0, 0)
    fd = libc.syscall(444, ctypes.create_string_buffer(attributes, 24), ctypes.c_size_t(8), 0)
    if fd < 0: sys.exit(f'landlock: {os.strerror(ctypes.get_errno())}')
    for directory in directories:
        at = os.open(directory, os.O_PATH)
        allowed = rights if os.path.isdir(directory) else rights & 0x4002
        rule = struct.pack('<Qi', allowed, at)
        if libc.syscall(445, fd, 1, ctypes.create_string_buffer(rule, 12), 0): sys.exit(f'{directory}: {os.strerror(ctypes.get_errno())}')
    libc.prctl(38, 1, 0, 0, 0)
    if libc.syscall(446, fd, 0): sys.exit(f'landlock: {os.strerror(ctypes.get_errno())}')

def main():
    at = sys.argv.index('--')
    words, command = sys.argv[1:at], sys.argv[at + 1:]
    rules, directories, listener = [], [], False
    while words:
        word = words.pop(0)
        if word == '--no-namespaces':
            rules += [(NR['clone'], NEW, ERRNO | 1), (NR['clone3'], None, ERRNO | 38)]
            rules += [(NR[n], None, ERRNO | 1) for n in ('unshare', 'setns', 'mount', 'umount2', 'pivot_root', 'open_tree', 'move_mount',
                                                        'fsopen', 'fsconfig', 'fsmount', 'fspick', 'mount_setattr')]
        elif word == '--no-landlock':
            number = int(words.pop(0))
            rules += [(NR[n], None, ERRNO | number) for n in ('landlock_create_ruleset', 'landlock_add_rule', 'landlock_restrict_self')]
        elif word == '--listener': listener = True
        elif word == '--landlock': directories.append(words.pop(0))
        else: sys.exit(f'what is {word}?')
    if directories: landlock(directories)
    if listener: os.set_inheritable(install([(NR['acct'], None, NOTIFY)], 8), False)
    if rules: install(rules)
    os.execvp(command[0], command)

main()
