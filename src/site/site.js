// The site: loads its data in pieces, filters and sorts it, draws the chosen points, and shows one point by its link. Behind explore.js.
const deepgapSite = (() => {
  "use strict";
  const {make, short, chartOf, legendOf, addTools, csvOf, giveText, dateText} = deepgap;
  const base = document.currentScript.src.replace(/[^/]*$/, "");
  const filterNames = ["model", "device", "engine", "precision", "batch", "scenario", "task"];
  const names = {throughput: "Throughput", latency_p50_ms: "Median latency", latency_p99_ms: "p99 latency", cost_per_1000_items: "Cost of 1000 items", energy_j_per_item: "Energy per item",
                 accuracy_top1: "Top-1 accuracy", accuracy_loss: "Accuracy loss", device_memory_mib: "Device memory", host_memory_mib: "Host memory", ttft_p50_ms: "Time to first token",
                 output_tokens_per_s: "Output tokens", batch: "Batch", time: "Date"};
  const title = id => names[id] || id;
  const unitOf = id => metric[id]?.unit || "";
  const withUnit = id => unitOf(id) ? `${title(id)} (${unitOf(id)})` : title(id);
  const root = document.getElementById("explore"), best = document.getElementById("best");
  const received = {}, waiting = {}, metric = {};
  const column = {};
  let index, count = 0, shown = [], state = {}, places = new Map();

  const add = (kind, number, data) => {
    const name = `${kind}-${number}`;
    received[name] = data;
    (waiting[name] || []).forEach(go => go(data));
    delete waiting[name];
    if (kind === "index") start(data);
  };
  const load = (kind, number) => new Promise((resolve, reject) => {
    const name = `${kind}-${number}`;
    if (received[name]) return resolve(received[name]);
    if (waiting[name]) return waiting[name].push(resolve);
    waiting[name] = [resolve];
    const script = make("script", {});
    script.onerror = () => { delete waiting[name]; reject(new Error(`${name}.js cannot be loaded; write the site again`)); };
    script.src = `${base}${name}.js`;
    document.head.append(script);
  });

  const start = async data => {
    index = data;
    for (const each of index.metrics) metric[each.id] = each;
    root.append(make("p", {class: "count", role: "status"}, `Loading ${index.points.toLocaleString("en-US")} points`));
    try {
      const files = await Promise.all(Array.from({length: Math.ceil(index.points / index.rows_of_file)}, (_, i) => load("rows", i)));
      for (const key of Object.keys(files[0] || {})) column[key] = [].concat(...files.map(file => file[key]));
      count = column.id ? column.id.length : 0;
      column.id.forEach((id, i) => places.set(id, i));
      build();
      addEventListener("hashchange", show);
      show();
    } catch (error) {
      root.replaceChildren(make("p", {class: "count", role: "alert"}, error.message));
      best.style.display = "block";
    }
  };

  const text = (key, i) => key === "batch" || key === "threads" ? String(column[key][i]) : index.lists[key][column[key][i]];
  const value = (id, i) => id === "batch" || id === "time" || id === "threads" ? column[id][i] : column[id] ? column[id][3 * i] : null;
  const interval = (id, i) => column[id] && metric[id] ? [column[id][3 * i + 1], column[id][3 * i + 2]] : [null, null];
  const intervalText = (id, i) => {
    const [low, high] = interval(id, i);
    return low === null || high === null || low === high ? "" : `${short(low, 4)} to ${short(high, 4)}`;
  };
  const weak = i => !["valid", "as_found", "none"].includes(text("state", i));

  // The address holds what is shown: #model=resnet50&sort=-throughput, #p=4f2a91c0d1e2.
  const readState = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const writeState = change => {
    for (const [key, to] of Object.entries(change)) {
      if (to) state[key] = to;
      else delete state[key];
    }
    const hash = new URLSearchParams(state).toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    listHash = location.hash;
    refresh();
  };

  let list, detail, controls = {}, rowsBox, inner, countLine, plot, heads, active = 0;
  const select = (label, options, onchange, extra) => make("label", {class: extra || ""}, label, make("select", {onchange}, ...options.map(([v, t]) => make("option", {value: v}, t))));
  const build = () => {
    root.replaceChildren();
    const bar = make("div", {class: "bar", role: "search", "aria-label": "Filter points"});
    for (const name of filterNames) {
      const values = [...new Set(column[name])].map(v => name === "batch" ? String(v) : index.lists[name][v]);
      if (values.length < 2) continue;
      values.sort((a, b) => name === "batch" ? a - b : a < b ? -1 : 1);
      const label = select(name, [["", "all"], ...values.map(v => [v, v])], event => writeState({[name]: event.target.value}));
      controls[name] = label.querySelector("select");
      bar.append(label);
    }
    controls.q = make("input", {type: "search", placeholder: "words, press /", oninput: event => writeState({q: event.target.value})});
    bar.append(make("label", {class: "search"}, "search", controls.q));
    const sorts = sortable().flatMap(id => [[`-${id}`, `${title(id)}, highest`], [id, `${title(id)}, lowest`]]);
    const sortLabel = select("sort", sorts, event => writeState({sort: event.target.value}), "phone-sort");
    controls.sort = sortLabel.querySelector("select");
    bar.append(sortLabel, make("button", {type: "button", class: "tool", onclick: reset}, "Reset"),
               make("button", {type: "button", class: "tool", onclick: event => giveText(event.target, "points.csv", csvOf(csvRows()))}, "Copy table as CSV"));
    countLine = make("p", {class: "count", role: "status"});
    plot = make("div", {class: "plot"});
    heads = make("div", {class: "heads", role: "row"});
    inner = make("div", {role: "rowgroup"});
    rowsBox = make("div", {class: "rows", tabindex: "0", "aria-label": "Points: arrows move, Enter opens", onscroll: () => drawRows(), onkeydown: onKey});
    rowsBox.append(inner);
    list = make("section", {id: "points"}, bar, countLine, plot, make("div", {class: "grid-table", role: "table", "aria-label": "Points"}, heads, rowsBox));
    detail = make("section", {class: "detail", hidden: true, tabindex: "-1"});
    root.append(list, detail);
    addEventListener("resize", () => drawRows(true));
    document.addEventListener("keydown", event => {
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
      if (event.key === "/" && !typing && !list.hidden) { event.preventDefault(); controls.q.focus(); }
      if (event.key === "Escape" && !detail.hidden) back();
    });
  };
  const sortable = () => [...index.metrics.map(m => m.id), "batch", "time"];
  const csvRows = () => [["model", "engine", "precision", "device", "batch", "scenario", "options", "state", ...index.metrics.flatMap(m => [m.id, `${m.id}_ci_low`, `${m.id}_ci_high`])],
                         ...shown.map(i => [text("model", i), text("engine", i), text("precision", i), text("device", i), column.batch[i], text("scenario", i), text("options", i), text("state", i),
                                            ...index.metrics.flatMap(m => [value(m.id, i), ...interval(m.id, i)])])];
  const reset = () => { state = {}; writeState({}); };

  // Columns: what varies, then metrics, as many as a page has room for.
  const textColumns = () => ["model", "engine", "precision", "device", "options"].filter(name => name === "model" || name === "engine" || new Set(column[name]).size > 1);
  const shownMetrics = () => ["throughput", "latency_p50_ms", "latency_p99_ms", "cost_per_1000_items", "energy_j_per_item", "output_tokens_per_s"].filter(id => metric[id]).slice(0, 4);

  const show = () => {
    state = readState();
    if (state.p) return showPoint(state.p);
    detail.hidden = true;
    list.hidden = false;
    listHash = location.hash;
    refresh();
  };
  const refresh = () => {
    for (const name of [...filterNames, "q"]) if (controls[name]) controls[name].value = state[name] || "";
    const wanted = filterNames.filter(name => state[name]).map(name => [column[name], name === "batch" ? Number(state[name]) : index.lists[name].indexOf(state[name])]);
    const words = (state.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    shown = [];
    for (let i = 0; i < count; ++i) {
      if (!wanted.every(([cells, cell]) => cells[i] === cell)) continue;
      if (words.length) {
        const all = ["model", "engine", "precision", "device", "scenario", "options", "state"].map(name => text(name, i)).join(" ").toLowerCase();
        if (!words.every(word => all.includes(word))) continue;
      }
      shown.push(i);
    }
    const sort = state.sort || "-throughput", down = sort.startsWith("-"), key = down ? sort.slice(1) : sort;
    const isText = ["model", "engine", "precision", "device", "options"].includes(key);
    if (isText) shown.sort((a, b) => (text(key, a) < text(key, b) ? -1 : text(key, a) > text(key, b) ? 1 : 0) * (down ? -1 : 1) || a - b);
    else if (column[key]) shown.sort((a, b) => {
      const x = value(key, a), y = value(key, b);
      if (x === null || y === null) return (x === null) - (y === null) || a - b;
      return (down ? y - x : x - y) || a - b;
    });
    if (controls.sort) controls.sort.value = sort;
    countLine.textContent = `${shown.length.toLocaleString("en-US")} of ${count.toLocaleString("en-US")} points`;
    drawHeads(key, down);
    active = 0;
    rowsBox.scrollTop = 0;
    drawRows(true);
    drawPlot();
  };

  const drawHeads = (key, down) => {
    const texts = textColumns(), metrics = shownMetrics();
    root.style.setProperty("--columns", [...texts.map(name => ({model: "minmax(0,1.5fr)", engine: "minmax(0,1.15fr)", precision: "minmax(0,.95fr)", device: "minmax(0,1.3fr)", options: "minmax(0,1.2fr)"})[name]), "minmax(0,.5fr)", ...metrics.map(() => "minmax(0,1.7fr)")].join(" "));
    const head = (id, numeric) => make("span", {role: "columnheader", class: numeric ? "num" : "", "aria-sort": key === id ? (down ? "descending" : "ascending") : false},
                                       make("button", {type: "button", onclick: () => writeState({sort: key === id && down === numeric ? (numeric ? id : `-${id}`) : (numeric ? `-${id}` : id)})},
                                            metric[id] ? title(id) : id === "batch" ? "batch" : id), metric[id]?.unit ? make("small", {}, metric[id].unit) : null);
    heads.replaceChildren(...texts.map(name => head(name, false)), head("batch", true), ...metrics.map(id => head(id, true)));
  };
  const rowHeight = () => matchMedia("(max-width:700px)").matches ? 93 : 45;
  const placeOf = id => shownMetrics().indexOf(id) < 3 ? "num" : "num minor";  // a phone shows three
  const hashOf = i => `#p=${column.id[i]}`;
  const rowOf = (i, place, height) => {
    const cells = textColumns().map(name => make("span", {role: "cell", class: name === "model" ? "model" : "extra", title: text(name, i)}, name === "model" ? make("b", {}, text(name, i)) : name === "device" ? text(name, i).replace(/^NVIDIA /, "") : text(name, i),
      name === "model" ? make("small", {}, make("span", {class: "twice"}, ["engine", "precision", "device"].map(n => text(n, i)).join(" \u00b7 ") + " \u00b7 "), text("scenario", i),
                              make("span", {class: "twice"}, ` \u00b7 batch ${column.batch[i]}`), weak(i) ? ` \u00b7 ${text("state", i)}` : null) : null));
    const numbers = shownMetrics().map(id => make("span", {role: "cell", class: placeOf(id), "data-t": withUnit(id)}, short(value(id, i), 4), make("small", {}, intervalText(id, i))));
    return make("a", {class: `row${weak(i) ? " weak" : ""}${place === active ? " active" : ""}`, role: "row", "aria-rowindex": place + 2, href: hashOf(i), tabindex: "-1", style: `top:${place * height}px`},
                ...cells, make("span", {role: "cell", class: "num extra"}, text("batch", i)), ...numbers);
  };
  // Only the rows in view exist.
  let drawn = "";
  const drawRows = again => {
    const height = rowHeight(), first = Math.max(0, Math.floor(rowsBox.scrollTop / height) - 8), last = Math.min(shown.length, first + Math.ceil(rowsBox.clientHeight / height) + 16);
    if (!again && drawn === `${first} ${last} ${active}`) return;
    drawn = `${first} ${last} ${active}`;
    inner.style.height = `${Math.min(shown.length * height, 16000000)}px`;
    rowsBox.style.height = shown.length * height < rowsBox.clientHeight || shown.length < 8 ? `${shown.length * height}px` : "";
    inner.replaceChildren(...shown.slice(first, last).map((i, k) => rowOf(i, first + k, height)));
  };
  const onKey = event => {
    const page = Math.max(1, Math.floor(rowsBox.clientHeight / rowHeight()) - 1);
    const step = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity}[event.key];
    if (event.key === "Enter" && shown.length && event.target === rowsBox) { location.hash = hashOf(shown[active]); return; }
    if (step === undefined) return;
    event.preventDefault();
    active = Math.min(Math.max(active + step, 0), Math.max(0, shown.length - 1));
    const height = rowHeight(), top = active * height;
    if (top < rowsBox.scrollTop) rowsBox.scrollTop = top;
    if (top + height > rowsBox.scrollTop + rowsBox.clientHeight) rowsBox.scrollTop = top + height - rowsBox.clientHeight;
    drawRows(true);
  };

  // The chart of what is chosen: a line's colour is its engine and precision; the seven most frequent have one each.
  const mostDrawn = 1500;
  const drawPlot = () => {
    const choices = sortable(), lat = metric.latency_p50_ms ? "latency_p50_ms" : "batch";
    const x = choices.includes(state.x) ? state.x : lat, y = choices.includes(state.y) && state.y !== "time" ? state.y : "throughput";
    const scale = (axis, id, wanted) => id === "time" ? "time" : state[axis] === "linear" ? "linear" : state[axis] === "log10" || wanted ? "log10" : "linear";
    const able = shown.filter(i => value(x, i) !== null && value(y, i) !== null && value(x, i) !== undefined && value(y, i) !== undefined);
    const kept = able.slice(0, mostDrawn), groups = new Map();
    for (const i of kept) {
      const name = `${text("engine", i)} \u00b7 ${text("precision", i)}`;
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(i);
    }
    const ordered = [...groups].sort((a, b) => b[1].length - a[1].length), rest = ordered.length > 8 ? ordered.splice(7).flatMap(group => group[1]) : [];
    if (rest.length) ordered.push(["other", rest]);
    const spread = id => { const all = kept.map(i => value(id, i)).filter(v => v > 0); return all.length > 1 && Math.max(...all) / Math.min(...all) > 8; };
    const tip = i => `${text("model", i)} \u00b7 ${text("engine", i)} \u00b7 ${text("precision", i)} \u00b7 batch ${column.batch[i]}\n${text("device", i)}\n` +
                     [y, x].map(id => `${title(id)}: ${id === "time" ? dateText(value(id, i)) : short(value(id, i), 4)} ${unitOf(id)} ${intervalText(id, i) ? `(${intervalText(id, i)})` : ""}`).join("\n");
    const narrow = root.clientWidth < 600;
    const spec = {describe: `${title(y)} against ${title(x)}`, width: narrow ? 400 : 800, height: narrow ? 300 : 380,
                  x: {title: withUnit(x), scale: scale("xs", x, spread(x))}, y: {title: withUnit(y), scale: scale("ys", y, spread(y))},
                  lines: ordered.map(([label, members], style) => ({label, style, joined: false, points: members.map(i => {
                    const [xl, xh] = interval(x, i), [yl, yh] = interval(y, i);
                    return {x: value(x, i), xl, xh, y: value(y, i), yl, yh, hollow: weak(i), tip: tip(i), open: () => { location.hash = hashOf(i); }};
                  })}))};
    const pick = (label, current, key, ids) => {
      const box = select(label, ids.map(id => [id, title(id)]), event => writeState({[key]: event.target.value, [`${key}s`]: ""}));
      box.querySelector("select").value = current;
      return box;
    };
    const figure = make("figure", {class: "wide"}, make("figcaption", {}, make("b", {}, spec.describe),
      make("span", {}, able.length > kept.length ? `the first ${kept.length.toLocaleString("en-US")} of ${able.length.toLocaleString("en-US")} points as sorted; bars are 95 % intervals` : "bars are 95 % intervals; hollow: not valid")));
    figure.style.maxWidth = "none";
    plot.replaceChildren(make("div", {class: "axes"}, pick("y", y, "y", choices.filter(id => id !== "time")), pick("x", x, "x", choices)), figure);
    if (!kept.length) { figure.append(make("p", {class: "aside"}, "No point that is shown has both values.")); return; }
    figure.append(legendOf(spec), chartOf(spec));
    addTools(figure, (axis, to) => writeState({[`${axis}s`]: to}));
  };

  let listHash = "";  // of the list that was last shown, so that a reader finds the same filters again
  const back = () => { location.hash = listHash; };
  const showPoint = async id => {
    const i = places.get(id);
    list.hidden = true;
    detail.hidden = false;
    const link = make("p", {}, make("a", {href: "#", onclick: event => { event.preventDefault(); back(); }}, "\u2190 All points"));
    if (i === undefined) return detail.replaceChildren(link, make("p", {role: "alert"}, `No point ${id} is on this site. It may have been left out when the site was written.`));
    detail.replaceChildren(link, make("h2", {}, `${text("model", i)} \u00b7 ${text("engine", i)} \u00b7 ${text("precision", i)} \u00b7 batch ${column.batch[i]}`),
                           make("p", {}, `${text("device", i)}, ${text("scenario", i)}, ${column.threads[i]} threads. Verdict: ${text("state", i)}.`));
    detail.focus({preventScroll: true});
    scrollTo(0, 0);
    try {
      const data = (await load("details", Math.floor(i / index.details_of_file)))[i % index.details_of_file];
      if (readState().p !== id) return;
      fill(i, data);
      if (data.environment !== undefined) {
        const facts = (await load("environments", Math.floor(data.environment / index.environments_of_file)))[data.environment % index.environments_of_file];
        if (readState().p === id) detail.append(make("h3", {}, "Environment"), tableOf(facts));
      }
    } catch (error) {
      detail.append(make("p", {role: "alert"}, error.message));
    }
  };
  const tableOf = rows => make("table", {class: "kv"}, make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map(cell => make("td", {}, cell))))));
  const commandOf = (label, command) => make("div", {}, make("p", {class: "aside"}, label), make("pre", {tabindex: "0"}, command),
                                            make("button", {type: "button", class: "tool", onclick: event => giveText(event.target, "command.txt", command)}, "Copy"));
  const fill = (i, data) => {
    if (data.reason) detail.append(make("p", {class: "warning"}, data.reason));
    const rows = data.metrics.map(([id, estimate, range, unit]) => make("tr", {}, make("td", {}, id), make("td", {class: "num"}, estimate), make("td", {}, unit), make("td", {}, range)));
    detail.append(make("h3", {}, "Repeat it"), commandOf("Measure this point:", data.run));
    if (data.rerun) detail.append(commandOf("Repeat the record from its store, and compare:", data.rerun));
    detail.append(make("h3", {}, "Metrics"), make("div", {class: "scroll"}, make("table", {}, make("thead", {}, make("tr", {}, ...["metric", "value", "unit", "95 % interval"].map((head, k) => make("th", {scope: "col", class: k === 1 ? "num" : ""}, head)))), make("tbody", {}, ...rows))));
    for (const trend of data.trends || []) {
      const spec = {describe: "Throughput over time", width: root.clientWidth < 600 ? 400 : 800, x: {title: "Date", scale: "time"}, y: {title: withUnit("throughput"), scale: "linear"},
                    lines: [{label: trend.machine, style: 0, joined: true, points: trend.runs.map(([time, throughput, version]) => ({x: time, y: throughput, tip: `${new Date(time * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC\n${short(throughput, 4)} ${unitOf("throughput")}${version ? `\n${version}` : ""}`}))}]};
      const figure = make("figure", {class: "wide"}, make("figcaption", {}, make("b", {}, "Throughput over time"),
        make("span", {}, trend.changes.length ? trend.changes.map(([at, before, after]) => `${short(after / before, 3)}x from ${dateText(trend.runs[at][0])} on`).join("; ") : trend.runs.length < 10 ? "too few runs to find a change: it takes 10" : "no change found")), chartOf(spec));
      figure.style.maxWidth = "none";
      detail.append(figure);
      addTools(figure);
    }
    detail.append(make("h3", {}, "About"), tableOf(data.facts));
    if (data.stderr) detail.append(make("h3", {}, "Last lines of standard error"), make("pre", {}, data.stderr));
  };
  return {add};
})();
