"""Small charts as SVG text, for tools/charts.py: bars with error bars, and lines over a logarithmic axis. Written by hand so that the same data
give the same bytes and that one file can follow the reader's light or dark theme."""
import math
from xml.sax.saxutils import escape

LIGHT = {"text": "#1f2328", "faint": "#57606a", "grid": "#d0d7de", "paper": "#ffffff", "colours": ("#0969da", "#8c959f", "#bf8700", "#8250df", "#1a7f37")}
DARK = {"text": "#e6edf3", "faint": "#8b949e", "grid": "#30363d", "paper": "#0d1117", "colours": ("#58a6ff", "#8b949e", "#d29922", "#bc8cff", "#3fb950")}
FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"


def rules(theme):
    classes = [f"text {{ fill: {theme['text']}; }}", f".faint {{ fill: {theme['faint']}; }}", f".grid {{ stroke: {theme['grid']}; }}",
               f".error {{ stroke: {theme['text']}; stroke-width: 1.5; }}"]
    for number, colour in enumerate(theme["colours"]):
        classes.append(f".fill{number} {{ fill: {colour}; }} .line{number} {{ stroke: {colour}; fill: none; stroke-width: 2; }}")
    return " ".join(classes)


class Svg:
    """theme: LIGHT, DARK, or None for one that follows the reader's."""

    def __init__(self, width, height, title, theme=None):
        self.width, self.height, self.title, self.theme, self.parts = width, height, title, theme, []

    def text(self, x, y, text, anchor="start", size=13, faint=False, bold=False):
        extra = (' class="faint"' if faint else "") + (' font-weight="600"' if bold else "")
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{extra}>{escape(text)}</text>')

    def rect(self, x, y, width, height, colour):
        self.parts.append(f'<rect class="fill{colour}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{height:.1f}" rx="2"/>')

    def line(self, x1, y1, x2, y2, kind="grid"):
        self.parts.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def path(self, points, colour, dashed=False):
        steps = " ".join(f"{'M' if i == 0 else 'L'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(points))
        self.parts.append(f'<path class="line{colour}"{" stroke-dasharray=" + chr(34) + "5 4" + chr(34) if dashed else ""} d="{steps}"/>')

    def dot(self, x, y, colour):
        self.parts.append(f'<circle class="fill{colour}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>')

    def done(self):
        style = rules(self.theme) if self.theme else f"{rules(LIGHT)} @media (prefers-color-scheme: dark) {{ {rules(DARK)} }}"
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" role="img" font-family="{FONT}">\n'
                f"<title>{escape(self.title)}</title>\n<style>{style}</style>\n" + "\n".join(self.parts) + "\n</svg>\n")


def nice_step(top, ticks=4):
    raw = top / ticks
    power = 10 ** math.floor(math.log10(raw))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= raw)


