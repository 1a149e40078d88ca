"""A WebSocket peer for the tests, on the `websockets` package (10 or newer).

serve       listens on 127.0.0.1, prints the port, does what a text says (see `obey`), sends back everything else;
            ends when its standard input ends
client URL  opens URL with subprotocol "chat", talks, prints what came back and the code of the end
"""
import asyncio
import sys

import websockets


async def obey(socket):
    async for message in socket:
        if message == "close":
            await socket.close(4001, "as asked")
        elif message == "drop":
            socket.transport.abort()
        elif message == "header":
            headers = socket.request.headers if hasattr(socket, "request") else socket.request_headers
            await socket.send(headers.get("x-test", "-"))
        elif message == "ping":
            await asyncio.wait_for(await socket.ping(b"x" * 125), 5)
            await socket.send("ponged")
        elif message == "fragments":
            await socket.send(["frag", "men", "", "ted \u00e9"])
            await socket.send([bytes([number]) * 70000 for number in range(3)])
        else:
            await socket.send(message)


async def run_server():
    async with websockets.serve(obey, "127.0.0.1", 0, subprotocols=["chat"], max_size=None) as server:
        print(list(server.sockets)[0].getsockname()[1], flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


async def run_client(url):
    async with websockets.connect(url, subprotocols=["chat"], max_size=None) as socket:
        print("subprotocol", socket.subprotocol)
        await socket.send(["frag", "men", "ted \u00e9"])
        print("text", await socket.recv())
        await socket.send([bytes(range(256))] * 1000)
        answer = await socket.recv()
        print("binary", answer == bytes(range(256)) * 1000)
        await asyncio.wait_for(await socket.ping(b"x" * 125), 5)
        print("pong")
        await socket.send("x" * 300001)
        try:
            await socket.recv()
        except websockets.ConnectionClosed as closed:
            print("closed", closed.rcvd.code)
    async with websockets.connect(url, subprotocols=["chat"]) as socket:
        await socket.close(3999, "done")
        print("closed", socket.close_code)


asyncio.run(run_server() if sys.argv[1] == "serve" else run_client(sys.argv[2]))
