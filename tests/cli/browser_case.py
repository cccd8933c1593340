"""A test case whose pages are read by headless Chromium, which does there what a script says."""
import html
import json
import pathlib
import re
import shutil
import subprocess

from store_case import StoreCase

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NO_BROWSER = "no browser drives the pages: neither chromium nor google-chrome is on PATH; ./check --full installs chromium"


class BrowserCase(StoreCase):
    actions = ""  # a file of this folder; it writes its outcome into <pre id="outcome">

    def chromium(self, address, *flags):
        return subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=30000", f"--user-data-dir={self.dir}/chromium",
                               "--host-resolver-rules=MAP * ~NOTFOUND", *flags, address], capture_output=True, text=True, timeout=300)

    def act(self, page, fragment="", width=1280, dark=False):
        """Returns the results that the actions found on the page."""
        page = pathlib.Path(page)
        tried = page.with_name("tried.html")
        text, actions = page.read_text(), pathlib.Path(__file__).with_name(self.actions).read_text()
        # A page allows either scripts of its folder or those within it, by its own policy.
        inside = "script-src 'unsafe-inline'" in text
        page.with_name("actions.js").write_text(actions)
        tried.write_text(text.replace("</body>", f"<script>{actions}</script></body>" if inside else '<script src="actions.js"></script></body>'))
        address = tried.as_uri() + fragment
        narrow = ["--allow-file-access-from-files"] if width < 500 else []
        if narrow:  # no window is narrower than that, but a frame is
            frame = page.with_name("frame.html")
            frame.write_text(f'<iframe id="f" src="{html.escape(address)}" style="width:{width}px;height:900px;border:0"></iframe><script>setInterval(() => {{'
                             'const found = f.contentDocument.getElementById("outcome"); if (found && !document.getElementById("outcome")) '
                             'document.body.append(document.importNode(found, true)); }, 50)</script>')
            address = frame.as_uri()
        done = self.chromium(address, f"--window-size={max(width, 500)},900", *narrow, *(["--blink-settings=preferredColorScheme=0"] if dark else []), "--dump-dom")
        found = re.findall(r'<pre id="outcome">(\{.*?)</pre>', done.stdout, re.DOTALL)
        self.assertTrue(found, done.stderr[-2000:])
        outcome = json.loads(html.unescape(found[-1]))
        self.assertNotIn("error", outcome)
        self.assertEqual(outcome["width"], width)
        self.assertEqual(outcome["loaded"], [], "nothing comes from elsewhere")
        self.assertEqual(outcome["overflow"], 0, "no page scrolls sideways")
        return outcome
