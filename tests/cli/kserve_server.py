"""A KServe v2 server for tests, on the loopback interface: a model `double` (y = x + x of [N, 3]) whose misdeeds a test sets."""
import json
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from certificate import secured


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, body=b"", status=200, kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def reply_json(self, value):
        self.reply(json.dumps(value).encode())

    def do_GET(self):
        if self.server.echoes == self.path:  # as a proxy does that tells what it was asked
            return self.reply(json.dumps({"error": f"\x1b[31mno right for {self.headers['Authorization']}"}).encode(), 403)
        tensor = {"datatype": "FP32", "shape": self.server.shape}
        answers = {"/v2": {"name": "scripted", "version": "7", "extensions": ["binary_tensor_data", "statistics"]},
                   "/v2/models/double": {"name": "double", "platform": "script", "inputs": [{"name": "x", **tensor}], "outputs": [{"name": "y", **tensor}]},
                   "/v2/models/double/ready": {}, "/v2/models/double/config": {"max_batch_size": 8}}
        if self.path == "/v2/models/double/stats":
            n = self.server.answered
            part = lambda ms: {"count": n, "ns": int(ms * 1e6 * n)}
            answers[self.path] = {"model_stats": [{"inference_count": n, "execution_count": n, "inference_stats": {
                "success": part(3), "fail": {"count": 0, "ns": 0}, "queue": part(1), "compute_input": part(0.25), "compute_infer": part(1.5), "compute_output": part(0.125)}}]}
        if self.path == "/metrics":
            return self.reply(f'nv_gpu_power_usage{{gpu_uuid="GPU-1"}} 250\nnv_inference_request_success{{model="double",version="1"}} '
                              f"{self.server.answered}\n".encode(), kind="text/plain")
        if self.path in answers:
            self.reply_json(answers[self.path])
        else:
            self.reply(b'{"error":"unknown"}', 404)
        return None

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v2/repository/index":
            return self.reply_json([{"name": "double", "version": "1", "state": "READY"}])
        with self.server.lock:
            self.server.answered += 1
            fault = self.server.fault(self.server.answered)
        if self.server.echoes == self.path:
            return self.reply(json.dumps({"error": f"no right for {self.headers['Authorization']}"}).encode(), 500)
        if fault == "reset":
            self.close_connection = True
            return None
        if fault:
            return self.reply(b'{"error":"the model is gone"}', fault)
        head = int(self.headers["Inference-Header-Content-Length"])
        shape = json.loads(body[:head])["inputs"][0]["shape"]
        count = shape[0] * 3
        values = [2 * value + self.server.error for value in struct.unpack(f"<{count}f", body[head:])]
        out = json.dumps({"model_name": "double", "outputs": [{"name": "y", "datatype": "FP32", "shape": shape, "parameters": {"binary_data_size": 4 * count}}]}).encode()
        return self.reply(out + struct.pack(f"<{count}f", *values), kind="application/octet-stream", Inference_Header_Content_Length=str(len(out)))

    def log_message(self, *arguments):
        pass


class Server(ThreadingHTTPServer):
    """`fault(n)`: what becomes of the n-th request for inference, from 1: None, a status, or "reset". `error` is added to its answers.
    `echoes`: path whose answer repeats the token. `shape`: of both tensors, as the metadata have it."""
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, certificate=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock, self.answered, self.error = threading.Lock(), 0, 0.0
        self.fault = lambda n: None
        self.echoes, self.shape = "", [-1, 3]
        self.scheme = "https" if certificate else "http"
        if certificate:
            self.socket = secured(self.socket, certificate)
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        pass  # clients that go away are part of the tests

    def stop(self):
        self.shutdown()
        self.server_close()
        self.thread.join()
