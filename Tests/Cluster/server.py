#!/usr/bin/env python3
"""An HTTP/1.1 server with a manifest, faults, and measurements, for the check of units on a cluster.

    server.py serve                        serves the sets `files` and `small` until it is terminated; prints the port first
    server.py write MANIFEST PORT SET      writes a manifest of a set
    server.py ask PORT PATH                prints the response of 127.0.0.1, whose paths are below

Each of 127.0.0.1 to 127.0.0.20 is an origin. The bytes of a file are a function of its number. The paths on 127.0.0.1:

/reset?limit=N&rate=N&slow=N&delay=N sets the measurements to zero, and the following, where 0 means no limit: the number of
requests that each origin answers at a time, beyond which it answers 503 with Retry-After; the bytes per second of each response;
those of the first response with the slow file; and the milliseconds before each response.
/measurements returns the measurements in JSON.
"""
import asyncio
import email.utils
import hashlib
import json
import random
import re
import socket
import sys
import time
import urllib.request

ORIGINS = [f"127.0.0.{number}" for number in range(1, 21)]
# Nothing listens there, and no resolver knows the last two names.
DEAD = ["127.0.1.1", "127.0.1.2", "127.0.1.3", "dead-a.invalid", "dead-b.invalid"]
COUNTS = {"files": 2000, "small": 400}
SMALLEST, LARGEST = 4 << 10, 64 << 20
PIECE = 1 << 16
SEED = 20
LAST_MODIFIED = email.utils.formatdate(1_700_000_000, usegmt=True)
# The numbers of the files that have faults, in each set.
MISSING, BUSY, BROKEN, SLOW = 7, 11, 13, 17


class File:
    """A file of a set: its origin, its length, and its bytes."""

    def __init__(self, of, number, origin, length, offset):
        self.of, self.number, self.origin, self.length, self.offset = of, number, origin, length, offset
        self.etag = f'"{of}-{number}-{length}"'

    def url(self, port):
        return f"http://{self.origin}:{port}/{self.of}/{self.number}"

    @property
    def body(self):
        return memoryview(pool())[self.offset : self.offset + self.length]

    @property
    def sha256(self):
        return hashlib.sha256(self.body).hexdigest()


def pool(cache=[]):
    """The bytes of which each file has a part."""
    if not cache:
        cache.append(random.Random(SEED).randbytes(LARGEST + (1 << 20)))
    return cache[0]


def files(of):
    """The files of a set, in the order of their numbers. A few files, and a few origins, have most of the bytes."""
    chance = random.Random(f"{SEED} {of}")
    count = COUNTS[of]
    if of == "files":
        lengths = [max(SMALLEST, int(LARGEST / rank**1.3)) for rank in range(1, count + 1)]
    else:
        lengths = [SMALLEST + 16 * rank for rank in range(count)]
    chance.shuffle(lengths)
    weights = [1 / (place + 4) for place in range(len(ORIGINS))]
    # The lengths that the faults need.
    for number, length in ((BUSY, 20_000), (BROKEN, 3_000_000), (SLOW, 300_000)):
        if of == "files":
            lengths[number] = length
    return [
        File(of, number, chance.choices(ORIGINS, weights)[0], length, chance.randrange(1 << 20))
        for number, length in enumerate(lengths)
    ]


def dead(of, port):
    """The URLs that can't be reached: 20 % of the names, two files each."""
    return [f"http://{name}:{port}/{of}/{number}" for name in DEAD for number in range(2)]


