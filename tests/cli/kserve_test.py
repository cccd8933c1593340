"""Tests `deepgap run --backend kserve` on a server in this process that makes given mistakes.

Usage: kserve_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import datetime
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
import unittest.mock

import onnx_file
from certificate import MISSING, make_certificate
from kserve_server import Server
from store_case import PROGRAM, StoreCase

GRPC = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(PROGRAM))), "lib", "deepgap", "kserve", "grpc.so")


class KserveTest(StoreCase):
    backend = "kserve"
    flags = ["--warmup", "5"]

    def setUp(self):
        super().setUp()
        self.server = Server()
        self.addCleanup(lambda: self.server.stop())

    def served(self, code, *arguments):
        """The Record of 40 queries, or of what else `arguments` say."""
        ending = [] if "--duration" in arguments else ["--iterations", "40"]
        return self.one(code, "--model", "double", "--device", self.server.url, *ending, *arguments)

    def refused(self, *arguments, model="double", backend=None):
        result = self.run_deepgap("--model", model, *arguments, backend=backend)
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        self.assertFalse(os.path.exists(self.store), "nothing was measured")
        return result.stderr

    def doubling(self):
        path = os.path.join(self.dir, "double.onnx")
        node = onnx_file.node("Add", "x x", "y", "twice")
        with open(path, "wb") as file:
            file.write(onnx_file.model(onnx_file.graph([node], [onnx_file.value("x", ["N", 3])], [onnx_file.value("y", ["N", 3])])))
        return path

    def test_a_server_is_measured_and_is_unchecked(self):
        row = self.served(0, "--batch", "4")
        self.assertEqual((row["outcome"], row["device"], row["device_name"]), ("ok", self.server.url, self.server.url))
        self.assertEqual(row["timings"], 40)
        self.assertTrue(row["unchecked"])
        self.assertIn("--reference", row["reason"])
        self.assertIn("scripted 7", row["backend_version"])
        self.assertEqual((row["server_queue_ms"], row["server_input_ms"], row["server_inference_ms"], row["server_output_ms"]), (1, 0.25, 1.5, 0.125))

    def test_a_client_is_looked_at_once_a_second(self):
        self.served(0, "--duration", "2s")
        lines = subprocess.run([PROGRAM, "export", self.store, "--telemetry"], capture_output=True, text=True, check=True).stdout.splitlines()
        times = [cells[0] for cells in (line.split(",") for line in lines) if cells[1:3] == ["cpu", "cpu_time"]]
        begin, end = (datetime.datetime.fromisoformat(time.replace("Z", "+00:00")) for time in (times[0], times[-1]))
        # Where windows begin and end as well: when the worker starts, and at either end of the load, the warm-up and the window.
        self.assertLessEqual(len(times), 6 + (end - begin).total_seconds())

    def test_the_servers_metrics_are_series_of_the_record(self):
        row = self.served(0, "--axis", f"metrics={self.server.url}/metrics")
        self.assertEqual(row["outcome"], "ok", row["reason"])
        lines = subprocess.run([PROGRAM, "export", self.store, "--telemetry"], capture_output=True, text=True, check=True).stdout.splitlines()
        cells = [line.split(",") for line in lines]
        power = [cell for cell in cells if cell[1:3] == ["server:0", "power"]]
        self.assertGreaterEqual(len(power), 3)  # when it was loaded, and at both ends of the window
        self.assertEqual({(cell[3], cell[4], cell[5]) for cell in power}, {("W", "250", "false")})
        requests = [float(cell[4]) for cell in cells if cell[1:3] == ["server", "requests"]]
        self.assertGreaterEqual(requests[-1] - requests[0], 40)
        self.assertEqual(requests, sorted(requests))

    def test_a_token_that_the_server_repeats_is_shown_nowhere(self):
        token = 'eyJhbGciOiJub25lIn0.c29tZXRoaW5nIHNlY3JldA."/x'
        for path in ("/v2", "/v2/models/double", "/v2/models/double/ready", "/v2/models/double/infer"):
            with self.subTest(path), unittest.mock.patch.dict(os.environ, DEEPGAP_KSERVE_TOKEN=token):
                self.server.echoes = path
                done = self.run_deepgap("--model", "double", "--device", self.server.url, "--iterations", "5", "-v")
                said = done.stdout + done.stderr
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("no right for Bearer [redacted]", said)
                self.assertNotIn("\x1b", said)
                kept = b"".join(path.read_bytes() for path in pathlib.Path(self.store).parent.glob(os.path.basename(self.store) + "*"))
                for part in ("eyJhbGciOiJub25lIn0", "c29tZXRoaW5nIHNlY3JldA"):
                    self.assertNotIn(part, said)
                    self.assertNotIn(part.encode(), kept)

    def test_an_input_that_is_larger_than_usual_is_asked_for_before_it_is_made(self):
        self.server.shape = [300_000_000]
        said = self.refused("--device", self.server.url)
        self.assertIn("declares inputs of 1.1 GiB a sample", said)
        self.assertIn("--shape x:300000000", said)

    def test_scenarios_are_those_of_every_engine(self):
        row = self.served(0, "--scenario", "server", "--rate", "100", "--duration", "1s")
        self.assertGreater(row["offered_rate"], 50)
        self.assertIsNotNone(row["issue_lateness_p99_us"])

    def test_answers_are_compared_with_a_reference_that_is_named(self):
        row = self.served(0, "--reference", self.doubling(), "--batch", "2")
        self.assertFalse(row["unchecked"], row["reason"])
        self.assertTrue(row["check_pass"])
        self.assertEqual(row["check_against"], "native fp32 reference")

    def test_a_wrong_answer_of_status_200_is_incorrect(self):
        self.server.error = 0.5
        row = self.served(1, "--reference", self.doubling())
        self.assertEqual(row["outcome"], "incorrect")
        self.assertIn("outputs differ from the native fp32 reference", row["reason"])

    def test_a_reference_of_other_inputs_is_refused(self):
        path = os.path.join(self.dir, "other.onnx")
        with open(path, "wb") as file:
            node = onnx_file.node("Add", "z z", "y", "twice")
            file.write(onnx_file.model(onnx_file.graph([node], [onnx_file.value("z", ["N", 3])], [onnx_file.value("y", ["N", 3])])))
        self.assertIn("has the inputs z float32 [?,3], the server's double has x float32 [?,3]", self.refused("--device", self.server.url, "--reference", path))

    def test_failures_have_their_share_and_their_reasons(self):
        self.server.fault = lambda n: 503 if n in (20, 21) else "reset" if n == 30 else None
        row = self.served(1)
        self.assertEqual((row["outcome"], row["verdict"], row["timings"], row["failed_queries"]), ("ok", "invalid", 40, 3))
        self.assertIn("2 x answered 503 Service Unavailable: the model is gone; 1 x the connection was reset or closed before an answer", row["reason"])
        self.assertAlmostEqual(row["failed_share"], 3 / 43, places=6)

    def test_failures_may_be_allowed(self):
        self.server.fault = lambda n: 503 if n == 20 else None
        row = self.served(0, "--axis", "failed_allowed=10%")
        self.assertEqual((row["verdict"], row["failed_queries"]), ("as_found", 1), row["reason"])

    def test_grey_failure_is_a_record(self):
        self.server.fault = lambda n: 500
        row = self.served(1)
        self.assertEqual(row["outcome"], "crashed")
        self.assertIn("answered 500 Internal Server Error: the model is gone", row["reason"])

    def test_a_server_that_rejects_the_request_refuses(self):
        self.server.fault = lambda n: 400
        row = self.served(1)
        self.assertEqual(row["outcome"], "refused")
        self.assertIn("answered 400 Bad Request: the model is gone", row["reason"])

    def test_a_server_that_fails_for_good_in_mid_run_is_a_record(self):
        self.server.fault = lambda n: 500 if n > 20 else None
        row = self.served(1, "--scenario", "constant", "--rate", "50", "--duration", "1s")
        self.assertIn(row["verdict"], ("invalid", "none"), row["reason"])
        self.assertIn("answered 500", row["reason"])

    def test_no_server_is_a_record_that_says_so(self):
        url = self.server.url
        self.server.stop()  # and the one that is stopped in the end is another
        self.server = Server()
        row = self.one(1, "--model", "double", "--device", url)
        self.assertEqual((row["outcome"], row["refused_by"]), ("refused", "kserve"))
        self.assertIn("connection refused", row["reason"])

    def test_a_batch_over_the_servers_maximum_is_refused(self):
        row = self.served(1, "--batch", "9")
        self.assertEqual(row["outcome"], "refused")
        self.assertIn("double accepts at most 8 samples a request on this server; this point sends 9", row["reason"])

    def test_what_is_wrong_in_what_was_written_is_said_before_anything_is_measured(self):
        url = self.server.url
        self.assertIn("unknown model 'duoble', did you mean 'double'?", self.refused("--device", url, model="duoble"))
        self.assertIn("kserve measures servers: give --device http://host:port", self.refused())
        self.assertIn("is a server: give --backend kserve", self.refused("--device", url, model="resnet18", backend="null"))
        self.assertIn("is not a server", self.refused("--device", "http://user:word@127.0.0.1"))
        self.assertIn("is not a server", self.refused("--device", "ftp://127.0.0.1"))
        self.assertIn("reference 'nothing' is not an ONNX file", self.refused("--device", url, "--reference", "nothing"))
        self.assertIn("timeout", self.refused("--device", url, "--axis", "timeout=fast"))
        for option in ("ca_file", "token_file"):
            self.assertIn(f"{option}=nosuch cannot be read", self.refused("--device", url, "--axis", f"{option}=nosuch"))

    def test_sizes_that_the_server_fixes_are_not_overridden(self):
        for shape, told in (("x:1x4", "[1,4]"), ("x:Nx4", "[?,4]"), ("x:1x3x1", "[1,3,1]")):
            said = self.refused("--device", self.server.url, "--shape", shape)
            self.assertIn(f"--shape has the input x float32 {told}, the server's double has x float32 [?,3]", said)
        self.assertEqual(self.served(0, "--shape", "x:Nx3")["outcome"], "ok")

    def test_what_runs_here_alone_says_so(self):
        result = subprocess.run([PROGRAM, "check", "double", "--backend", "kserve", "--device", self.server.url], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn("is a server: deepgap run --backend kserve --reference", result.stderr)
        result = subprocess.run([PROGRAM, "profile", "double", "--backend", "kserve", "--device", self.server.url], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn("is a server, which cannot be profiled from outside", result.stderr)

    def test_samples_that_do_not_fit_are_refused(self):
        path = os.path.join(self.dir, "rows.npy")
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 5), }".ljust(117) + "\n"
        with open(path, "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(4 * 4 * 5))
        self.assertIn("rows.npy", self.refused("--device", self.server.url, "--dataset", path))

    @unittest.skipUnless(os.path.exists(GRPC), "deepgap was built without gRPC (libgrpc++-dev)")
    def test_grpc_is_loaded_for_its_own_addresses_alone(self):
        # The dynamic linker says what it loads, each process in a file of its own.
        def loaded(*arguments):
            said = os.path.join(self.dir, "loaded")
            os.makedirs(said)
            environment = {**os.environ, "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": os.path.join(said, "by")}
            subprocess.run(self.command("--model", "double", "--iterations", "40", *arguments), capture_output=True, timeout=900, env=environment)
            text = "".join(path.read_text(errors="replace") for path in pathlib.Path(said).iterdir())
            shutil.rmtree(said)
            return [name for name in ("libcurl.so", "grpc.so", "libgrpc") if name in text]
        self.assertEqual(loaded("--device", self.server.url), ["libcurl.so"])
        self.assertEqual(loaded("--device", "grpc://127.0.0.1:1"), ["libcurl.so", "grpc.so", "libgrpc"])

    @unittest.skipUnless(os.path.exists(GRPC), "deepgap was built without gRPC (libgrpc++-dev)")
    def test_a_module_that_does_not_load_is_told_and_http_goes_on(self):
        plugins = os.path.join(self.dir, "plugins")
        os.makedirs(os.path.join(plugins, "kserve"))
        shutil.copy(os.path.join(os.path.dirname(os.path.dirname(GRPC)), "deepgap_kserve.so"), plugins)
        with open(os.path.join(plugins, "kserve", "grpc.so"), "w") as file:
            file.write("no library")
        with unittest.mock.patch.dict(os.environ, {"DEEPGAP_PLUGINS": plugins}):
            row = self.one(1, "--model", "double", "--device", "grpc://127.0.0.1:1", "-n", "40")
            self.assertEqual(row["outcome"], "refused")
            self.assertIn("gRPC does not load", row["reason"])
            self.assertIn("http://", row["reason"])
            os.remove(self.store)
            self.assertEqual(self.served(0)["outcome"], "ok")

    def test_a_token_is_not_in_the_store(self):
        token = os.path.join(self.dir, "token")
        with open(token, "w") as file:
            file.write("s3cret-of-mine")
        self.served(0, "--axis", f"token_file={token}")
        with open(self.store, "rb") as file:
            self.assertNotIn(b"s3cret-of-mine", file.read())
        os.remove(self.store)
        self.assertIn("would be kept in the store", self.refused("--device", self.server.url, "--axis", "env.DEEPGAP_KSERVE_TOKEN=s3cret"))

    @unittest.skipIf(MISSING, MISSING)
    def test_certificates_are_verified(self):
        certificate = make_certificate(self.dir)
        server = Server(certificate)
        self.addCleanup(server.stop)
        row = self.one(1, "--model", "double", "--device", server.url, "-n", "40")
        self.assertEqual(row["outcome"], "refused")
        self.assertIn("TLS failed", row["reason"])
        os.remove(self.store)
        row = self.one(0, "--model", "double", "--device", server.url, "-n", "40", "--axis", f"ca_file={certificate}")
        self.assertEqual(row["outcome"], "ok", row["reason"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