def short(value):
    """At most four significant digits, with a comma at thousands."""
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def bar_panels(title, panels, footnotes, theme=None, width=920):
    """panels: [(heading, [(label, colour, value, low, high)])], each with an axis of its own from 0; low and high may be None."""
    columns = 2 if len(panels) == 4 else min(len(panels), 3)
    rows = math.ceil(len(panels) / columns)
    longest = max(len(bars) for _, bars in panels)
    label_width, gap, bar, pad = 165, 28, 22, 12
    panel_width = (width - label_width - gap * (columns - 1) - 20) / columns
    panel_height = 34 + longest * (bar + pad) + 20
    svg = Svg(width, 44 + rows * panel_height + 18 * len(footnotes) + 12, title, theme)
    svg.text(16, 26, title, size=16, bold=True)
    for number, (heading, bars) in enumerate(panels):
        x = label_width + (number % columns) * (panel_width + gap)
        y = 44 + (number // columns) * panel_height
        top = max(high or value for _, _, value, _, high in bars)
        scale = (panel_width - 62) / top
        svg.text(x, y + 18, heading, bold=True)
        svg.line(x, y + 28, x, y + 34 + len(bars) * (bar + pad))
        for i, (label, colour, value, low, high) in enumerate(bars):
            above = y + 36 + i * (bar + pad)
            if number % columns == 0:
                svg.text(label_width - 8, above + 15, label, "end")
            svg.rect(x, above, value * scale, bar, colour)
            end = value
            if low is not None:
                middle = above + bar / 2
                svg.line(x + low * scale, middle, x + high * scale, middle, "error")
                for edge in (low, high):
                    svg.line(x + edge * scale, middle - 4, x + edge * scale, middle + 4, "error")
                end = max(value, high)
            svg.text(x + end * scale + 6, above + 16, short(value))
    for i, note in enumerate(footnotes):
        svg.text(16, 44 + rows * panel_height + 16 + 18 * i, note, size=12, faint=True)
    return svg.done()


def log_lines(title, x_label, y_label, series, footnotes, width=760, height=420, theme=None):
    """series: [(label, colour, dashed, [(x, y, low, high)])] over logarithmic axes; labels stand at the ends of lines."""
    svg = Svg(width, height + 18 * len(footnotes), title, theme)
    left, right, above, below = 70, width - 190, 50, height - 56
    xs = [x for *_, points in series for x, *_ in points]
    ys = [y for *_, points in series for _, y, *_ in points]
    low, high = math.log(min(xs)), math.log(max(xs))
    y_low, y_high = math.floor(math.log10(min(ys))), math.log10(max(ys) * 1.3)

    def at(x, y):
        return (left + (math.log(x) - low) / (high - low) * (right - left), below - (math.log10(y) - y_low) / (y_high - y_low) * (below - above))

    svg.text(16, 26, title, size=16, bold=True)
    for power in range(y_low, math.floor(y_high) + 1):
        for factor in (1, 2, 5):
            if y_low <= math.log10(factor * 10 ** power) <= y_high:
                _, y = at(min(xs), factor * 10 ** power)
                svg.line(left, y, right, y)
                svg.text(left - 8, y + 4, short(factor * 10 ** power), "end", 12, faint=True)
    for x in sorted(set(xs)):
        across, _ = at(x, 10 ** y_low)
        if math.log2(x).is_integer():
            svg.text(across, below + 18, short(x), "middle", 12, faint=True)
    svg.text((left + right) / 2, below + 40, x_label, "middle", 12, faint=True)
    svg.text(left, above - 8, y_label, "start", 12, faint=True)
    ends = []
    for label, colour, dashed, points in series:
        places = [at(x, y) for x, y, *_ in points]
        svg.path(places, colour, dashed)
        for (x, y, least, most), (across, up) in zip(points, places):
            svg.dot(across, up, colour)
            if least:
                svg.line(across, at(x, least)[1], across, at(x, most)[1], "error")
        ends.append([places[-1][1], label])
    ends.sort()
    for i in range(1, len(ends)):  # labels must not cover each other
        ends[i][0] = max(ends[i][0], ends[i - 1][0] + 15)
    for y, label in ends:
        svg.text(right + 10, y + 4, label, size=12)
    for i, note in enumerate(footnotes):
        svg.text(16, height + 18 * i, note, size=12, faint=True)
    return svg.done()


def forest(title, rows, footnotes, x_label, width=760, theme=None):
    """rows: [(label, ratio, low, high)] on a logarithmic axis round 1."""
    height = 60 + 24 * len(rows) + 44
    svg = Svg(width, height + 18 * len(footnotes), title, theme)
    left, right = 250, width - 130
    span = max(abs(math.log(value)) for _, *values in rows for value in values) * 1.05

    def at(value):
        return (left + right) / 2 + math.log(value) / span * (right - left) / 2

    svg.text(16, 26, title, size=16, bold=True)
    for tick in (0.1, 0.2, 0.25, 0.5, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5):
        if abs(math.log(tick)) <= span:
            svg.line(at(tick), 44, at(tick), 60 + 24 * len(rows))
            svg.text(at(tick), 76 + 24 * len(rows), short(tick), "middle", 12, faint=True)
    svg.line(at(1), 44, at(1), 60 + 24 * len(rows), "error")
    svg.text((left + right) / 2, 96 + 24 * len(rows), x_label, "middle", 12, faint=True)
    for i, (label, ratio, low, high) in enumerate(rows):
        y = 60 + 24 * i
        svg.text(left - 10, y + 4, label, "end", 12)
        svg.line(at(low), y, at(high), y, "error")
        svg.dot(at(ratio), y, 0 if low > 1 else 2 if high < 1 else 1)
        svg.text(right + 10, y + 4, f"{ratio:.2f} ({low:.2f} to {high:.2f})", size=12)
    for i, note in enumerate(footnotes):
        svg.text(16, height + 6 + 18 * i, note, size=12, faint=True)
    return svg.done()
