"""A server for Python functions on this machine, in the protocol that `--backend kserve` measures (KServe v2 over HTTP/1.1).

It answers one function per model. A thread serves each connection; the functions run in those threads. It is written for short answers
rather than for many clients: what it costs itself is measured with an empty function beside each measured one.
"""
from __future__ import annotations

import hmac
import json
import socket
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

DATATYPES = {
    "bool": "BOOL",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "float16": "FP16",
    "float32": "FP32",
    "float64": "FP64",
}
DTYPES = {datatype: dtype for dtype, datatype in DATATYPES.items()}

# The first port that is tried. The port is part of a point's device, so the same port makes the same function the same point again.
FIRST_PORT = 18754
PORTS = 64
MOST_HEAD_BYTES = 1 << 16

Tensor = tuple[str, str, list[int]]  # name, dtype, shape; -1 is the batch
Call = Callable[[dict[str, Any]], Sequence[Any]]  # arrays by name to arrays in the order of the outputs


class Served:
    """One model of the server: its tensors, the function, and what happened so far."""

    def __init__(self, name: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], call: Call, concurrent: bool) -> None:
        self.name, self.inputs, self.outputs, self.call = name, inputs, outputs, call
        self.turn = None if concurrent else threading.Lock()
        self.lock = threading.Lock()
        self.answered = self.failed = self.samples = self.queue_ns = self.inference_ns = 0
        self.traceback: str | None = None  # traceback of the first exception

    def metadata(self) -> dict[str, Any]:
        def tensors(ports: Sequence[Tensor]) -> list[dict[str, Any]]:
            return [{"name": name, "datatype": DATATYPES[dtype], "shape": shape} for name, dtype, shape in ports]

        return {"name": self.name, "versions": ["1"], "platform": "python", "inputs": tensors(self.inputs), "outputs": tensors(self.outputs)}

    def statistics(self) -> dict[str, Any]:
        with self.lock:
            zero = {"count": self.answered, "ns": 0}
            parts = {
                "success": {"count": self.answered, "ns": self.queue_ns + self.inference_ns},
                "fail": {"count": self.failed, "ns": 0},
                "queue": {"count": self.answered, "ns": self.queue_ns},
                "compute_input": zero,
                "compute_infer": {"count": self.answered, "ns": self.inference_ns},
                "compute_output": zero,
            }
            return {"name": self.name, "version": "1", "inference_count": self.samples, "execution_count": self.answered, "inference_stats": parts}

    def run(self, arrays: dict[str, Any], samples: int) -> Sequence[Any]:
        """Calls the function, one call at a time unless it is concurrent. Raises what the function raises."""
        due = time.perf_counter_ns()
        try:
            if self.turn is None:
                begin = due
                results = self.call(arrays)
            else:
                with self.turn:
                    begin = time.perf_counter_ns()
                    results = self.call(arrays)
            end = time.perf_counter_ns()
        except BaseException:
            with self.lock:
                self.failed += 1
                self.traceback = self.traceback or traceback.format_exc()
            raise
        with self.lock:
            self.answered += 1
            self.samples += samples
            self.queue_ns += begin - due
            self.inference_ns += end - begin
        return results


class _Closed(Exception):
    """The other side closed the connection."""


class _Layout:
    """The places of the tensors in a request. Requests of one shape share it, so that their JSON is read once."""

    def __init__(self, numpy: Any, head: bytes) -> None:
        self.places: list[tuple[str, Any, int, int, list[int]]] = []
        at = len(head)
        for tensor in json.loads(head)["inputs"]:
            dtype = numpy.dtype(DTYPES[tensor["datatype"]])
            count = 1
            for size in tensor["shape"]:
                count *= size
            self.places.append((tensor["name"], dtype, count, at, tensor["shape"]))
            at += count * dtype.itemsize
        self.bytes = at
        shape = self.places[0][4] if self.places else []
        self.samples = shape[0] if shape else 1


