"""A server of OpenAI's protocol for tests, on the loopback interface: a model `tiny` whose streams and misdeeds a test sets."""
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from certificate import secured


def event(value):
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def text(word=" word", **more):
    return event({"choices": [{"index": 0, "text": word}], **more})


def usage(prompt, completion, cached=None):
    counts = {"prompt_tokens": prompt, "completion_tokens": completion}
    if cached is not None:
        counts["prompt_tokens_details"] = {"cached_tokens": cached}
    return {"usage": counts}


STOP = event({"choices": [{"index": 0, "text": "", "finish_reason": "length"}]})
DONE = b"data: [DONE]\n\n"


def good(request):
    """Sends as many tokens as were requested, a chunk each, and their count at the end."""
    words = len(request["prompt"].split())
    return [*[text() for _ in range(request["max_tokens"])], STOP, event({"choices": [], **usage(words, request["max_tokens"], 0)}), DONE]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, body, status=200, kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def stream(self, pieces, kind="text/event-stream"):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            if piece == "close":
                self.close_connection = True
                return
            if piece == "silence":  # until the client leaves
                self.connection.settimeout(20)
                self.connection.recv(1)
                self.close_connection = True
                return
            if isinstance(piece, float):
                time.sleep(piece)
                continue
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def do_GET(self):
        if self.path in self.server.pages:
            self.reply(*self.server.pages[self.path])
        elif self.path == "/v1/models":
            self.reply(json.dumps({"object": "list", "data": [{"id": "tiny"}]}).encode())
        else:
            self.reply(b"{}", 404)

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path in self.server.pages:
            return self.reply(*self.server.pages[self.path])
        if self.path != "/v1/completions":
            return self.reply(b"{}", 404)
        with self.server.lock:
            number = self.server.asked
            self.server.asked += 1
        answer = self.server.script(number, request)
        try:
            if isinstance(answer, tuple):
                self.reply(answer[0], **answer[1])
            else:
                self.stream(good(request) if answer is None else answer)
        except OSError:  # the client left
            self.close_connection = True
        return None

    def log_message(self, *arguments):
        pass


class Server(ThreadingHTTPServer):
    """`script(n, request)`: the answer to the n-th request for tokens; the 0th is deepgap's own. None: a good one; a list: pieces of a stream,
    "close", "silence", or seconds to wait; a tuple: a body and arguments of reply(). `pages`: arguments of reply() by path."""
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, certificate=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock, self.asked, self.pages = threading.Lock(), 0, {}
        self.script = lambda number, request: None
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.server_address[1]}"
        if certificate:
            self.socket = secured(self.socket, certificate)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()
