"""What the scripts that kill processes share: the other side of calls, a PostgreSQL, and networks of their own."""
import collections, os, re, socket, subprocess, tempfile, threading


class Callee(threading.Thread):
    """Answers INVITE and BYE; remembers the Call-IDs of each number."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.socket.bind(("0.0.0.0", 0))
        self.port = self.socket.getsockname()[1]
        self.calls = collections.defaultdict(set)

    def run(self):
        while True:
            data, peer = self.socket.recvfrom(65535)
            text = data.decode(errors="replace")
            method, uri = (text.split(" ", 2) + ["", ""])[:2]
            if method not in ("INVITE", "BYE", "CANCEL"):
                continue
            rows = dict()
            for line in text.split("\r\n\r\n")[0].split("\r\n")[1:]:
                name, _, value = line.partition(":")
                rows.setdefault(name.strip().lower(), value.strip())
            if method == "INVITE":
                self.calls[re.match(r"sip:([^@]*)@", uri).group(1)].add(rows["call-id"])
            tag = "" if "tag=" in rows["to"] else ";tag=x"
            body = ""
            if method == "INVITE":
                body = ("v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
                        "m=audio 9 RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\n")
            kind = "Content-Type: application/sdp\r\n" if body else ""
            host = re.search(r"@([^:;>]*)", uri).group(1)
            self.socket.sendto(
                (f"SIP/2.0 200 OK\r\nVia: {rows['via']}\r\nFrom: {rows['from']}\r\nTo: {rows['to']}{tag}\r\n"
                 f"Call-ID: {rows['call-id']}\r\nCSeq: {rows['cseq']}\r\nContact: <sip:c@{host}:{self.port}>\r\n"
                 f"{kind}Content-Length: {len(body)}\r\n\r\n{body}").encode(), peer)


class System(threading.Thread):
    """A system under test with parties: a stateless proxy (RFC 3261 section 16.11) that stays in the dialog. It forwards the call to number
    N as one to 9N at any of the workers, or to any contact that is registered here, and remembers the Call-IDs of each number."""

    def __init__(self, chance, registers=False):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.socket.bind(("0.0.0.0", 0))
        self.port = self.socket.getsockname()[1]
        self.chance = chance
        self.registers = registers
        self.contacts = []
        self.workers = []
        self.calls = collections.defaultdict(set)
        self.ways = {}

    def run(self):
        while True:
            data, peer = self.socket.recvfrom(65535)
            head, _, body = data.decode(errors="replace").partition("\r\n\r\n")
            first, *rows = head.split("\r\n")
            if not rows:
                continue
            if first.startswith("SIP/2.0"):
                self.respond(first, rows, body)
            else:
                self.forward(first, rows, body, peer)

    @staticmethod
    def row(rows, name):
        return next((index for index, row in enumerate(rows) if row.lower().startswith(name + ":")), None)

    def send(self, lines, body, target):
        self.socket.sendto(("\r\n".join(lines) + "\r\n\r\n" + body).encode(), target)

    def respond(self, first, rows, body):
        rows.pop(self.row(rows, "via"))
        via = self.row(rows, "via")
        if via is None:
            return
        received, port = (re.search(rf";{name}=([^;, ]+)", rows[via]) for name in ("received", "rport"))
        if received and port:
            self.send([first] + rows, body, (received.group(1), int(port.group(1))))

    @staticmethod
    def own(target):
        """This machine's address for those that reach it from there."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(target)
            return probe.getsockname()[0]

    def register(self, rows, peer):
        """A registrar of one line, without passwords: contacts come and go (RFC 3261 section 10.3)."""
        for row in [row for row in rows if row.lower().startswith("contact:")]:
            uri, seconds = re.search(r"<([^>]*)>", row).group(1), re.search(r">.*;expires=(\d+)", row).group(1)
            self.contacts = [contact for contact in self.contacts if contact != uri] + ([uri] if seconds != "0" else [])
        kept = [row for row in rows if row.split(":")[0].lower() in ("via", "from", "to", "call-id", "cseq")]
        kept += [f"Contact: <{contact}>;expires=600" for contact in self.contacts] + ["Content-Length: 0"]
        kept[self.row(kept, "to")] += ";tag=r"
        self.send(["SIP/2.0 200 OK"] + kept, "", peer)

    def forward(self, first, rows, body, peer):
        method, uri, _ = first.split(" ", 2)
        if method == "REGISTER":
            return self.register(rows, peer)
        via = self.row(rows, "via")
        rows[via] = re.sub(r";rport(=\d*)?(?=;|$)", "", rows[via]) + f";received={peer[0]};rport={peer[1]}"
        call = rows[self.row(rows, "call-id")].split(":", 1)[1].strip()
        route = self.row(rows, "route")
        if route is not None:
            rows.pop(route)
            host, port = re.search(r"@?([0-9.]+):(\d+)", uri.split("@")[-1]).groups()
            target = (host, int(port))
        else:
            number = re.match(r"sip:([^@]*)@", uri).group(1)
            if method == "INVITE":
                self.calls[number].add(call)
            # Repetitions, CANCEL and the ACK of a refusal go the same way.
            places = self.contacts if self.registers else [f"sip:9{number}@{host}:{port}" for host, port in self.workers]
            if call not in self.ways and not places:
                kept = [row for row in rows if row.split(":")[0].lower() in ("via", "from", "to", "call-id", "cseq")]
                kept[self.row(kept, "to")] += ";tag=n"
                return self.send(["SIP/2.0 480 Temporarily Unavailable"] + kept + ["Content-Length: 0"], "", peer)
            place = self.ways.setdefault(call, self.chance.choice(places or [""]))
            host, port = re.search(r"@([0-9.]+):(\d+)", place).groups()
            target = (host, int(port))
            first = f"{method} {place} SIP/2.0"
            if method == "INVITE":
                rows.insert(0, f"Record-Route: <sip:{self.own(target)}:{self.port};lr>")
        branch = re.search(r";branch=([^;, ]+)", rows[self.row(rows, "via")]).group(1)
        rows.insert(0, f"Via: SIP/2.0/UDP {self.own(target)}:{self.port};branch={branch}s")
        self.send([first] + rows, body, target)


