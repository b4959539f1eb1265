"""Runs a program in a pseudo-terminal of its own, types Ctrl-C or sends a signal once it has written a text, and prints what came of it.

in-terminal.py TEXT TYPED PROGRAM [ARGUMENT...]: TYPED is `ctrl-c`, `term`, or what is typed, a line.
Prints JSON: all that the terminal was sent, and the exit code, negative for the number of a signal.
"""

import json
import os
import pty
import signal
import sys

text, typed, *command = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
output = b""
has_typed = False
while True:
    try:
        chunk = os.read(terminal, 65536)
    except OSError:
        break
    if not chunk:
        break
    output += chunk
    if not has_typed and text.encode() in output:
        has_typed = True
        if typed == "term":
            os.kill(pid, signal.SIGTERM)
        else:
            os.write(terminal, b"\x03" if typed == "ctrl-c" else typed.encode() + b"\n")
_, status = os.waitpid(pid, 0)
print(json.dumps({"output": output.decode(errors="replace"), "code": os.waitstatus_to_exitcode(status)}))
