"""A peer of SIP over WebSocket (RFC 7118), as a browser is one: its own address is an invalid name, one message a frame.

  websocket_sip.py client URL [CA.pem]              calls, is hung up; prints "done"
  websocket_sip.py server [CERTIFICATE.pem KEY.pem] prints "port N", answers a call and hangs it up; prints "done"
"""

import asyncio
import ssl
import sys

import websockets

SDP = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 40000 RTP/AVP 0\r\n"
HOST = "df7jal23ls0d.invalid"


def rows(message, *names):
    head = message.split("\r\n\r\n")[0].split("\r\n")[1:]
    return [row for row in head if row.split(":")[0] in names]


def row(message, name):
    return rows(message, name)[0]


def with_body(lines, body):
    if body:
        lines.append("Content-Type: application/sdp")
    lines.append("Content-Length: %d" % len(body))
    return "\r\n".join(lines) + "\r\n\r\n" + body


def answer(request, status="200 OK", body="", to_tag=""):
    lines = ["SIP/2.0 " + status]
    for line in rows(request, "Via", "From", "To", "Call-ID", "CSeq"):
        lines.append(line + to_tag if line.startswith("To:") else line)
    lines.append("Contact: <sip:py@%s;transport=ws>" % HOST)
    return with_body(lines, body)


async def read(link):
    message = await asyncio.wait_for(link.recv(), 10)
    return message if isinstance(message, str) else message.decode()


async def client(url, ca):
    context = ssl.create_default_context(cafile=ca) if ca else None
    try:
        await websockets.connect(url, subprotocols=["chat"], ssl=context)
        raise AssertionError("another subprotocol was taken")
    except (websockets.exceptions.InvalidHandshake, websockets.exceptions.ConnectionClosed, OSError):
        pass
    way = "WSS" if ca else "WS"
    async with websockets.connect(url, subprotocols=["sip"], ssl=context) as link:
        assert link.subprotocol == "sip"

        def request(method, number, to_tag="", body=""):
            return with_body(
                ["%s sip:ivr@ringwright.example SIP/2.0" % method, "Via: SIP/2.0/%s %s;branch=z9hG4bK%s%d" % (way, HOST, method, number),
                 "From: <sip:py@ringwright.example>;tag=1", "To: <sip:ivr@ringwright.example>" + to_tag, "Call-ID: websocket",
                 "CSeq: %d %s" % (number, method), "Max-Forwards: 70", "Contact: <sip:py@%s;transport=ws>" % HOST], body)

        await link.send("\r\n\r\n")
        assert await read(link) == "\r\n", "pong"
        # A message may come as text or binary.
        await link.send(request("OPTIONS", 1).encode())
        assert (await read(link)).startswith("SIP/2.0 200")
        await link.send(request("INVITE", 2, body=SDP))
        response = await read(link)
        while response.startswith("SIP/2.0 1"):
            response = await read(link)
        assert response.startswith("SIP/2.0 200"), response
        assert ";transport=ws" in row(response, "Contact"), response
        to_tag = row(response, "To")[row(response, "To").index(";tag="):]
        await link.send(request("ACK", 2, to_tag))
        bye = await read(link)
        assert bye.startswith("BYE sip:py@%s;transport=ws SIP/2.0" % HOST), bye
        assert row(bye, "Via").startswith("Via: SIP/2.0/%s " % way), bye
        await link.send(answer(bye))
        await asyncio.sleep(0.2)
    print("done")


async def server(files):
    context = None
    if files:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
    over = asyncio.get_running_loop().create_future()

    async def serve(link):
        try:
            assert link.path == "/sip", link.path
            invite = await read(link)
            assert invite.startswith("INVITE sip:"), invite
            assert row(invite, "Via").split(" ")[1] == ("SIP/2.0/WSS" if files else "SIP/2.0/WS"), invite
            assert ".invalid;transport=ws>" in row(invite, "Contact"), invite
            await link.send(answer(invite, body=SDP, to_tag=";tag=2"))
            ack = await read(link)
            assert ack.startswith("ACK sip:py@"), ack
            uri = row(invite, "Contact").split("<")[1].split(">")[0]
            await link.send(with_body(
                ["BYE %s SIP/2.0" % uri, "Via: SIP/2.0/WS %s;branch=z9hG4bKbye" % HOST, "From" + row(ack, "To")[2:],
                 "To" + row(ack, "From")[4:], row(ack, "Call-ID"), "CSeq: 1 BYE", "Max-Forwards: 70"], ""))
            assert (await read(link)).startswith("SIP/2.0 200")
            over.set_result(None)
        except Exception as problem:
            over.set_exception(problem)

    async with websockets.serve(serve, "127.0.0.1", 0, subprotocols=["sip"], ssl=context) as listener:
        print("port %d" % listener.sockets[0].getsockname()[1], flush=True)
        await asyncio.wait_for(over, 15)
    print("done")


if sys.argv[1] == "client":
    asyncio.run(client(sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None))
else:
    asyncio.run(server(sys.argv[2:]))
