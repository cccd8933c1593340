#!/usr/bin/env python3
"""Makes the figures of the tutorials and how-to pages from committed stores and scripted runs, as the program's own report draws them, so that they stay true.

    tools/doc_images.py [--program build/bin/deepgap] [--only NAME] [--chromium chromium] [--check]

Each figure is one chart of `deepgap report`, taken out of the page with its legend and colours as an SVG that stands alone, in light and dark. Thumbnails
of a whole report and of a site are screenshots by headless Chromium; without one they are left as they are. With --check nothing is written: exit code 1
means that a chart is not as the program draws it now, apart from the last digits of coordinates.
"""
import argparse
import html
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = "docs/results/"
# A run of the scripted engine in virtual time, which takes a second and gives the same result everywhere.
SCRIPTED_SERVER = ["run", "--backend", "null", "--task", "generate", "--model", "resnet50", "--axis", "clock=virtual", "--axis", "latency=200ms",
                   "--axis", "token_interval=20ms", "--axis", "distribution=exponential", "--output-tokens", "32", "--scenario", "server",
                   "--rate", "0.2,0.4,0.6,0.8,0.9,1,1.1", "--slo", "p99=10s", "--duration", "2000s", "--quiet"]
# File below docs/: stores, or the command that makes one; then a section's heading, a model's heading and a chart's caption in the report (regular expressions).
FIGURES = {
    "how-to/img/forest-plot.svg": (["quickstart-xeon-16/store.db"], "Against each other", "resnet18", ""),
    "how-to/img/load-curve.svg": (["cpu/load.db"], "Load", "", "against"),
    "how-to/img/roofline.svg": (["training/h200.db"], "Where the time goes", "resnet50", ""),
    "how-to/img/end-to-end.svg": (["cpu/end-to-end.db"], "Against each other", "efficientnet_lite0", ""),
    "how-to/img/tenants.svg": (["cpu/tenants.db"], "Tenants", "", "together over"),
    "how-to/img/server-latency.svg": (["four-gpus/four-gpus.db"], "Load", "resnet50", "^Latency$"),
    "how-to/img/llm-load.svg": (SCRIPTED_SERVER, "Load", "", "against"),
    "how-to/img/latency-batch.svg": (["quickstart-xeon-16/store.db"], "Throughput and latency", "", "Latency against batch"),
    "how-to/img/pareto.svg": (["h200-native/grid.db"], "Recommendations", "resnet50", "Throughput against latency"),
}
SCREENSHOTS = {"tutorials/img/report.png": ("report", ["h200-native/grid.db"]), "how-to/img/site.png": ("site", ["h200-native/grid.db"])}
DRAWN = re.compile(r"(^|[\s,>])\.(grid|axis|tick|axis-title|line|label|tag|roof|roof-name|dot|ring|reach|found|s\d)\b|^:root|^\.s\d")
SIZE = 150_000


def style_of(page):
    """The rules that charts use, and the colours of both schemes."""
    text = "".join(re.findall(r"<style>(.*?)</style>", page, re.DOTALL))
    dark = re.search(r"@media\(prefers-color-scheme:dark\)\{(:root[^{}]*\{[^}]*\})\}", text)
    plain = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", text)
    rules = [rule for rule in re.findall(r"[^{}]+\{[^{}]*\}", plain) if DRAWN.search(rule.strip())]
    return "".join(rule.strip() for rule in rules) + (f"@media(prefers-color-scheme:dark){{{dark.group(1)}}}" if dark else "")


def after(page, pattern, tag, what):
    """The page from the first heading `tag` on that matches, to the next heading of its rank."""
    for match in re.finditer(rf"<{tag}[^>]*>(.*?)</{tag}>", page, re.DOTALL):
        if re.search(pattern, re.sub(r"<[^>]+>", "", match.group(1))):
            rest = page[match.end():]
            end = re.search(rf"<h[2-{tag[1]}][ >]", rest)
            return rest[:end.start()] if end else rest
    raise LookupError(f"the report has no {what} that matches '{pattern}'")


def chart_of(page, section, model, caption):
    """(title, legend, chart) of one chart."""
    part = after(page, section, "h2", "section")
    part = after(part, model, "h3", "heading") if model else part
    for match in re.finditer(r"<svg class=\"chart[^\"]*\".*?</svg>", part, re.DOTALL):
        before = part[:match.start()]
        title = re.findall(r"<figcaption><b>(.*?)</b>", before)
        title = title[-1] if title else re.search(r'aria-label="([^"]*)"', match.group()).group(1)
        if re.search(caption, re.sub(r"<[^>]+>", "", title)):
            legends = re.findall(r"<ul class=\"legend\">(.*?)</ul>", before, re.DOTALL)
            return html.unescape(re.sub(r"<[^>]+>", "", title)), legends[-1] if legends else "", match.group()
    raise LookupError(f"'{section}' has no chart that matches '{caption}'")