class Server:
    """Serves functions on 127.0.0.1 until `close`. Only requests with its token are answered."""

    def __init__(self, models: Sequence[Served], token: str, numpy: Any) -> None:
        self._models = {model.name: model for model in models}
        self._token = f"Bearer {token}".encode()
        self._numpy = numpy
        self._socket = self._listen()
        self._connections: set[socket.socket] = set()
        self._closed = False
        threading.Thread(target=self._accept, name="deepgap-server", daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        """Stops listening and closes the connections. A function that blocks stays in its thread, which does not keep Python alive."""
        self._closed = True
        for connection in [self._socket, *self._connections]:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._socket.close()

    @staticmethod
    def _listen() -> socket.socket:
        for port in [*range(FIRST_PORT, FIRST_PORT + PORTS), 0]:
            made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            try:
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                made.bind(("127.0.0.1", port))
                made.listen(256)
                return made
            except OSError:
                made.close()
                if port == 0:
                    raise
        raise AssertionError("port 0 is any free port")

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connections.add(connection)
            threading.Thread(target=self._serve, args=(connection,), name="deepgap-connection", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        layouts: dict[bytes, _Layout] = {}
        rest = b""
        try:
            while True:
                verb, path, headers, rest = self._head(connection, rest)
                body, rest = self._body(connection, int(headers.get(b"content-length", b"0")), rest)
                if not hmac.compare_digest(headers.get(b"authorization", b""), self._token):
                    self._reply_json(connection, {"error": "no valid token"}, "403 Forbidden")
                elif verb == b"POST":
                    self._infer(connection, path, headers, body, layouts)
                else:
                    self._tell(connection, path)
        except (_Closed, OSError, ValueError):
            pass  # the client went away, or is not one of ours
        finally:
            self._connections.discard(connection)
            connection.close()

    @staticmethod
    def _head(connection: socket.socket, data: bytes) -> tuple[bytes, str, dict[bytes, bytes], bytes]:
        while (end := data.find(b"\r\n\r\n")) < 0:
            received = connection.recv(1 << 16)
            if not received or len(data) > MOST_HEAD_BYTES:
                raise _Closed
            data += received
        first, *lines = data[:end].split(b"\r\n")
        verb, path, _ = first.split(b" ", 2)
        headers = {}
        for line in lines:
            name, _, value = line.partition(b":")
            headers[name.strip().lower()] = value.strip()
        return verb, path.decode("latin-1"), headers, data[end + 4 :]

    @staticmethod
    def _body(connection: socket.socket, size: int, data: bytes) -> tuple[bytearray, bytes]:
        body = bytearray(size)
        have = min(size, len(data))
        body[:have] = data[:have]
        view = memoryview(body)
        while have < size:
            count = connection.recv_into(view[have:])
            if count == 0:
                raise _Closed
            have += count
        return body, data[size:]

    def _infer(self, connection: socket.socket, path: str, headers: Mapping[bytes, bytes], body: bytearray, layouts: dict[bytes, _Layout]) -> None:
        model = self._model(path, "/infer")
        if model is None:
            self._reply_json(connection, {"error": f"unknown path {path}"}, "404 Not Found")
            return
        head = bytes(body[: int(headers.get(b"inference-header-content-length", str(len(body)).encode()))])
        layout = layouts.get(head)
        if layout is None:
            layout = layouts[head] = _Layout(self._numpy, head)
        if layout.bytes != len(body):
            self._reply_json(connection, {"error": "tensors are expected as bytes"}, "400 Bad Request")
            return
        numpy = self._numpy
        arrays = {name: numpy.frombuffer(body, dtype, count, at).reshape(shape) for name, dtype, count, at, shape in layout.places}
        try:
            results = model.run(arrays, layout.samples)
        except BaseException as error:  # the function's own; SystemExit and the like must not end the thread without an answer
            self._reply_json(connection, {"error": f"{type(error).__name__}: {error}"}, "500 Internal Server Error")
            return
        self._reply_tensors(connection, model, results)

    def _tell(self, connection: socket.socket, path: str) -> None:
        model = self._model(path, "") or self._model(path, "/ready") or self._model(path, "/stats")
        if path.rstrip("/") == "/v2":
            self._reply_json(connection, {"name": "deepgap-python", "version": "1", "extensions": ["binary_tensor_data", "statistics"]})
        elif model is None:
            self._reply_json(connection, {"error": f"unknown path {path}"}, "404 Not Found")
        elif path.endswith("/stats"):
            self._reply_json(connection, {"model_stats": [model.statistics()]})
        else:
            self._reply_json(connection, {} if path.endswith("/ready") else model.metadata())

    def _model(self, path: str, end: str) -> Served | None:
        begin = "/v2/models/"
        if not path.startswith(begin) or not path.endswith(end):
            return None
        return self._models.get(path[len(begin) : len(path) - len(end)])

    @staticmethod
    def _reply_json(connection: socket.socket, value: Any, status: str = "200 OK") -> None:
        body = json.dumps(value).encode()
        connection.sendall(f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    def _reply_tensors(self, connection: socket.socket, model: Served, results: Sequence[Any]) -> None:
        outputs, blocks, size = [], [], 0
        for (name, dtype, _), result in zip(model.outputs, results):
            array = self._numpy.ascontiguousarray(result)
            outputs.append({"name": name, "datatype": DATATYPES.get(str(array.dtype), "BYTES"), "shape": list(array.shape), "parameters": {"binary_data_size": array.nbytes}})
            blocks.append(memoryview(array).cast("B") if array.nbytes else memoryview(b""))
            size += array.nbytes
        text = json.dumps({"model_name": model.name, "outputs": outputs}).encode()
        head = (
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
            f"Inference-Header-Content-Length: {len(text)}\r\nContent-Length: {len(text) + size}\r\n\r\n"
        ).encode()
        if size < MOST_HEAD_BYTES:
            connection.sendall(b"".join([head, text, *blocks]))
            return
        connection.sendall(head + text)
        for block in blocks:
            connection.sendall(block)
