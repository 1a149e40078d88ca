#!/usr/bin/env python3
"""Ends that nobody wishes for: kill -9 while a recording runs, SIGTERM once and twice, a caller that dies, a full disk.

    python3 Fuzz/kills.py PROGRAM

PROGRAM is the built `ringwright`. The full disk is a tmpfs of 64 KiB in a mount namespace of its own; without the right to make
one that part is skipped.
"""
import glob, importlib.util, os, re, signal, subprocess, sys, tempfile, time, wave

spec = importlib.util.spec_from_file_location("attack", os.path.join(os.path.dirname(os.path.abspath(__file__)), "attack.py"))
attack = importlib.util.module_from_spec(spec)
spec.loader.exec_module(attack)
note = attack.note

FLOW = """flow: recording
prompts: {prompts}
sections:
  main:
    - answer
    - record: {{ to: "kept/${{call.id}}.wav", max: 5m }}
    - play: {{ file: hold-music.wav, loop: forever }}
always:
  - log: "complete=${{recording.complete}} length=${{recording.length}}"
"""


def serve(program, root, **more):
    return attack.Server(program, root, flow=FLOW, log="info", **more)


def recordings(server):
    return glob.glob(os.path.join(server.folder, "**", "*.wav"), recursive=True)


def readable(path):
    with wave.open(path) as file:
        return file.getnframes() / file.getframerate()


def killed(program, root):
    server = serve(program, root)
    call = attack.GoodCall(server)
    call.start()
    time.sleep(5)
    server.process.kill()
    server.process.wait()
    call.running = False
    found = recordings(server)
    note(len(found) == 1, f"kill -9: one recording, {[os.path.basename(f) for f in found]}")
    for path in found:
        try:
            seconds = readable(path)
            note(3 < seconds < 6, f"kill -9: the recording of 5 s is readable and holds {seconds:.2f} s")
        except (wave.Error, EOFError) as error:
            note(False, f"kill -9: the recording is unreadable: {error}")


def terminated(program, root):
    server = serve(program, root)
    call = attack.GoodCall(server)
    call.start()
    time.sleep(1)
    server.process.send_signal(signal.SIGTERM)
    time.sleep(2)
    note(server.alive() and not call.bye, "SIGTERM: the call goes on")
    late = attack.GoodCall(server)
    late.sip.settimeout(5)
    late.sip.sendto(attack.request("INVITE", late.sip.getsockname()[1], "late", rtp=9), late.server)
    try:
        while True:
            answer = late.sip.recv(65535).decode().split("\r\n")[0]
            if not answer.startswith("SIP/2.0 1"):
                break
        note(answer.startswith("SIP/2.0 503"), f"SIGTERM: a new call is refused: {answer}")
    except OSError:
        note(False, "SIGTERM: a new call is refused")
    call.end()
    try:
        note(server.process.wait(10) == 0, "SIGTERM: it ends with its last call")
    except subprocess.TimeoutExpired:
        note(False, "SIGTERM: it ends with its last call")
        server.process.kill()

    server = serve(program, root)
    call = attack.GoodCall(server)
    call.start()
    time.sleep(1)
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    server.process.send_signal(signal.SIGTERM)
    try:
        status = server.process.wait(10)
        note(status == 1, f"second SIGTERM: it ends, cut short, status {status}")
    except subprocess.TimeoutExpired:
        note(False, "second SIGTERM: it ends")
        server.process.kill()
    time.sleep(0.6)
    note(call.bye, "second SIGTERM: the caller gets a BYE")
    call.running = False
    for path in recordings(server):
        note(readable(path) >= 0, f"second SIGTERM: the recording is readable, {readable(path):.2f} s")


def dead_peer(program, root):
    server = serve(program, root)
    call = attack.GoodCall(server)
    call.start()
    time.sleep(2)
    call.running = False
    for thread in call.threads:
        thread.join()
    call.rtp.close()
    call.sip.close()
    ended = None
    for second in range(100):
        time.sleep(1)
        if server.metric("calls_active") == 0:
            ended = second + 1
            break
    note(ended is not None, f"a caller that dies: the call ended after {ended} s")
    note(server.alive() and server.healthy(), "a caller that dies: the server lives")
    server.process.terminate()
    server.process.wait(20)


def full_disk(program, root):
    if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("skip  full disk: no right to a mount namespace")
        return
    server = serve(program, root, small=True)
    call = attack.GoodCall(server)
    call.start()
    # 16 KB a second: 64 KiB are full after four seconds.
    time.sleep(7)
    note(server.alive() and not call.bye, "full disk: the call goes on")
    call.judge("a full disk")
    call.end()
    time.sleep(1)
    text = open(server.log.name).read()
    print("      " + "\n      ".join(line for line in text.splitlines() if "complete" in line or "record" in line.lower())[:600])
    note("complete=false" in text, "full disk: the flow learns that the recording is not complete")
    note("recorded, not complete" in text and "No space left on device" in text, "full disk: the log has the reason")
    server.process.terminate()
    try:
        note(server.process.wait(20) == 0, "full disk: it ends when asked to")
    except subprocess.TimeoutExpired:
        note(False, "full disk: it ends when asked to")
        server.process.kill()


def main():
    program = os.path.abspath(sys.argv[1])
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for part in (killed, terminated, dead_peer, full_disk):
        if len(sys.argv) < 3 or part.__name__ in sys.argv[2:]:
            part(program, root)
    sys.exit(1 if attack.failures else 0)


main()
