// What pages of deepgap do once scripts run: sort tables, show values, change axes, copy charts, filter, choose light or dark. Reports and
// sites share this file. Pages are complete without it. Text of a store is only ever set as text, never parsed as HTML.
const deepgap = (() => {
  "use strict";
  const make = (name, attributes, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children.filter(child => child !== null && child !== undefined));
    return element;
  };
  const svgNamespace = (() => {
    const template = document.createElement("template");
    template.innerHTML = "<svg></svg>";
    return template.content.firstChild.namespaceURI;
  })();
  const draw = (name, attributes, text) => {
    const element = document.createElementNS(svgNamespace, name);
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  // Three significant digits or more, without an exponent where people read it.
  const short = (value, digits = 3) => {
    if (value === null || value === undefined || !isFinite(value)) return "";
    const rounded = Number(value.toPrecision(Math.max(digits, Math.min(5, Math.floor(Math.log10(Math.abs(value) || 1)) + 1))));
    return Math.abs(rounded) >= 1e-4 || rounded === 0 ? rounded.toLocaleString("en-US", {maximumSignificantDigits: 6}) : rounded.toExponential(digits - 1);
  };

  // Axes: positions and ticks.
  const axisOf = (kind, values, from, to) => {
    const log = kind === "log2" || kind === "log10";
    const good = values.filter(value => Number.isFinite(value) && (!log || value > 0));
    let least = good.reduce((a, b) => Math.min(a, b), Infinity), most = good.reduce((a, b) => Math.max(a, b), -Infinity);
    if (!good.length) [least, most] = log ? [1, 10] : [0, 1];
    if (most - least <= Math.abs(most) * 1e-9) least = most;  // ticks closer than a number can tell apart would never end
    let ticks = [];
    if (log) {
      if (least === most) [least, most] = [least / 2, most * 2];
      const room = (most / least) ** 0.03;
      [least, most] = [least / room, most * room];
      const base = kind === "log2" && most / least < 2 ** 14 ? 2 : 10, steps = base === 10 && most / least < 1000 ? [1, 2, 5] : [1];
      for (let power = Math.floor(Math.log(least) / Math.log(base)) - 1; base ** power <= most; ++power)
        for (const step of steps) ticks.push(step * base ** power);
    } else {
      if (kind !== "time" && least > 0 && least < most * 0.6) least = 0;
      if (least === most) [least, most] = kind === "time" ? [least - 43200, most + 43200] : [Math.min(0, least), most || 1];
      const span = most - least;
      if (kind !== "time") [least, most] = [least === 0 ? 0 : least - span * 0.04, most + span * 0.04];
      const rough = (most - least) / 5, size = 10 ** Math.floor(Math.log10(rough));
      const step = kind === "time" ? rough : [1, 2, 5, 10].map(m => m * size).find(s => s >= rough);
      for (let tick = kind === "time" ? least : Math.ceil(least / step) * step; tick <= most + step * 1e-9; tick += step) ticks.push(Number(tick.toPrecision(12)));
    }
    const at = log ? value => from + (to - from) * Math.log(value / least) / Math.log(most / least) : value => from + (to - from) * (value - least) / (most - least);
    ticks = ticks.filter(tick => tick >= least * (1 - 1e-9) && tick <= most * (1 + 1e-9) || tick === 0);
    const gap = kind === "time" ? 90 : Math.abs(to - from) < 260 ? 24 : 44;
    while (ticks.length > Math.abs(to - from) / gap) ticks = ticks.filter((_, i) => i % 2 === 0);
    return {at, ticks, log, drawable: value => Number.isFinite(value) && (!log || value > 0),
            clamp: value => Math.min(Math.max(value, Math.min(from, to)), Math.max(from, to))};
  };
  const dateText = seconds => new Date(seconds * 1000).toISOString().slice(0, 10);

  // spec: {describe, width, x: {title, scale}, y: {title, scale}, lines: [{label, style, joined, faint, engine, precision,
  //        points: [{x, xl, xh, y, yl, yh, tip, hollow, open}]}]}. The classes are those of the charts that the program draws.
  const chartOf = spec => {
    const width = spec.width || 400, height = spec.height || 290, right = width - 14, top = 30, bottom = height - 42;
    const points = spec.lines.flatMap(line => line.points);
    // An interval may be so wide that it would squeeze everything else: axes follow the values and half their size beyond.
    const near = (value, end) => end === null || end === undefined ? value : Math.min(Math.max(end, value - Math.abs(value) / 2), value + Math.abs(value) / 2);
    const y = axisOf(spec.y.scale, points.flatMap(p => [p.y, near(p.y, p.yl), near(p.y, p.yh)]), bottom, top);
    const left = Math.max(50, ...y.ticks.map(tick => 5.6 + 7.4 * short(tick, 2).length));  // room for the longest number beside the axis
    const x = axisOf(spec.x.scale, points.flatMap(p => [p.x, near(p.x, p.xl), near(p.x, p.xh)]), left, right);
    const svg = draw("svg", {class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": spec.describe});
    const grid = draw("g", {class: "grid"}), ticks = draw("g", {class: "tick"});
    for (const tick of y.ticks) {
      grid.append(draw("path", {d: `M${left} ${y.at(tick).toFixed(1)}H${right}`}));
      ticks.append(draw("text", {x: left - 6, y: (y.at(tick) + 4).toFixed(1), "text-anchor": "end"}, short(tick, 2)));
    }
    for (const tick of x.ticks) {
      ticks.append(draw("path", {d: `M${x.at(tick).toFixed(1)} ${bottom}v4`}),
                   draw("text", {x: x.at(tick).toFixed(1), y: bottom + 17, "text-anchor": spec.x.scale === "time" && x.at(tick) > right - 30 ? "end" : "middle"}, spec.x.scale === "time" ? dateText(tick) : short(tick, 2)));
    }
    svg.append(grid, draw("path", {class: "axis", d: `M${left} ${bottom}H${right}`}), ticks,
               draw("text", {class: "axis-title", x: 2, y: 14}, spec.y.title),
               draw("text", {class: "axis-title", x: (left + right) / 2, y: height - 7, "text-anchor": "middle"}, spec.x.title));
    for (const line of spec.lines) {
      const group = draw("g", {class: `line s${line.style % 8}${line.faint ? " faint" : ""}`});
      group.dataset.label = line.label || "";
      if (line.engine) group.dataset.e = line.engine;
      if (line.precision) group.dataset.p = line.precision;
      const shown = line.points.filter(p => x.drawable(p.x) && y.drawable(p.y));
      if (line.joined && shown.length > 1) group.append(draw("path", {class: "path", d: "M" + shown.map(p => `${x.at(p.x).toFixed(1)} ${y.at(p.y).toFixed(1)}`).join("L")}));
      for (const p of line.faint && shown.length > 1 ? [] : shown) {
        const point = draw("g", {}), px = x.at(p.x), py = y.at(p.y);
        point.dataset.tip = p.tip || "";
        point.dataset.v = [p.x, p.xl, p.xh, p.y, p.yl, p.yh].map(v => v ?? "").join(" ");
        const end = (axis, value, fallback) => axis.drawable(value) ? axis.clamp(axis.at(value)) : fallback;
        if (p.yl != null && p.yh != null) point.append(draw("path", {class: "bar", d: `M${px.toFixed(1)} ${end(y, p.yl, bottom).toFixed(1)}V${end(y, p.yh, top).toFixed(1)}`}));
        if (p.xl != null && p.xh != null) point.append(draw("path", {class: "bar", d: `M${end(x, p.xl, left).toFixed(1)} ${py.toFixed(1)}H${end(x, p.xh, right).toFixed(1)}`}));
        point.append(draw("path", {class: p.hollow ? "mark hollow" : "mark", transform: `translate(${px.toFixed(1)} ${py.toFixed(1)})`, d: deepgapMarkers[line.style % 8]}));
        if (p.open) {
          point.style.cursor = "pointer";
          point.addEventListener("click", p.open);
        }
        group.append(point);
      }
      svg.append(group);
    }
    svg.spec = spec;
    return svg;
  };
  const swatchOf = style => {
    const svg = draw("svg", {class: "swatch", viewBox: "0 0 26 12", "aria-hidden": "true"}), line = draw("g", {class: `line s${style % 8}`});
    line.append(draw("path", {class: "path", d: "M1 6H25"}), draw("path", {class: "mark", transform: "translate(13 6)", d: deepgapMarkers[style % 8]}));
    svg.append(line);
    return svg;
  };
  const legendOf = spec => make("ul", {class: "legend"}, ...spec.lines.filter(line => line.label && !line.faint).map(line => make("li", {}, swatchOf(line.style), line.label)));
  // The data of a chart that the program drew.
  const specOf = svg => {
    if (svg.spec) return svg.spec;
    if (!svg.dataset.x) return null;
    const titles = svg.querySelectorAll(".axis-title"), number = text => text === "" || text === undefined ? null : Number(text);
    const lines = [...svg.querySelectorAll("g.line")].map(group => ({
      label: group.dataset.label || "", style: Number(/\bs(\d)/.exec(group.getAttribute("class"))?.[1] || 0), joined: group.querySelector(".path") !== null,
      faint: group.classList.contains("faint"), engine: group.dataset.e, precision: group.dataset.p,
      points: [...group.querySelectorAll("g[data-v]")].map(point => {
        const [x, xl, xh, y, yl, yh] = point.dataset.v.split(" ").map(number);
        return {x, xl, xh, y, yl, yh, tip: point.dataset.tip || point.querySelector("title")?.textContent, hollow: point.querySelector(".hollow") !== null};
      })}));
    return svg.spec = {describe: svg.getAttribute("aria-label"), y: {title: titles[0]?.textContent || "", scale: svg.dataset.y},
                       x: {title: titles[1]?.textContent || "", scale: svg.dataset.x}, lines};
  };

  // A spreadsheet would run a text that begins like a formula, so such a text gets an apostrophe, as in deepgap export.
  const csvCell = value => {
    let text = value === null || value === undefined ? "" : String(value);
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csvOf = rows => rows.map(row => row.map(csvCell).join(",")).join("\n") + "\n";
  const csvOfChart = spec => csvOf([["line", spec.x.title, "x low", "x high", spec.y.title, "y low", "y high"],
                                    ...spec.lines.flatMap(line => line.points.map(p => [line.label, p.x, p.xl, p.xh, p.y, p.yl, p.yh]))]);
  const save = (name, blob) => {
    const link = make("a", {download: name, href: URL.createObjectURL(blob)});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const say = (button, text) => {
    const before = button.dataset.text || (button.dataset.text = button.textContent);
    button.textContent = text;
    setTimeout(() => { button.textContent = before; }, 1500);
  };
  // Into the clipboard; where the browser refuses that, as a file.
  const give = async (button, name, blob) => {
    try {
      await navigator.clipboard.write([new ClipboardItem({[blob.type]: blob})]);
      say(button, "Copied");
    } catch {
      save(name, blob);
      say(button, "Saved");
    }
  };
  const giveText = async (button, name, text) => {
    try {
      await navigator.clipboard.writeText(text);
      say(button, "Copied");
    } catch {
      save(name, new Blob([text], {type: "text/csv"}));
      say(button, "Saved");
    }
  };
  const drawnStyles = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font-size", "font-weight", "font-family", "paint-order", "display"];
  const pngOf = (svg, title) => new Promise((resolve, reject) => {
    const copy = svg.cloneNode(true), [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number), head = title ? 26 : 0, scale = 2;
    const from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
    from.forEach((element, i) => {
      const style = getComputedStyle(element);
      to[i].setAttribute("style", drawnStyles.map(name => `${name}:${style.getPropertyValue(name)}`).join(";"));
    });
    copy.setAttribute("width", width * scale);
    copy.setAttribute("height", height * scale);
    const image = new Image();
    image.onerror = () => reject(new Error("the chart cannot be drawn"));
    image.onload = () => {
      const canvas = make("canvas", {width: (width + 20) * scale, height: (height + head + 16) * scale}), pen = canvas.getContext("2d"), page = getComputedStyle(document.body);
      pen.fillStyle = page.backgroundColor;
      pen.fillRect(0, 0, canvas.width, canvas.height);
      pen.fillStyle = page.color;
      pen.font = `600 ${14 * scale}px system-ui,sans-serif`;
      if (title) pen.fillText(title, 10 * scale, 20 * scale, width * scale);
      pen.drawImage(image, 10 * scale, (head + 8) * scale);
      canvas.toBlob(blob => blob ? resolve(blob) : reject(new Error("no picture")), "image/png");
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(copy));
  });

  // Buttons below a chart. `redraw` gets the changed spec; without one the chart is replaced.
  const tool = (text, title, onclick) => make("button", {type: "button", class: "tool", title, onclick}, text);
  const addTools = (figure, redraw) => {
    const find = () => figure.querySelector("svg.chart"), spec = specOf(find());
    const name = () => (figure.querySelector("figcaption b")?.textContent || find().getAttribute("aria-label") || "chart").trim();
    const file = ending => name().toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 60) + ending;
    const bar = make("div", {class: "tools"});
    const replace = () => {
      const old = find(), fresh = chartOf(specOf(old));
      if (!figure.querySelector(".legend") && spec.lines.some(line => line.label)) old.before(legendOf(spec));
      old.replaceWith(fresh);
      fresh.dataset.x = spec.x.scale;
      applyFilter();
    };
    for (const axis of spec ? ["x", "y"] : []) {
      if (spec[axis].scale === "time") continue;
      const isLog = () => specOf(find())[axis].scale.startsWith("log");
      const button = tool(`log ${axis}`, `Logarithmic ${axis} axis`, () => {
        const current = specOf(find());
        current[axis].scale = isLog() ? "linear" : "log10";
        (redraw || replace)(axis, current[axis].scale);
        button.setAttribute("aria-pressed", isLog());
      });
      button.setAttribute("aria-pressed", isLog());
      bar.append(button);
    }
    bar.append(tool("PNG", "Copy the chart as a picture", async event => give(event.target, file(".png"), await pngOf(find(), name()))));
    if (spec) bar.append(tool("CSV", "Copy the values of the chart", event => giveText(event.target, file(".csv"), csvOfChart(specOf(find())))));
    figure.append(bar);
  };

  // Values of the point nearest to the pointer, or of the one that has the focus.
  const tip = make("div", {class: "tip", role: "status", hidden: true});
  const showTip = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = !text;
    if (!text) return;
    tip.style.left = Math.max(8, Math.min(x + 14, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = Math.max(8, y + 18 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 12 : y + 18) + "px";
  };
  const tipText = point => {
    const title = point.querySelector("title");
    if (title) {
      point.dataset.tip = title.textContent;  // the browser would show it a second time
      title.remove();
    }
    return point.dataset.tip || "";
  };
  let lit = null;
  const light = point => {
    if (lit) lit.classList.remove("lit");
    lit = point;
    if (lit) lit.classList.add("lit");
  };
  const hover = event => {
    const svg = event.target.closest?.("svg.chart");
    let best = null, least = 30;
    for (const point of svg ? svg.querySelectorAll("g.line>g") : []) {
      const mark = point.querySelector(".mark");
      if (!mark || point.parentNode.style.display === "none") continue;
      const box = mark.getBoundingClientRect(), distance = Math.hypot(event.clientX - box.x - box.width / 2, event.clientY - box.y - box.height / 2);
      if (distance < least) [best, least] = [point, distance];
    }
    light(best);
    showTip(best ? tipText(best) : "", event.clientX, event.clientY);
  };

  const chosen = {e: "", p: ""};
  const matches = element => (!chosen.e || !element.dataset.e || element.dataset.e === chosen.e) && (!chosen.p || !element.dataset.p || element.dataset.p === chosen.p);
  const applyFilter = () => {
    for (const row of document.querySelectorAll("tr[data-e]")) row.hidden = !matches(row);
    for (const line of document.querySelectorAll("svg.chart g.line")) line.style.display = matches(line) ? "" : "none";
    for (const figure of document.querySelectorAll("main figure")) {
      const lines = [...figure.querySelectorAll("svg.chart g.line[data-e]")];
      figure.hidden = lines.length > 0 && !lines.some(matches);
    }
  };
  const addFilter = () => {
    const rows = [...document.querySelectorAll("tr[data-e]")], bar = make("div", {class: "filters", role: "group", "aria-label": "Filter"});
    for (const [key, name] of [["e", "engine"], ["p", "precision"]]) {
      const values = [...new Set(rows.map(row => row.dataset[key]))].sort();
      if (values.length < 2) continue;
      bar.append(make("label", {}, name, make("select", {onchange: event => { chosen[key] = event.target.value; applyFilter(); }},
                                              make("option", {value: ""}, "all"), ...values.map(value => make("option", {value}, value)))));
    }
    if (bar.children.length) document.querySelector("main").before(bar);
  };
  const addTheme = () => {
    const names = ["auto", "light", "dark"], button = make("button", {type: "button", class: "tool theme", title: "Light or dark"});
    const set = name => {
      if (name === "auto") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = name;
      button.dataset.theme = name;
      button.textContent = `theme: ${name}`;
    };
    button.addEventListener("click", () => set(names[(names.indexOf(button.dataset.theme) + 1) % 3]));
    set("auto");
    document.querySelector("header").append(button);
  };

  const addSorting = table => {
    const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = make("button", {type: "button"}, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending", numeric = head.classList.contains("num");
        heads.forEach(other => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].map((row, place) => {
          const cell = row.cells[column], value = cell.getAttribute("data-v");
          return {row, place, value: numeric ? (value === null || value === "" ? NaN : Number(value)) : cell.textContent};
        });
        rows.sort((a, b) => {
          if (numeric && (isNaN(a.value) || isNaN(b.value))) return isNaN(a.value) - isNaN(b.value) || a.place - b.place;
          const order = numeric ? a.value - b.value : a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
          return (down ? -order : order) || a.place - b.place;
        });
        body.append(...rows.map(entry => entry.row));
      });
    });
  };

  const begin = () => {
    document.querySelectorAll("table.sortable").forEach(addSorting);
    document.querySelectorAll("main figure").forEach(figure => { if (figure.querySelector("svg.chart")) addTools(figure); });
    addTheme();
    addFilter();
    document.body.append(tip);
    document.addEventListener("pointermove", hover);
    document.addEventListener("pointerdown", hover);
    document.addEventListener("scroll", () => showTip("", 0, 0), {passive: true});
  };
  return {make, draw, short, chartOf, legendOf, swatchOf, addTools, csvOf, giveText, begin, dateText};
})();
deepgap.begin();
