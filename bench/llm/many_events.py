#!/usr/bin/env python3
"""deepgap's client under many token events: a server that writes a token to each open stream every few milliseconds, deepgap on one CPU.

    python3 bench/llm/many_events.py [--events 20000] [--interval 0.005] [--tokens 200] [--seconds 20] [--rounds 3] [--build build]
        [--guidellm PROGRAM]

The server's process has one CPU and deepgap another. Requests come at equal distances, as many as the tokens of an answer need for --events a
second. A round prints the tokens a second that deepgap counted and how late it issued requests (median and p99). The server's truth: a first token
comes within --interval, each further one after --interval. With --guidellm each round runs that program on the same server and CPU, too. Exit
code 1 where deepgap's p99 is 1 ms or more in most rounds."""
import argparse
import json
import os
import pathlib
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def chunk(value):
    text = b"data: " + json.dumps(value).encode() + b"\n\n"
    return b"%x\r\n" % len(text) + text + b"\r\n"


def choice(text, reason):
    return {"object": "text_completion", "id": "0", "created": 0, "model": "many", "choices": [{"index": 0, "text": text, "finish_reason": reason}]}


def page(value):
    text = json.dumps(value).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text) + text


def end_of(prompt, tokens):
    words = len(str(prompt).split())
    counts = {"prompt_tokens": words, "completion_tokens": tokens, "total_tokens": words + tokens, "prompt_tokens_details": {"cached_tokens": 0}}
    usage = {"object": "text_completion", "id": "0", "created": 0, "model": "many", "choices": [], "usage": counts}
    return chunk(choice("", "length")) + chunk(usage) + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"


class Server:
    """One thread: what it writes for a token is made before, so that Python keeps up."""
    HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    WORD = chunk(choice(" word", None))

    def __init__(self, interval):
        self.interval = interval
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.selector = selectors.EpollSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.read, self.streams = {}, {}  # bytes of a request so far; tokens left and what ends the answer

    def serve(self):
        due = time.monotonic() + self.interval
        while True:
            for key, _ in self.selector.select(max(0.0, due - time.monotonic())):
                self.accept() if key.fileobj is self.listener else self.take(key.fileobj)
            if time.monotonic() >= due:
                due = max(due + self.interval, time.monotonic() - 1)
                self.write_tokens()

    def accept(self):
        client, _ = self.listener.accept()
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.selector.register(client, selectors.EVENT_READ)
        self.read[client] = b""

    def leave(self, client):
        self.selector.unregister(client)
        self.read.pop(client, None)
        self.streams.pop(client, None)
        client.close()

    def take(self, client):
        try:
            data = client.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            return self.leave(client)
        whole = self.read[client] + data
        while (end := whole.find(b"\r\n\r\n")) >= 0:
            head = whole[:end].decode().lower()
            size = next((int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length:")), 0)
            if len(whole) < end + 4 + size:
                break
            self.answer(client, head, whole[end + 4:end + 4 + size])
            whole = whole[end + 4 + size:]
        self.read[client] = whole

    def answer(self, client, head, body):
        if "/v1/models" in head:
            client.send(page({"object": "list", "data": [{"id": "many", "object": "model"}]}))
        elif "/health" in head:
            client.send(page({}))
        elif "completions" in head:
            request = json.loads(body)
            client.send(self.HEAD)
            self.streams[client] = [request["max_tokens"], end_of(request.get("prompt"), request["max_tokens"])]
        else:
            client.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}")

    def write_tokens(self):
        for client, stream in list(self.streams.items()):
            try:
                client.send(self.WORD)
                stream[0] -= 1
                if stream[0] == 0:
                    client.send(stream[1])
                    del self.streams[client]
            except OSError:
                self.streams.pop(client, None)


def measured(options, port, cpu, store):
    rate = options.events / options.tokens
    program = f"{options.build}/bin/deepgap"
    subprocess.run(["taskset", "-c", str(cpu), program, "run", "--task", "generate", "--backend", "openai", "--device", f"http://127.0.0.1:{port}",
                    "--model", "many", "--scenario", "constant", "--rate", str(rate), "--prompt-tokens", "16", "--output-tokens", str(options.tokens),
                    "--duration", f"{options.seconds}s", "--warmup", "5", "--repeats", "1", "--busy", "share", "--store", store],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return json.loads(subprocess.run([program, "export", store, "--format", "json"], check=True, capture_output=True, text=True).stdout)[0]


def by_guidellm(options, port, cpu, folder):
    """Returns GuideLLM's figures of the same load: tokens a second, time to the first token, between tokens and for a request."""
    prompts, report = folder / "prompts.jsonl", folder / "report.json"
    count = int(options.events / options.tokens * options.seconds * 2)
    prompts.write_text("".join(json.dumps({"prompt": "word " * 15 + str(i), "output_tokens_count": options.tokens}) + "\n" for i in range(count)))
    subprocess.run(["taskset", "-c", str(cpu), options.guidellm, "run", "--backend",
                    f"kind=openai_http,target=http://127.0.0.1:{port},model=many,request_format=/v1/completions", "--profile",
                    f"kind=constant,rate={options.events / options.tokens:g}", "--constraint", f"kind=max_duration,seconds={options.seconds}", "--data",
                    f"kind=json_file,path={prompts}", "--output", f"kind=json,path={report}", "--disable-console-interactive"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    metrics = json.loads(report.read_text())["benchmarks"][0]["metrics"]

    def mean(name):
        return metrics[name]["successful"]["mean"]

    return (f"{mean('output_tokens_per_second'):,.0f} tokens/s; TTFT {mean('time_to_first_token_ms'):.1f} ms, "
            f"between tokens {mean('inter_token_latency_ms'):.2f} ms, {mean('request_latency'):.2f} s a request")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=float, default=20000)
    parser.add_argument("--interval", type=float, default=0.005)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--guidellm", help="GuideLLM's program, to measure the same load")
    parser.add_argument("--build", default=str(ROOT / "build"))
    options = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        sys.exit("two CPUs are needed, one for the server and one for the client")
    server = Server(options.interval)
    child = os.fork()
    if child == 0:
        os.sched_setaffinity(0, {cpus[1]})
        server.serve()
    server.listener.close()
    late = []
    try:
        for number in range(options.rounds):
            with tempfile.TemporaryDirectory() as folder:
                row = measured(options, server.port, cpus[0], f"{folder}/many.db")
            late.append(row["issue_lateness_p99_us"])
            print(f"round {number + 1}: {row['output_tokens_per_s']:,.0f} tokens/s, requests {row['issue_lateness_p50_us']:.0f} us late in the median, "
                  f"{late[-1]:.0f} at p99; TTFT {row['ttft_ms']:.2f} ms, time per token {row['tpot_ms']:.3f} ms", flush=True)
            if options.guidellm:
                with tempfile.TemporaryDirectory() as folder:
                    print(f"         guidellm: {by_guidellm(options, server.port, cpus[0], pathlib.Path(folder))}", flush=True)
    finally:
        os.kill(child, 15)
        os.waitpid(child, 0)
    return 0 if statistics.median(late) < 1000 else 1


if __name__ == "__main__":
    sys.exit(main())
