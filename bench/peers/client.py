"""A client that costs little, and the same for each server: requests are made once, and answers barely read."""

import json
import select
import socket
import subprocess
import time

TIMEOUT = 60


class Http:
    """One kept connection. A request is (method, path, body)."""

    def __init__(self, port, headers):
        self.port, self.headers, self.socket, self.pending = port, headers, None, b""

    def connect(self):
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self

    def again(self):
        """Another connection to the same server."""
        return Http(self.port, self.headers).connect()

    def encode(self, request):
        method, path, body = request
        content = b"" if body is None else json.dumps(body).encode()
        head = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", *self.headers]
        if body is not None:
            head += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
        return "\r\n".join(head).encode() + b"\r\n\r\n" + content

    def send(self, encoded):
        self.socket.sendall(encoded)

    def receive(self):
        """The status and the body of the next answer."""
        while b"\r\n\r\n" not in self.pending:
            self.more()
        head, self.pending = self.pending.split(b"\r\n\r\n", 1)
        lower = head.lower()
        if b"content-length:" in lower:
            length = int(lower.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
            while len(self.pending) < length:
                self.more()
            body, self.pending = self.pending[:length], self.pending[length:]
        else:  # in chunks
            while not self.pending.endswith(b"0\r\n\r\n"):
                self.more()
            body, self.pending = self.pending, b""
        return int(head.split(b" ", 2)[1]), body

    def more(self):
        received = self.socket.recv(1 << 18)
        if not received:
            raise SystemExit("the server closed the connection")
        self.pending += received

    def ask(self, encoded):
        self.send(encoded)
        status, body = self.receive()
        if status != 200:
            raise SystemExit(f"{status}: {body[:500]!r}")
        return body

    def rate(self, encoded, at_once, seconds):
        """Answers per second with so many connections that ask again at once."""
        connections = [self.again() for _ in range(at_once)]
        by_number = {connection.socket.fileno(): connection for connection in connections}
        poll = select.poll()
        for number in by_number:
            poll.register(number, select.POLLIN)
        for connection in connections:
            connection.send(encoded)
        count, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            for number, _ in poll.poll(1000):
                connection = by_number[number]
                if connection.receive()[0] != 200:
                    raise SystemExit("an answer under load was no 200")
                connection.send(encoded)
                count += 1
        return count / seconds


class Stdio:
    """The Model Context Protocol on stdin and stdout. A request is (tool, arguments)."""

    def __init__(self, process):
        self.process, self.number = process, 0

    def connect(self):
        info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "peers", "version": "1"}}
        self.send(self.message("initialize", info))
        self.receive()
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return self

    def message(self, method, params):
        self.number += 1
        return json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}).encode() + b"\n"

    def encode(self, request):
        """All but the number, which each request has for itself."""
        tool, arguments = request
        return json.dumps({"method": "tools/call", "params": {"name": tool, "arguments": arguments}}).encode()[1:]

    def send(self, encoded):
        self.process.stdin.write(encoded)
        self.process.stdin.flush()

    def send_numbered(self, encoded):
        self.number += 1
        self.send(b'{"jsonrpc":"2.0","id":%d,%b\n' % (self.number, encoded))

    def receive(self):
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("the server ended")
            if b'"result"' in line or b'"error"' in line:
                return line

    def ask(self, encoded):
        self.send_numbered(encoded)
        line = self.receive()
        answer = json.loads(line) if b'"isError":true' in line.replace(b" ", b"") or b'"error"' in line else {}
        if "error" in answer or answer.get("result", {}).get("isError"):
            raise SystemExit(line[:500])
        return line

    def rate(self, encoded, at_once, seconds):
        for _ in range(at_once):
            self.send_numbered(encoded)
        count, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            self.receive()
            self.send_numbered(encoded)
            count += 1
        for _ in range(at_once):
            self.receive()
        return count / seconds


def pipes():
    """What a server on stdio is started with."""
    return {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
