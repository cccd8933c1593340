"""Tests `deepgap run --backend kserve` on a real server: NVIDIA Triton on the loopback interface, with models of its Python backend.

Usage: triton_test.py PATH_OF_DEEPGAP VENV [unittest arguments]     VENV: where requirements-triton.txt is installed
"""
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

VENV = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else ""
SERVER = (glob.glob(f"{VENV}/lib/python3*/site-packages/pytriton/tritonserver") or [None])[0]

from store_case import PROGRAM, StoreCase  # noqa: E402: it reads the arguments too

CONFIG = """backend: "python"
max_batch_size: 8
input [ {{ name: "INPUT0" data_type: TYPE_FP32 dims: [ 16 ] }} ]
output [ {{ name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 16 ] }} ]
instance_group [ {{ count: 1 kind: KIND_CPU }} ]
parameters {{ key: "delay_ms" value: {{ string_value: "{delay}" }} }}
{more}
"""
MODEL = """import json, time
import triton_python_backend_utils as pb

class TritonPythonModel:
    def initialize(self, args):
        self.delay = float(json.loads(args["model_config"])["parameters"]["delay_ms"]["string_value"]) / 1000

    def execute(self, requests):
        time.sleep(self.delay)
        return [pb.InferenceResponse([pb.Tensor("OUTPUT0", pb.get_input_tensor_by_name(r, "INPUT0").as_numpy())]) for r in requests]
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Triton:
    def __init__(self, folder):
        self.folder, self.port, self.grpc_port, self.metrics_port, self.process = folder, free_port(), free_port(), free_port(), None
        for name, delay, more in (("delay", 10, ""), ("echo", 0, ""), ("joined", 10, "dynamic_batching { }")):
            os.makedirs(f"{folder}/models/{name}/1")
            with open(f"{folder}/models/{name}/config.pbtxt", "w") as file:
                file.write(CONFIG.format(delay=delay, more=more))
            with open(f"{folder}/models/{name}/1/model.py", "w") as file:
                file.write(MODEL)
        # The backend looks for its stub beside itself; the wheel has one for each Python, which must lie below the wheel to find its libraries.
        python = os.path.basename(glob.glob(f"{VENV}/lib/python3*")[0]).removeprefix("python")
        stub = f"{SERVER}/backends/python/triton_python_backend_stub"
        if not os.path.exists(stub):
            shutil.copy(f"{SERVER}/python_backend_stubs/{python}/triton_python_backend_stub", stub + ".new")
            os.chmod(stub + ".new", 0o755)
            os.rename(stub + ".new", stub)
        os.chmod(f"{SERVER}/bin/tritonserver", 0o755)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self, wait=True):
        environment = dict(os.environ, PATH=f"{VENV}/bin:{os.environ['PATH']}")  # by whose python3 the stub finds its packages
        self.process = subprocess.Popen(
            [f"{SERVER}/bin/tritonserver", f"--model-repository={self.folder}/models", f"--backend-directory={SERVER}/backends", "--http-address=127.0.0.1",
             f"--http-port={self.port}", "--grpc-address=127.0.0.1", f"--grpc-port={self.grpc_port}", "--metrics-address=127.0.0.1",
             f"--metrics-port={self.metrics_port}", "--allow-gpu-metrics=false", "--exit-timeout-secs=5",
             f"--backend-config=python,shm-region-prefix-name=deepgap_{self.port}_"],
            stdout=open(f"{self.folder}/log", "ab"), stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment, start_new_session=True)
        end = time.monotonic() + 600
        while wait:
            if time.monotonic() > end:
                raise RuntimeError(f"not ready within 10 minutes: {open(f'{self.folder}/log').read()[-3000:]}")
            try:
                urllib.request.urlopen(f"{self.url}/v2/health/ready", timeout=5).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    raise RuntimeError(open(f"{self.folder}/log").read()[-3000:])
                time.sleep(0.1)

    def stop(self):
        if self.process:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for shared in glob.glob(f"/dev/shm/deepgap_{self.port}_*"):
            os.unlink(shared)


class TritonTest(StoreCase):
    """By HTTP. The classes behind it ask the same by gRPC."""
    backend = "kserve"
    flags = ["--warmup", "5"]
    client, dead_model = "libcurl", "answered 500 Internal Server Error"

    def address(self, triton):
        return triton.url

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.triton = Triton(tempfile.mkdtemp(prefix="triton-", dir=cls.dir))
        cls.triton.start()

    @classmethod
    def tearDownClass(cls):
        cls.triton.stop()
        super().tearDownClass()

    def served(self, code, model, *arguments):
        return self.one(code, "--device", self.address(self.triton), "--model", model, *arguments)

    def test_its_own_times_explain_the_latency(self):
        row = self.served(0, "delay", "--batch", "4", "-n", "50")
        self.assertGreater(row["latency_p50_ms"], 10)
        self.assertGreater(row["server_inference_ms"], 10)
        self.assertLess(row["server_queue_ms"] + row["server_input_ms"] + row["server_inference_ms"] + row["server_output_ms"], row["latency_mean_ms"])
        self.assertEqual(row["server_batch"], 4)
        self.assertIn("triton 2.51", row["backend_version"])
        self.assertIn(self.client, row["backend_version"])
        self.assertEqual(row["failed_queries"], 0)

    forms = ("tensors=auto", "tensors=json")

    def test_every_form_of_tensors(self):
        for form in self.forms:
            self.assertEqual(self.served(0, "echo", "-n", "50", "--batch", "3", "--axis", form)["timings"], 50)
            os.remove(self.store)

    def test_an_open_loop(self):
        row = self.served(0, "delay", "--scenario", "server", "--rate", "20", "--duration", "2s")
        self.assertEqual(row["failed_queries"], 0)
        self.assertGreater(row["latency_min_ms"], 10)

    def test_unknown_names_and_too_large_batches(self):
        result = self.run_deepgap("--device", self.address(self.triton), "--model", "dleay")
        self.assertEqual(result.returncode, 2)
        self.assertIn("unknown model 'dleay', did you mean 'delay'?", result.stderr)
        self.assertIn("delay accepts at most 8 samples a request", self.served(1, "delay", "--batch", "9")["reason"])

    def test_a_server_that_ends_and_comes_back_in_mid_run(self):
        triton = Triton(tempfile.mkdtemp(prefix="triton-", dir=self.dir))
        triton.start()
        self.addCleanup(triton.stop)
        answered = threading.Event()

        def restart():
            answered.wait()
            triton.stop()
            time.sleep(0.5)
            triton.start()

        def watch():  # the window has begun when the server has answered more than warm-up and check
            while not answered.is_set():
                with urllib.request.urlopen(f"{triton.url}/v2/models/delay/stats", timeout=30) as reply:
                    if json.load(reply)["model_stats"][0]["inference_stats"]["success"]["count"] > 40:
                        answered.set()
                time.sleep(0.05)

        threads = [threading.Thread(target=work) for work in (restart, watch)]
        for thread in threads:
            thread.start()
        result = self.run_deepgap("--device", self.address(triton), "--model", "delay", "--scenario", "constant", "--rate", "20", "--duration", "30s")
        for thread in threads:
            thread.join()
        self.assertEqual(result.returncode, 1, result.stderr)
        (row,) = self.rows()
        self.assertEqual((row["outcome"], row["verdict"]), ("ok", "invalid"), row["reason"])
        self.assertIn("connection refused", row["reason"])
        self.assertGreater(row["failed_queries"], 5)
        self.assertGreater(row["timings"], 20)

    def test_a_server_that_is_starting_is_waited_for(self):
        triton = Triton(tempfile.mkdtemp(prefix="triton-", dir=self.dir))
        triton.start(wait=False)
        self.addCleanup(triton.stop)
        row = self.one(0, "--device", self.address(triton), "--model", "echo", "-n", "20", "--axis", "ready_within=120s")
        self.assertEqual(row["timings"], 20)

    def test_grey_failure(self):
        """The model's process is gone; server and model go on saying that they are ready."""
        triton = Triton(tempfile.mkdtemp(prefix="triton-", dir=self.dir))
        triton.start()
        self.addCleanup(triton.stop)
        stubs = subprocess.run(["pgrep", "-s", str(triton.process.pid), "-f", "triton_python_backend_stub .*models/delay/1"], capture_output=True, text=True)
        for pid in stubs.stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        row = self.one(1, "--device", self.address(triton), "--model", "delay", "-n", "20")
        self.assertEqual(row["outcome"], "crashed")
        self.assertIn(self.dead_model, row["reason"])


def has_grpc():
    listed = subprocess.run([PROGRAM, "backends"], capture_output=True, text=True).stdout
    return ", gRPC " in listed


@unittest.skipUnless(has_grpc(), "deepgap was built without gRPC (libgrpc++-dev)")
class TritonGrpcTest(TritonTest):
    client, dead_model = "gRPC", "answered INTERNAL"
    forms = ("channels=1", "channels=3")

    def address(self, triton):
        return f"grpc://127.0.0.1:{triton.grpc_port}"


class TritonStreamTest(TritonGrpcTest):
    flags = [*TritonTest.flags, "--axis", "stream=on"]
    dead_model = "answered an error: "


if __name__ == "__main__":
    if SERVER is None:
        print(f"left out: no Triton in '{VENV}'; ./check --full installs requirements-triton.txt there")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