class Server:
    def __init__(self):
        self.files = {of: files(of) for of in COUNTS}
        self.reset(0, 0, 0, 0)

    def reset(self, limit, rate, slow, delay):
        self.limit, self.rate, self.slow, self.delay = limit, rate, slow, delay / 1000
        self.start, self.first = time.monotonic(), None
        self.bytes = self.requests = self.refusals = 0
        self.active = dict.fromkeys(ORIGINS, 0)
        self.peaks = dict.fromkeys(ORIGINS, 0)
        self.seen = {}

    def measurements(self):
        return {
            "bytes": self.bytes, "requests": self.requests, "refusals": self.refusals, "peak": max(self.peaks.values()),
            "peaks": self.peaks, "first": self.first,
        }

    async def serve(self):
        sockets = []
        port = 0
        for origin in ORIGINS:
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Bytes that wait for a client that was killed would count as sent.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PIECE)
            listener.bind((origin, port))
            port = listener.getsockname()[1]
            sockets.append(listener)
        pool()
        servers = [
            await asyncio.start_server(lambda r, w, o=origin: self.connection(o, r, w), sock=listener, backlog=1000)
            for origin, listener in zip(ORIGINS, sockets)
        ]
        print(port, flush=True)
        await asyncio.gather(*(server.serve_forever() for server in servers))

    async def connection(self, origin, reader, writer):
        writer.transport.set_write_buffer_limits(PIECE)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, target, _ = head[0].split(" ")
                fields = {}
                for line in head[1:-2]:
                    name, _, value = line.partition(":")
                    fields[name.lower()] = value.strip()
                if not await self.answer(origin, method, target, fields, writer):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def answer(self, origin, method, target, fields, writer):
        """Answers a request; returns whether the connection may be used again."""
        if match := re.fullmatch(r"/reset\?limit=(\d+)&rate=(\d+)&slow=(\d+)&delay=(\d+)", target):
            self.reset(*map(int, match.groups()))
            return self.send(writer, 200, b"")
        if target == "/measurements":
            return self.send(writer, 200, json.dumps(self.measurements()).encode())
        self.requests += 1
        self.active[origin] += 1
        self.peaks[origin] = max(self.peaks[origin], self.active[origin])
        try:
            if self.limit and self.active[origin] > self.limit:
                self.refusals += 1
                return self.send(writer, 503, b"", ("Retry-After: 1",))
            await asyncio.sleep(self.delay)
            return await self.send_file(origin, method, target, fields, writer)
        finally:
            self.active[origin] -= 1

    async def send_file(self, origin, method, target, fields, writer):
        match = re.fullmatch(r"/(\w+)/(\d+)", target)
        of, number = (match[1], int(match[2])) if match else (None, -1)
        if of not in self.files or not 0 <= number < COUNTS[of] or number == MISSING:
            return self.send(writer, 404, b"")
        file = self.files[of][number]
        if file.origin != origin:
            return self.send(writer, 404, b"")
        self.seen[of, number] = self.seen.get((of, number), 0) + 1
        is_first = self.seen[of, number] == 1
        if number == BUSY and is_first:
            return self.send(writer, 503, b"", ("Retry-After: 1",))
        about = (f"ETag: {file.etag}", f"Last-Modified: {LAST_MODIFIED}", "Accept-Ranges: bytes")
        if fields.get("if-none-match") == file.etag:
            return self.send(writer, 304, None, about)
        first, last, status = 0, file.length - 1, 200
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", fields.get("range", ""))
        if asked and fields.get("if-range", file.etag) == file.etag:
            first, last, status = int(asked[1]), min(last, int(asked[2] or last)), 206
            if first > last:
                return self.send(writer, 416, b"", (f"Content-Range: bytes */{file.length}",))
            about += (f"Content-Range: bytes {first}-{last}/{file.length}",)
        body = file.body[first : last + 1]
        self.send(writer, status, None, (*about, f"Content-Length: {len(body)}"))
        if method == "HEAD":
            return True
        rate = self.slow if number == SLOW and is_first else self.rate
        # A slow response is sent in pieces of a second.
        length = min(PIECE, rate) if rate else PIECE
        for start in range(0, len(body), length):
            if number == BROKEN and is_first and start >= len(body) // 2:
                writer.transport.abort()
                return False
            piece = body[start : start + length]
            self.first = self.first or time.monotonic() - self.start
            self.bytes += len(piece)
            writer.write(piece)
            await writer.drain()
            if rate and len(body) > PIECE // 4:
                await asyncio.sleep(len(piece) / rate)
        return True

    def send(self, writer, status, body, fields=()):
        """Writes a response, or without a body its head; returns true."""
        lines = [f"HTTP/1.1 {status} {'OK' if status < 300 else 'Other'}", *fields]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + (body or b""))
        return True


def main(command, *arguments):
    if command == "write":
        path, port, of = arguments
        lines = [file.url(port) for file in files(of)] + dead(of, port)
        random.Random(SEED).shuffle(lines)
        with open(path, "w") as manifest:
            for line in lines:
                _, _, host, _, number = line.split("/")
                manifest.write(f"{line}\n  out={host.split(':')[0]}/{number}\n")
    elif command == "serve":
        asyncio.run(Server().serve())
    elif command == "ask":
        port, path = arguments
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as response:
            print(response.read().decode())


if __name__ == "__main__":
    main(*sys.argv[1:])
