#!/usr/bin/env python3
"""An LLM server whose times are known: the first token of an answer comes `--first` after it is begun, the others follow in chunks of `--chunk`
tokens each `--interval`, and `--slots` answers are served at once; requests beyond wait in order of their arrival.

    python3 bench/llm/timetable_server.py [--port 0] [--first 0.1] [--interval 0.02] [--chunk 1] [--slots 1000]

Speaks OpenAI's /v1/completions and /v1/chat/completions with streams. Prints its port, then at /truth, as JSON, what it did since the last
question: for each answer the times, in seconds of CLOCK_MONOTONIC, at which its request came, it was begun, and each chunk was written."""
import argparse
import asyncio
import json
import time


class Server:
    def __init__(self, arguments):
        self.arguments = arguments
        self.slots = asyncio.Semaphore(arguments.slots)
        self.truth = []

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                lines = head.split("\r\n")
                method, path, _ = lines[0].split(" ", 2)
                size = next((int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length:")), 0)
                body = await reader.readexactly(size)
                await self.answer(method, path, body, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def answer(self, method, path, body, writer):
        if path == "/v1/models":
            return await self.whole(writer, {"object": "list", "data": [{"id": "timetable", "object": "model"}]})
        if path == "/truth":
            truth, self.truth = self.truth, []
            return await self.whole(writer, truth)
        if path in ("/v1/completions", "/v1/chat/completions"):
            return await self.stream(writer, json.loads(body), "chat" in path)
        return await self.whole(writer, {"error": f"unknown: {method} {path}"}, 404)

    @staticmethod
    async def whole(writer, value, status=200):
        text = json.dumps(value).encode()
        writer.write(b"HTTP/1.1 %d Known\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(text)) + text)
        await writer.drain()

    async def stream(self, writer, request, is_chat):
        came = time.monotonic()
        tokens = request.get("max_tokens") or request.get("max_completion_tokens") or 16
        prompt = json.dumps(request.get("messages") or request.get("prompt"))
        async with self.slots:
            begun = time.monotonic()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            written, sent = [], 0
            while sent < tokens:
                due = begun + self.arguments.first + len(written) * self.arguments.interval
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                count = min(self.arguments.chunk if sent else 1, tokens - sent)
                sent += count
                self.event(writer, self.choice(" word" * count, None, is_chat))
                await writer.drain()
                written.append((time.monotonic(), count))
        self.event(writer, self.choice("", "length", is_chat))
        words = len(prompt.split())
        usage = {"prompt_tokens": words, "completion_tokens": tokens, "total_tokens": words + tokens, "prompt_tokens_details": {"cached_tokens": 0}}
        self.event(writer, {"object": "text_completion", "id": "0", "created": 0, "model": "timetable", "choices": [], "usage": usage})
        writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
        await writer.drain()
        self.truth.append({"came": came, "begun": begun, "written": written})

    @staticmethod
    def choice(text, reason, is_chat):
        part = {"delta": {"content": text}} if is_chat else {"text": text}
        return {"object": "chat.completion.chunk" if is_chat else "text_completion", "id": "0", "created": 0, "model": "timetable",
                "choices": [{"index": 0, **part, "finish_reason": reason}]}

    @staticmethod
    def event(writer, value):
        text = b"data: " + json.dumps(value).encode() + b"\n\n"
        writer.write(b"%x\r\n" % len(text) + text + b"\r\n")


async def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    for name, default in ("first", 0.1), ("interval", 0.02):
        parser.add_argument(f"--{name}", type=float, default=default)
    for name, default in ("chunk", 1), ("slots", 1000):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    server = await asyncio.start_server(Server(arguments).serve, "127.0.0.1", arguments.port, limit=1 << 24, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
