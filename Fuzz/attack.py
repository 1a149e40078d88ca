#!/usr/bin/env python3
"""Attacks a running server from outside, with seeded garbage, while one well-behaved call goes on.

    python3 Fuzz/attack.py PROGRAM [--seed N] [--size N]

PROGRAM is the built `ringwright`. Everything happens on loopback, on ports that the system chose, bounded in number and time.
It ends with 0 when the call was not disturbed, nothing crashed, and descriptors, threads and memory came back.
"""
import argparse, os, random, re, signal, socket, struct, subprocess, sys, tempfile, threading, time, urllib.request

PLAYING = """flow: playing
prompts: {prompts}
sections:
  main:
    - answer
    - play: {{ file: hold-music.wav, loop: forever }}
"""
failures = []


def note(good, text):
    print(("ok    " if good else "FAIL  ") + text, flush=True)
    if not good:
        failures.append(text)


class Server:
    def __init__(self, program, root, flow=PLAYING, log="error", options=(), small=False):
        text = flow
        self.folder = tempfile.mkdtemp(prefix="attack-")
        flow = os.path.join(self.folder, "playing.yaml")
        with open(flow, "w") as file:
            file.write(text.format(prompts=os.path.join(root, "prompts")))
        self.log = open(os.path.join(self.folder, "log"), "w+")
        # The disk: a namespace of its own, whose recordings lie on 64 KiB.
        disk = ["unshare", "-m", "sh", "-c", "mkdir -p kept recordings && mount -t tmpfs -o size=64k none kept && "
                "mount -t tmpfs -o size=64k none recordings && exec \"$@\"", "sh"] if small else []
        self.process = subprocess.Popen(
            [*disk, program, "serve", flow, "--sip", "udp:127.0.0.1:0", "--sip", "tcp:127.0.0.1:0", "--http", "127.0.0.1:0",
             "--rtp", "31000-31999", "--max-calls", "100", "--set", f"log.level={log}", *options],
            stdout=self.log, stderr=subprocess.STDOUT, cwd=self.folder)
        self.ports = {}
        for _ in range(200):
            time.sleep(0.05)
            text = open(self.log.name).read()
            for kind, port in re.findall(r"(udp|tcp|http)\S*?127\.0\.0\.1:(\d+)", text):
                self.ports[kind] = int(port)
            if len(self.ports) == 3:
                return
            if self.process.poll() is not None:
                break
        sys.exit("the server did not start:\n" + text)

    def figures(self):
        pid = self.process.pid
        status = open(f"/proc/{pid}/status").read()
        ticks = sum(int(n) for n in open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[11:13])
        # Media ports that were opened once rest in their pool: as many as there were calls at a time.
        resting = set()
        for line in open(f"/proc/{pid}/net/udp").read().splitlines()[1:]:
            fields = line.split()
            if 31000 <= int(fields[1].split(":")[1], 16) <= 31999:
                resting.add(f"socket:[{fields[9]}]")
        links = []
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                links.append(os.readlink(f"/proc/{pid}/fd/{name}"))
            except OSError:
                pass
        return {
            "fds": len([link for link in links if link not in resting]), "media": len([link for link in links if link in resting]), "threads": len(os.listdir(f"/proc/{pid}/task")),
            "rss": int(re.search(r"VmRSS:\s+(\d+)", status)[1]), "cpu": ticks / os.sysconf("SC_CLK_TCK")}

    def alive(self):
        return self.process.poll() is None

    def metric(self, name):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['http']}/metrics", timeout=5) as answer:
                found = re.findall(rf"^\w*{name}\w*(?:{{.*}})? (\d+)", answer.read().decode(), re.M)
                return sum(map(int, found)) if found else None
        except OSError:
            return None

    def healthy(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['http']}/healthz", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False


def sdp(port):
    return (f"v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
            f"m=audio {port} RTP/AVP 0 101\r\na=rtpmap:101 telephone-event/8000\r\na=ptime:20\r\n")