class PostgreSQL:
    """A server of this script's own (scripts/postgresql); it ends with the script."""

    def __init__(self, addresses):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.parent = tempfile.TemporaryDirectory()
        os.chmod(self.parent.name, 0o755)
        self.folder = f"{self.parent.name}/postgresql"
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scripts/postgresql")
        self.process = subprocess.Popen([script, self.folder, str(self.port), ",".join(addresses)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit("PostgreSQL did not start")

    def url(self, host=None):
        if host:
            return f"postgresql://ringwright@{host}:{self.port}/postgres"
        return f"postgresql://ringwright@/postgres?host={self.folder}&port={self.port}"

    def ask(self, statement):
        result = subprocess.run(["psql", "-qAtX", "-c", statement, self.url()], capture_output=True, text=True)
        return result.stdout.strip() if result.returncode == 0 else ""

    def has_campaign(self, name):
        return self.ask(f"SELECT count(*) FROM \"ringwright campaign {name}\".meta WHERE name = 'list'") == "1"

    def is_worked_on(self, name):
        return self.ask(f"SELECT count(*) FROM \"ringwright campaign {name}\".worker WHERE alive = 1") not in ("", "0")

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.parent.cleanup()


class Network:
    """Network namespaces, each with a wire to this machine. Root only."""

    def __init__(self, count):
        self.names = [f"rw{os.getpid()}n{index}" for index in range(count)]
        self.addresses = [f"10.231.{index}.1" for index in range(count)]
        for index, name in enumerate(self.names):
            wire = f"rw{os.getpid() % 100000}w{index}"
            self.ip("netns", "add", name)
            self.ip("link", "add", wire, "type", "veth", "peer", "name", "eth0", "netns", name)
            self.ip("addr", "add", f"10.231.{index}.1/24", "dev", wire)
            self.ip("link", "set", wire, "up")
            for command in (["addr", "add", f"10.231.{index}.2/24", "dev", "eth0"], ["link", "set", "eth0", "up"],
                            ["link", "set", "lo", "up"], ["route", "add", "default", "via", f"10.231.{index}.1"]):
                self.ip("-n", name, *command)

    @staticmethod
    def ip(*words):
        subprocess.run(["ip", *words], check=True)

    def inside(self, index, command):
        """The command in one of the networks: the same process, so that a signal is for it."""
        return ["ip", "netns", "exec", self.names[index], *command]

    def close(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name])