def standalone(page, section, model, caption):
    """One chart as an SVG file: title, legend, chart, on the page's colour."""
    title, legend, chart = chart_of(page, section, model, caption)
    width, height = (float(number) for number in re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', chart).groups())
    body = re.sub(r"<title>.*?</title>", "", re.search(r"<svg[^>]*>(.*)</svg>", chart, re.DOTALL).group(1), flags=re.DOTALL)
    rows = re.findall(r"<li>(?:<svg[^>]*>(.*?)</svg>)?(.*?)</li>", legend, re.DOTALL)
    longest = max([len(html.unescape(re.sub(r"<[^>]+>", "", label))) for _, label in rows], default=0)
    whole = max(width, 40 + 6.1 * longest)
    titles = textwrap.wrap(title, int(whole / 8))
    below_titles = 7 + 17 * len(titles)
    top = below_titles + 2 + 17 * len(rows)
    lines = [f'<text x="2" y="{16 + 17 * at}" style="font-size:14px;font-weight:600;fill:var(--ink)">{html.escape(line)}</text>' for at, line in enumerate(titles)]
    for row, (swatch, label) in enumerate(rows):
        label = html.escape(html.unescape(re.sub(r"<[^>]+>", "", label)).strip())
        lines.append(f'<g transform="translate(2 {below_titles + 17 * row})">{swatch}<text x="33" y="10" style="font-size:11.5px;fill:var(--soft)">{label}</text></g>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 -8 {whole + 24:.0f} {height + top + 16:.0f}" font-family="system-ui,sans-serif">'
            f"<style>{style_of(page)}</style>"
            f'<rect x="-12" y="-8" width="100%" height="100%" style="fill:var(--page)"/>{"".join(lines)}<g transform="translate(0 {top})">{body}</g></svg>\n')


def differs(old, new):
    """Whether two drawings differ in more than coordinates by a pixel: another compiler rounds otherwise."""
    number = r"-?\d+(?:\.\d+)?"
    if re.sub(number, "0", old) != re.sub(number, "0", new):
        return True
    pairs = zip(re.findall(number, old), re.findall(number, new))
    return any(abs(float(a) - float(b)) > 1 for a, b in pairs)


def report(program, stores, folder):
    page = folder / "report.html"
    paths = [str(ROOT / RESULTS / store) for store in stores]
    if stores[0] == "run":
        paths = [str(folder / "scripted.db")]
        pathlib.Path(paths[0]).unlink(missing_ok=True)
        done = subprocess.run([program, *stores, "--store", paths[0]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode not in (0, 1):  # 1: a point missed its SLO
            sys.exit(f"deepgap {' '.join(stores)}: {done.stderr}")
    subprocess.run([program, "report", *paths, "--anonymous", "--output", str(page)], check=True, stdout=subprocess.DEVNULL)
    return page


def site(program, stores, folder):
    subprocess.run([program, "site", *(str(ROOT / RESULTS / store) for store in stores), "--anonymous", "--output", str(folder / "site")], check=True,
                   stdout=subprocess.DEVNULL)
    return folder / "site" / "index.html"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/bin/deepgap"))
    parser.add_argument("--only", default="", help="figures whose name holds this")
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--check", action="store_true", help="compare charts, write nothing")
    flags = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory(prefix="deepgap-images-") as folder:
        folder = pathlib.Path(folder)
        for name, (stores, section, model, caption) in FIGURES.items():
            if flags.only not in name:
                continue
            try:
                text = standalone(report(flags.program, stores, folder).read_text(), section, model, caption)
            except LookupError as error:
                print(f"{name}: {error}", file=sys.stderr)
                failed = True
                continue
            if len(text) > SIZE:
                print(f"{name}: {len(text)} bytes, at most {SIZE} are wanted", file=sys.stderr)
                failed = True
            path = ROOT / "docs" / name
            if flags.check:
                if not path.exists() or differs(path.read_text(), text):
                    print(f"{name} is not as {flags.program} draws it: run tools/doc_images.py", file=sys.stderr)
                    failed = True
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"{name}: {len(text)} bytes")
        for name, (kind, stores) in SCREENSHOTS.items():
            if flags.only not in name or flags.check:
                continue
            if not shutil.which(flags.chromium):
                print(f"{name}: left as it is, since there is no {flags.chromium}")
                continue
            page, shot = {"report": report, "site": site}[kind](flags.program, stores, folder), ROOT / "docs" / name
            shot.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([flags.chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1100,820",
                            "--virtual-time-budget=5000", f"--screenshot={shot}", page.as_uri()], check=True, capture_output=True)
            print(f"{name}: {shot.stat().st_size} bytes")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
