"""Tests `deepgap run --backend openai` on servers that misbehave.

Usage: openai_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import itertools
import json
import os
import pathlib
import signal
import subprocess
import threading
import unittest
import unittest.mock

from certificate import MISSING, make_certificate
from openai_server import DONE, STOP, Server, event, good, text, usage
from store_case import PROGRAM, StoreCase


class OpenaiTest(StoreCase):
    backend = "openai"
    flags = ["--scenario", "single-stream", "--warmup", "2", "--prompt-tokens", "16", "--output-tokens", "4"]

    def setUp(self):
        super().setUp()
        self.server = Server()
        self.addCleanup(self.server.stop)

    def served(self, code, *arguments):
        return self.one(code, "--model", "tiny", "--device", self.server.url, "--iterations", "20", *arguments)

    def always(self, answer):
        """Each request but deepgap's own gets `answer`, or what it makes of the request."""
        self.server.script = lambda number, request: None if number == 0 else answer(request) if callable(answer) else answer

    def test_a_good_server_is_measured(self):
        row = self.served(0)
        self.assertEqual(row["outcome"], "ok", row["reason"])
        self.assertEqual((row["output_tokens"], row["cached_tokens"]), (4, 0))
        self.assertGreater(row["ttft_ms"], 0)
        self.assertLessEqual(row["ttft_p50_ms"], row["latency_p50_ms"])

    def test_what_is_no_server_of_this_protocol_is_refused(self):
        for page, words in ((b"<html>hello</html>", 200, "text/html"), "HTML page"), ((b"{}", 401), "DEEPGAP_OPENAI_TOKEN"), ((b"[]", 200), "not a list of models"):
            with self.subTest(words):
                self.server.pages = {"/v1/models": page}
                row = self.served(1)
                os.unlink(self.store)
                self.assertEqual(row["outcome"], "refused")
                self.assertIn(words, row["reason"])
                self.assertEqual(self.server.asked, 0)

    @unittest.skipIf(MISSING, MISSING)
    def test_certificates_are_verified(self):
        certificate = make_certificate(self.dir)
        server = Server(certificate)
        self.addCleanup(server.stop)
        row = self.one(1, "--model", "tiny", "--device", server.url, "--iterations", "20")
        os.unlink(self.store)
        self.assertEqual(row["outcome"], "refused")
        self.assertIn("TLS failed", row["reason"])
        row = self.one(0, "--model", "tiny", "--device", server.url, "--iterations", "20", "--axis", f"ca_file={certificate}")
        self.assertEqual((row["outcome"], row["output_tokens"]), ("ok", 4), row["reason"])

    def test_an_unknown_model_is_named_beside_those_that_there_are(self):
        done = self.run_deepgap("--model", "tinny", "--device", self.server.url)
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'tiny'", done.stderr)

    def test_a_server_without_streams_is_refused_at_load(self):
        whole = b'{"choices":[{"index":0,"text":" word"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}'
        wrong = {"does not stream": (whole, {}),
                 "HTML page": (b"<html></html>", {"kind": "text/html"}),
                 "without 'data:'": [b'{"choices":[{"index":0,"text":"a"}]}\n\n'],
                 "Retry-After: 7": (b'{"error":{"message":"too many"}}', {"status": 429, "Retry_After": "7"})}
        for words, answer in wrong.items():
            with self.subTest(words):
                self.server.script = lambda number, request, answer=answer: answer
                row = self.served(1)
                os.unlink(self.store)
                self.assertEqual(row["outcome"], "refused", row["reason"])
                self.assertIn(words, row["reason"])

    def test_requests_that_fail_have_their_share_and_their_reasons(self):
        wrong = {"broke off": [text(), "close"],
                 "without [DONE] or a finish_reason": [text()],
                 "answered 429 Too Many Requests": (b"{}", {"status": 429, "Retry_After": "7"}),
                 "out of memory": [text(), event({"error": {"message": "out of memory"}})],
                 "not a stream of events": (b"<html></html>", {"kind": "text/html"}),
                 "went back from 3 to 2": [text(**usage(1, 3)), text(**usage(1, 2)), STOP, DONE],
                 "with id 4 twice": [b"id: 4\n" + text(), b"id: 4\n" + text(), STOP, DONE]}
        for words, answer in wrong.items():
            with self.subTest(words):
                self.server.asked = 0
                self.server.script = lambda number, request, answer=answer: answer if number in (9, 14) else None
                row = self.served(1)
                os.unlink(self.store)
                self.assertEqual((row["outcome"], row["verdict"], row["failed_queries"]), ("ok", "invalid", 2), row["reason"])
                self.assertIn(words, row["reason"])

    def test_a_stream_that_never_ends_is_ended(self):
        wrong = {"goes on": lambda request: itertools.repeat(text()), "no answer within 300 ms": lambda request: [text(), "silence"],
                 # Comments keep a connection alive and are not tokens.
                 "within 300 ms": lambda request: itertools.cycle([b": alive\n\n", 0.02])}
        for words, answer in wrong.items():
            with self.subTest(words):
                self.server.asked = 0
                self.server.script = lambda number, request, answer=answer: answer(request) if number == 9 else None
                row = self.served(1, "--axis", "timeout=300ms")
                os.unlink(self.store)
                self.assertEqual((row["outcome"], row["failed_queries"]), ("ok", 1), row["reason"])
                self.assertIn(words, row["reason"])

    def test_a_server_that_only_fails_is_a_record(self):
        self.always((b'{"error":"gone"}', {"status": 500}))
        row = self.served(1)
        self.assertEqual(row["outcome"], "crashed")
        self.assertIn("answered 500", row["reason"])

    def test_counts_that_contradict_each_other_are_a_verdict(self):
        few = lambda request: [*good(request)[:-2], event({"choices": [], **usage(9, 1)}), DONE]
        self.always(few)
        row = self.served(1)
        self.assertEqual(row["verdict"], "invalid")
        self.assertIn("token counts differ: the server counts 20 output tokens, its stream delivered 80", row["reason"])
        os.unlink(self.store)
        self.always(None)
        self.server.pages["/tokenize"] = (b'{"tokens":[1,2,3,4,5,6,7,8,9]}',)
        row = self.served(1)
        self.assertEqual(row["verdict"], "invalid")
        self.assertIn("/tokenize", row["reason"])

    def test_answers_without_a_token_are_no_result(self):
        nothing = [STOP, event({"choices": [], **usage(9, 0, 0)}), DONE]
        self.always(nothing)
        row = self.served(1)
        self.assertEqual((row["outcome"], row["verdict"], row.get("ttft_ms")), ("ok", "invalid", None))
        self.assertIn("none of 20 answers had a token", row["reason"])
        os.unlink(self.store)
        self.server.script, self.server.asked = lambda number, request: nothing if number > 2 and number % 2 else None, 0
        row = self.served(1, "--bound", "ttft.p90=40s")
        self.assertEqual(row["verdict"], "invalid")
        self.assertIn("10 of 20 requests missed the SLO ttft.p90=40s", row["reason"])
        self.assertEqual(row["goodput_share"], 0.5)

    def test_a_run_that_waits_for_an_answer_ends_when_asked(self):
        # An answer that does not come would hold it up until its worker is killed.
        for flags in (["--scenario", "single-stream"], ["--scenario", "concurrency", "--clients", "3"], ["--scenario", "constant", "--rate", "2"]):
            with self.subTest(flags):
                waiting = threading.Event()

                def answer(number, request):
                    if number < 4:
                        return None
                    waiting.set()
                    return [text(), "silence"]
                self.server.script, self.server.asked = answer, 0
                command = [PROGRAM, "run", "--store", self.store, "--backend", "openai", *self.flags[2:], "--warmup", "3", "--model", "tiny", "--device", self.server.url,
                           "--iterations", "20", *flags]
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.assertTrue(waiting.wait(120))
                process.send_signal(signal.SIGTERM)
                process.wait(120)
                row = self.rows()[0]
                os.unlink(self.store)
                self.assertEqual((row["outcome"], row["reason"]), ("interrupted", "ended by SIGTERM"))

    def test_chunks_of_several_tokens_are_split_and_said_to_be(self):
        self.always(lambda request: [text(" two words"), text(" two words"), STOP, event({"choices": [], **usage(9, 4)}), DONE])
        row = self.served(0)
        self.assertEqual((row["output_tokens"], row["split_token_share"]), (4, 1))
        self.assertNotEqual(row["verdict"], "invalid")

    def test_a_cache_that_answers_is_a_verdict_unless_it_was_asked_for(self):
        self.always(lambda request: [*good(request)[:-2], event({"choices": [], **usage(400, 4, 390)}), DONE])
        row = self.served(1)
        self.assertIn("prefix cache: 7800 of 8000 prompt tokens", row["reason"])
        os.unlink(self.store)
        row = self.served(0, "--prompt-reuse", "on")
        self.assertEqual(row["cached_tokens"], 20 * 390)

    def test_tokens_have_a_price(self):
        prices = os.path.join(self.dir, "prices.toml")
        with open(prices, "w") as file:
            file.write(f'[[price]]\ndevice = "{self.server.url}"\nper_hour = 3.6\ncurrency = "USD"\nsource = "a test"\ndate = "2026"\n')
        self.served(0)
        command = lambda *verb: subprocess.run([PROGRAM, *verb], capture_output=True, text=True, check=True).stdout
        row = json.loads(command("export", self.store, "--format", "json", "--prices", prices))[0]
        for kind in ("output", "input"):
            self.assertAlmostEqual(row[f"cost_per_million_{kind}_tokens"], 1000 / row[f"{kind}_tokens_per_s"], delta=1e-6)
        choice = json.loads(command("recommend", self.store, "--prices", prices, "--allow", "unchecked", "--json"))["choice"]
        self.assertAlmostEqual(choice["cost_per_million_output_tokens"], choice["cost_per_1000_items"] * 1000 / 4, delta=1e-6)
        self.assertIn("for 1,000,000 output tokens", command("recommend", self.store, "--prices", prices, "--allow", "unchecked"))

    def test_a_token_that_the_server_repeats_is_shown_nowhere(self):
        with unittest.mock.patch.dict(os.environ, DEEPGAP_OPENAI_TOKEN="c29tZXRoaW5nIHNlY3JldA"):
            self.always((b'{"error":"no right for Bearer c29tZXRoaW5nIHNlY3JldA"}', {"status": 403}))
            done = self.run_deepgap("--model", "tiny", "--device", self.server.url, "--iterations", "5")
        self.assertIn("[redacted]", done.stdout + done.stderr)
        kept = b"".join(path.read_bytes() for path in pathlib.Path(self.store).parent.glob(os.path.basename(self.store) + "*"))
        self.assertNotIn("c29tZXRoaW5n", done.stdout + done.stderr)
        self.assertNotIn(b"c29tZXRoaW5n", kept)


if __name__ == "__main__":
    unittest.main(argv=["openai_test", *__import__("sys").argv[2:]])