def request(method, port, call, number=1, to="", rtp=9, extra="", transport="UDP", body=None):
    body = sdp(rtp) if body is None and method == "INVITE" else body or ""
    return (f"{method} sip:bot@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/{transport} 127.0.0.1:{port};branch=z9hG4bK{call}{method}{number};rport\r\n"
            f"Max-Forwards: 70\r\nFrom: <sip:a@127.0.0.1>;tag={call}\r\nTo: <sip:bot@127.0.0.1>{to}\r\nCall-ID: {call}\r\n"
            f"CSeq: {number} {method}\r\nContact: <sip:a@127.0.0.1:{port}>\r\n{extra}"
            + ("Content-Type: application/sdp\r\n" if body else "") + f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


class GoodCall:
    """Calls, sends 50 packets a second, watches what comes back, hangs up."""

    def __init__(self, server):
        self.server = ("127.0.0.1", server.ports["udp"])
        self.sip = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sip.bind(("127.0.0.1", 0))
        self.rtp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.rtp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.rtp.bind(("127.0.0.1", 0))
        self.call = f"good{random.randrange(1 << 30)}"
        self.arrivals, self.numbers, self.foreign, self.running = [], [], 0, True
        self.bye, self.usual = False, None

    def start(self):
        port = self.sip.getsockname()[1]
        self.sip.settimeout(10)
        self.sip.sendto(request("INVITE", port, self.call, rtp=self.rtp.getsockname()[1]), self.server)
        while True:
            answer = self.sip.recv(65535).decode()
            if answer.startswith("SIP/2.0 200"):
                break
            if not answer.startswith("SIP/2.0 1"):
                sys.exit("the call was refused: " + answer.split("\r\n")[0])
        self.to = re.search(r"^To:.*?(;tag=\S+)\r$", answer, re.M | re.I)[1]
        self.media = ("127.0.0.1", int(re.search(r"m=audio (\d+)", answer)[1]))
        self.contact = re.search(r"^Contact:.*?<(.*?)>", answer, re.M | re.I)[1]
        self.sip.sendto(request("ACK", port, self.call, to=self.to), self.server)
        self.threads = [threading.Thread(target=t, daemon=True) for t in (self.send, self.receive, self.signals)]
        for thread in self.threads:
            thread.start()

    def send(self):
        sequence, due = 0, time.monotonic()
        while self.running:
            self.rtp.sendto(struct.pack("!BBHII", 0x80, 0, sequence & 0xFFFF, sequence * 160, 0xABCD) + b"\xff" * 160, self.media)
            sequence += 1
            due += 0.02
            time.sleep(max(0, due - time.monotonic()))

    def receive(self):
        self.rtp.settimeout(0.5)
        while self.running:
            try:
                packet = self.rtp.recv(2048)
            except socket.timeout:
                continue
            if len(packet) > 12 and packet[1] & 0x7F == 0 and not 192 <= packet[1] <= 223:
                self.arrivals.append(time.monotonic())
                self.numbers.append(struct.unpack("!H", packet[2:4])[0])

    def signals(self):
        self.sip.settimeout(0.5)
        while self.running:
            try:
                text = self.sip.recv(65535)
            except OSError:
                continue
            if text.startswith(b"BYE"):
                self.bye = True

    def judge(self, what):
        """What was heard since the last time it was asked."""
        numbers, arrivals = self.numbers[:], self.arrivals[:]
        del self.numbers[:len(numbers)], self.arrivals[:len(arrivals)]
        gaps = sorted(b - a for a, b in zip(arrivals, arrivals[1:]))
        lost = sum((b - a - 1) & 0xFFFF for a, b in zip(numbers, numbers[1:]))
        worst = max(gaps) if gaps else 99
        p99 = gaps[int(len(gaps) * 0.99)] if gaps else 99
        span = arrivals[-1] - arrivals[0] if len(arrivals) > 1 else 0
        share = len(arrivals) * 0.02 / span if span else 0
        # On a busy machine even a quiet call is not served every 20 ms: it is compared with itself.
        if self.usual is None:
            self.usual = min(share, 1)
        note(not self.bye and lost == 0 and share > 0.9 * self.usual and worst < 1,
             f"the call during {what}: {len(arrivals)} packets in {span:.1f} s, {lost} lost, gaps p99 {p99 * 1000:.0f} ms, worst {worst * 1000:.0f} ms")

    def end(self):
        self.running = False
        for thread in self.threads:
            thread.join()
        self.sip.settimeout(5)
        self.sip.sendto(request("BYE", self.sip.getsockname()[1], self.call, 2, to=self.to), self.server)
        try:
            note(self.sip.recv(65535).startswith(b"SIP/2.0 200"), "its BYE is answered")
        except OSError:
            note(False, "its BYE is answered")


def mutate(chance, octets):
    data = bytearray(octets)
    for _ in range(chance.randrange(1, 8)):
        kind, at = chance.randrange(7), chance.randrange(len(data))
        if kind == 0:
            data[at] = chance.randrange(256)
        elif kind == 1:
            del data[at:at + chance.randrange(1, 40)]
        elif kind == 2:
            data[at:at] = chance.choice([b"\0", b"\r\n", b"\n", b";", b"<", b"\"", b"%00", b",", b"9" * 30, b"\r\n ", b"\xff" * 9])
        elif kind == 3:
            end = at + chance.randrange(1, 200)
            data[at:at] = data[at:end]
        elif kind == 4:
            data = data[:max(1, at)]
        elif kind == 5:
            lines = data.split(b"\r\n")
            chance.shuffle(lines)
            data = bytearray(b"\r\n".join(lines))
        else:
            data[at:at + 4] = struct.pack("!I", chance.getrandbits(32))
        if not data:
            data = bytearray(b"x")
    return bytes(data)


def bombs(port):
    base = request("INVITE", port, "bomb")
    head, body = base.split(b"\r\n\r\n", 1)
    def rows(text, count):
        return head + b"\r\n" + b"\r\n".join([text] * count) + b"\r\n\r\n" + body
    yield rows(b"Via: SIP/2.0/UDP h;branch=z9hG4bKx", 1000)
    yield rows(b"Via: SIP/2.0/UDP h;branch=z9hG4bKx", 180)
    yield rows(b"Record-Route: <sip:p;lr>", 1500)
    yield rows(b"v:SIP/2.0/UDP h", 190)[:65000]
    yield head + b"\r\nRecord-Route: " + b",".join([b"<sip:p;lr>"] * 5000) + b"\r\n\r\n"
    yield head + b"\r\nVia: " + b",".join([b"SIP/2.0/UDP h"] * 4000) + b"\r\n\r\n"
    yield rows(b"X:", 16000)[:65000]
    yield rows(b"X-" + b"a" * 60000 + b": b", 1)
    yield rows(b"X: " + b"a" * 64000, 1)[:65000]
    yield rows(b"X: a\r\n " + b"b\r\n " * 15000, 1)[:65000]
    yield head.replace(b"From: ", b'From: "' + b"\\\"" * 20000 + b'" ') + b"\r\n\r\n"
    yield head.replace(b"sip:bot@", b"sip:" + b"%41" * 15000 + b"@") + b"\r\n\r\n"
    yield head.replace(b"rport", b"rport;a" * 8000) + b"\r\n\r\n"
    for length in (b"-1", b"99999999999999999999", b"2147483647", b"65535", b"0x10", b"", b"1\0"):
        yield re.sub(rb"Content-Length: \d+", b"Content-Length: " + length, base)
    for via in (b"", b"SIP/2.0/UDP", b"SIP/2.0/UDP [::1", b"SIP/2.0/UDP 127.0.0.1:99999;branch=z9hG4bKq", b"SIP/2.0/UDP 0.0.0.0:0;branch=z9hG4bKz",
                b"SIP/2.0/UDP 255.255.255.255:1;branch=z9hG4bKb;rport", b"SIP/2.0/TCP 127.0.0.1:1;branch=z9hG4bKt", b"SIP/2.0/WSS h;branch=z9hG4bKw",
                b"SIP/2.0/UDP h;received=256.1.1.1;branch=z9hG4bKr", b"SIP/2.0/UDP 224.0.0.1;maddr=224.0.0.1;ttl=255;branch=z9hG4bKm"):
        yield re.sub(rb"Via: [^\r]*", b"Via: " + via, base)
    for replaced in (b"\0" * 400, b"v=0\r\n" + b"m=audio 9 RTP/AVP 0\r\n" * 2000, b"v=0\r\n" + b"a=x\r\n" * 9000,
                     b"v=0\r\nm=audio 9 RTP/AVP " + b"0 " * 20000, sdp(9).encode().replace(b"127.0.0.1", b"0.0.0.0"),
                     sdp(0).encode(), sdp(9).encode().replace(b"127.0.0.1", b"224.0.0.1")):
        yield re.sub(rb"Content-Length: \d+", b"Content-Length: %d" % len(replaced), head) + b"\r\n\r\n" + replaced
    yield base[:-200]
    yield b"\0" * 65000
    yield b"\r\n" * 30000
    yield b"A" * 65000
    yield b"SIP/2.0 200 OK\r\n" + head.split(b"\r\n", 1)[1] + b"\r\n\r\n"


def paced(count, rate, action):
    begin = time.monotonic()
    for index in range(count):
        action(index)
        ahead = (index + 1) / rate - (time.monotonic() - begin)
        if ahead > 0.005:
            time.sleep(ahead)


def datagrams(chance, server, size):
    target = ("127.0.0.1", server.ports["udp"])
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    port = sock.getsockname()[1]
    methods = ["INVITE", "ACK", "BYE", "CANCEL", "OPTIONS", "INFO", "REGISTER", "PRACK", "UPDATE", "REFER", "NOTIFY", "DANCE"]

    def one(index):
        kind = chance.randrange(4)
        if kind == 0:
            octets = chance.randbytes(chance.choice([0, 1, 8, 9, 40, 400, 1400, 9000]))
        else:
            octets = request(chance.choice(methods), port, f"m{chance.randrange(3000)}", chance.randrange(1, 4),
                             to=chance.choice(["", ";tag=x"]), extra=chance.choice(["", "Require: 100rel\r\n", "Route: <sip:x;lr>\r\n"]))
            if kind != 1:
                octets = mutate(chance, octets)
        sock.sendto(octets, target)
    paced(size, 2500, one)
    for octets in bombs(port):
        if len(octets) <= 65507:
            sock.sendto(octets, target)
            time.sleep(0.002)
    sock.close()


def streams(chance, server, size):
    target = ("127.0.0.1", server.ports["tcp"])
    def connect():
        return socket.create_connection(target, timeout=5)
    # One octet at a time.
    slow = connect()
    slow.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for octet in request("OPTIONS", 9, "slow", transport="TCP"):
        slow.send(bytes([octet]))
        time.sleep(0.001)
    slow.settimeout(5)
    try:
        note(slow.recv(4096).startswith(b"SIP/2.0 200"), "a request that comes one octet at a time is answered")
    except OSError:
        note(False, "a request that comes one octet at a time is answered")
    slow.close()
    # A large body that is announced and comes in crumbs.
    slow = connect()
    slow.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    head = request("INVITE", 9, "crumbs", transport="TCP", extra="X: " + "a" * 30000 + "\r\n", body="x" * 30000)
    try:
        slow.sendall(head[:31000])
        for octet in head[31000:31000 + size // 4]:
            slow.send(bytes([octet]))
    except OSError:
        pass
    slow.close()
    held = [connect() for _ in range(400)]
    for index, one in enumerate(held):
        one.send(b"INVITE sip:x@h SIP/2.0\r\nVia: "[:index % 32])

    def one(index):
        sock = connect()
        kind = index % 5
        try:
            if kind == 0:
                sock.send(chance.randbytes(300))
            elif kind == 1:
                sock.send(mutate(chance, request("INVITE", 9, f"t{index}", transport="TCP")))
            elif kind == 2:
                sock.send(request("OPTIONS", 9, f"t{index}", transport="TCP") * 20)
            elif kind == 3:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.send(request("OPTIONS", 9, f"t{index}", transport="TCP"))
        except OSError:
            pass
        sock.close()
    paced(size // 8, 400, one)
    for octets in bombs(9):
        sock = connect()
        try:
            sock.sendall(octets)
        except OSError:
            pass
        sock.close()
    # Asks much and reads nothing.
    deaf = connect()
    deaf.settimeout(1)
    try:
        for index in range(4000):
            deaf.sendall(request("OPTIONS", 9, f"deaf{index}", transport="TCP"))
    except OSError:
        pass
    deaf.close()
    for one in held:
        one.close()


def media(chance, call, size):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))

    def one(index):
        kind = index % 8
        packet = {
            0: struct.pack("!BBHII", 0x80, 0, index & 0xFFFF, index * 160, 0x666) + b"\0" * 160,
            1: struct.pack("!BBHI", 0x81, 203, 1, 0xABCD), 2: struct.pack("!BBHII", 0, 1, 0, 0x2112A442, index) + b"\0" * 8,
            3: b"\x16\xfe\xfd" + chance.randbytes(60), 4: chance.randbytes(chance.randrange(0, 1500)),
            5: struct.pack("!BBHII", 0xBF, 101, index & 0xFFFF, 0, 0xABCD) + chance.randbytes(9),
            6: struct.pack("!BBHII", 0x80, 101, index & 0xFFFF, 7, 0xABCD) + b"\x0b\x8a\x03\x20", 7: b"\x9f\xc8\xff\xff" + chance.randbytes(20)}[kind]
        sock.sendto(packet, (call.media[0], call.media[1] + (index // 8) % 2))
        # From the true source as well, what is neither RTP nor a goodbye.
        if kind in (2, 3, 4, 7) and (not packet or not 128 <= packet[0] <= 191):
            call.rtp.sendto(packet, call.media)
    paced(size, 2500, one)
    sock.close()


def web(chance, server, size):
    target = ("127.0.0.1", server.ports["http"])
    held = []
    for index in range(200):
        try:
            sock = socket.create_connection(target, timeout=2)
            sock.send([b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-", b"GET /met", b"", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\nx"][index % 4])
            held.append(sock)
        except OSError:
            break
    for index in range(size // 40):
        try:
            sock = socket.create_connection(target, timeout=2)
            sock.sendall(mutate(chance, b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") if index % 2 else chance.randbytes(500))
            sock.close()
        except OSError:
            pass
    for _ in range(5):
        for sock in held:
            try:
                sock.send(b"a")
            except OSError:
                pass
        time.sleep(0.5)
    for sock in held:
        sock.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=12000)
    parser.add_argument("--settle", type=int, default=75, help="seconds for timers of what was left half done")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    server = Server(os.path.abspath(options.program), root)
    try:
        # Once, so that what is made at first use is there before it is counted.
        warm = GoodCall(server)
        warm.start()
        time.sleep(2)
        warm.end()
        note(server.healthy(), "health before")
        time.sleep(3)
        before = server.figures()
        call = GoodCall(server)
        call.start()
        time.sleep(3)
        call.judge("quiet")
        for name, attack in (("datagrams", lambda: datagrams(chance, server, options.size)),
                             ("streams", lambda: streams(chance, server, options.size)),
                             ("media", lambda: media(chance, call, options.size)), ("web", lambda: web(chance, server, options.size))):
            used = server.figures()["cpu"] if server.alive() else 0
            attack()
            time.sleep(1)
            if not server.alive():
                note(False, f"the server died of {name}: status {server.process.returncode}")
                break
            now = server.figures()
            print(f"      {name}: {now['cpu'] - used:.1f} s CPU, {now}")
            call.judge(name)
            note(server.healthy(), f"health after {name}")
        if server.alive():
            call.end()
            media(chance, call, 2000)
            for _ in range(options.settle):
                time.sleep(1)
                if server.metric("calls_active") == 0:
                    break
            time.sleep(3)
            note(server.metric("calls_active") == 0, "no call is left")
            after = server.figures()
            note(after["media"] <= 202, f"media ports: {after['media']}")
            time.sleep(4)
            idle = server.figures()["cpu"] - after["cpu"]
            note(after["fds"] <= before["fds"], f"descriptors: {before['fds']} before, {after['fds']} after")
            note(after["threads"] <= before["threads"], f"threads: {before['threads']} before, {after['threads']} after")
            note(after["rss"] <= before["rss"] + 60_000, f"memory: {before['rss']} KiB before, {after['rss']} after")
            note(idle <= 0.1, f"idle: {idle:.2f} s CPU in 4 s")
            server.process.send_signal(signal.SIGTERM)
            try:
                note(server.process.wait(20) == 0, "it ends with 0 when asked to")
            except subprocess.TimeoutExpired:
                note(False, "it ends when asked to")
    finally:
        if server.alive():
            server.process.kill()
        text = open(server.log.name).read()
        if failures:
            # Of a crash its reason and the thread that did it come first.
            crash = text.find("Fatal error")
            crash = crash if crash >= 0 else text.find("*** ")
            print(text[crash:crash + 6000] if crash >= 0 else text[-3000:])
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
