"""A person at a terminal: runs a command on a pty of its own and types answers when their questions appear.

Usage: person.py [--under NAME] ANSWERS COMMAND [ARG...]

ANSWERS is a JSON list of [question, answer]: when the output since the last answer contains the question, the answer is
typed with a line end. The command's ancestors end with this program: it is detached from whoever started the test. With
--under its parent is a process of that name. Prints one JSON object: the exit code and the output.
"""

import json
import os
import pty
import select
import sys
import time

DEADLINE = 60


def attend(answers, command):
    """Runs the command on a pty and returns its exit code and output."""
    pid, master = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
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
        os.kill(pid, 9)
    status = os.waitpid(pid, 0)[1]
    return os.waitstatus_to_exitcode(status), output.decode(errors="replace")


def main():
    arguments = sys.argv[1:]
    under = None
    if arguments[0] == "--under":
        under, arguments = arguments[1], arguments[2:]
    answers, command = json.loads(arguments[0]), arguments[1:]
    if under:
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
