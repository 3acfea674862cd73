"""A person at a terminal: runs a command on a pty of its own and types answers when their questions appear.

Usage: person.py [--under NAME [--lets-go | --holds]] ANSWERS COMMAND [ARG...]

ANSWERS is a JSON list of [question, answer]: when the output since the last answer contains the question, the answer is
typed with a line end. The command's ancestors end with this program: it is detached from whoever started the test. With
--under its parent is a process of that name; with --lets-go it only was, and the command is nobody's child any more, but still
in the session that the process began; with --holds it has a session of its own as well, and the process holds the other side
of its terminal. Prints one JSON object: the exit code and the output.
"""

import json
import os
import pty
import select
import sys
import time

DEADLINE = 60


def orphan(command, prepare):
    """Starts the command so that its parent is gone when it begins; a descriptor from which its exit code can be read."""
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    child = os.fork()
    if child == 0:
        middle = os.getpid()
        if os.fork() == 0:
            prepare()
            while os.getppid() == middle:
                time.sleep(0.01)
            script = f'"$@"; echo $? >&{writer}'
            os.execvp("sh", ["sh", "-c", script, "sh", *command])
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    return reader


def let_go(command):
    """Runs the command as nobody's child, in this process's session; returns its exit code."""
    reader = orphan(command, lambda: None)
    return int(os.read(reader, 16) or b"1")


def hold(answers, command):
    """Runs the command as nobody's child, in a session of its own, on a pty whose other side is held here."""
    master, slave = pty.openpty()

    def prepare():
        os.setsid()
        terminal = os.open(os.ttyname(slave), os.O_RDWR)
        for number in range(3):
            os.dup2(terminal, number)
        os.close(master)
        os.close(slave)

    reader = orphan(command, prepare)
    os.close(slave)
    output = converse(answers, master)
    return int(os.read(reader, 16) or b"1"), output.decode(errors="replace")


def attend(answers, command):
    """Runs the command on a pty and returns its exit code and output."""
    pid, master = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    output = converse(answers, master)
    if output is None:
        os.kill(pid, 9)
    status = os.waitpid(pid, 0)[1]
    return os.waitstatus_to_exitcode(status), (output or b"").decode(errors="replace")


def converse(answers, master):
    """Types answers to what appears until the other side is closed; none where that takes too long."""
    output, seen, ends = b"", 0, time.monotonic() + DEADLINE
    while time.monotonic() < ends:
        if not select.select([master], [], [], 0.2)[0]:
            continue
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        output += data
        if answers and answers[0][0].encode() in output[seen:]:
            seen = len(output)
            os.write(master, answers.pop(0)[1].encode() + b"\n")
    else:
        return None
    return output


def main():
    arguments = sys.argv[1:]
    under = way = None
    if arguments[0] == "--let-go":
        sys.exit(let_go(arguments[1:]))
    if arguments[0] == "--hold":
        code, output = hold(json.loads(arguments[1]), arguments[2:])
        print(json.dumps({"code": code, "output": output}))
        return
    if arguments[0] == "--under":
        under, arguments = arguments[1], arguments[2:]
    if arguments[0] in ("--lets-go", "--holds"):
        way, arguments = arguments[0], arguments[1:]
    answers, command = json.loads(arguments[0]), arguments[1:]
    # A Python of another name looks for itself by that name.
    os.environ["PYTHONHOME"] = sys.base_prefix
    named = ["bash", "-c", 'exec -a "$0" python3 "$@"', under, __file__]
    if way == "--holds":
        os.execvp("bash", named + ["--hold", json.dumps(answers), *command])
    if way == "--lets-go":
        command = named + ["--let-go", *command]
    elif under:
        script = '"$@"; exit $?'
        command = ["bash", "-c", 'exec -a "$0" bash -c "$1" "$@"', under, script] + command
    reader, writer = os.pipe()
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid()
            os.close(reader)
            code, output = attend(answers, command)
            os.write(writer, json.dumps({"code": code, "output": output}).encode())
        os._exit(0)
    os.close(writer)
    os.wait()
    answer = b""
    while data := os.read(reader, 65536):
        answer += data
    print(answer.decode())


main()
