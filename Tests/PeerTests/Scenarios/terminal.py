"""Runs a program on a pseudo-terminal and plays a person at its keys: for tests of what is drawn and what keys do.

    terminal.py STEPS PROGRAM ARGUMENT...

STEPS is JSON, a list of {"await": TEXT, then any of "keys": TEXT, "size": [ROWS, COLUMNS], "signal": NUMBER}: each waits until the
program has written TEXT since the step before. Prints one JSON object: what was written, how it ended, whether the terminal's settings
are as before. Ends by itself after a minute."""
import fcntl, json, os, pty, select, signal, struct, sys, termios, time


def main():
    steps = json.loads(sys.argv[1])
    pid, master = pty.fork()
    if pid == 0:
        os.execv(sys.argv[2], sys.argv[2:])
    resize(master, 24, 80)
    before = termios.tcgetattr(master)
    output, seen, status, end = b"", 0, None, time.monotonic() + 60
    while time.monotonic() < end:
        if select.select([master], [], [], 0.2)[0]:
            try:
                data = os.read(master, 65536)
            except OSError:
                data = b""
            if not data:
                break
            output += data
        while steps and (place := output.find(steps[0]["await"].encode(), seen)) >= 0:
            step = steps.pop(0)
            seen = place + len(step["await"].encode())
            if "size" in step:
                resize(master, *step["size"])
            if "keys" in step:
                os.write(master, step["keys"].encode())
            if "signal" in step:
                os.kill(pid, step["signal"])
        done, code = os.waitpid(pid, os.WNOHANG)
        if done:
            status = code
            break
    if status is None:
        done, status = os.waitpid(pid, os.WNOHANG)
        if not done:
            os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
    while select.select([master], [], [], 0.2)[0]:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        output += data
    try:
        is_restored = termios.tcgetattr(master) == before
    except termios.error:
        is_restored = None
    print(json.dumps({
        "output": output.decode("utf-8", "replace"), "status": os.waitstatus_to_exitcode(status), "left": len(steps),
        "restored": is_restored}))


def resize(master, rows, columns):
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


main()
