// Runs in a report under headless Chromium: does what a reader does and writes what came of it into <pre id="outcome">.
// Loaded behind the page's own script by report_browser_test.py.
(async () => {
  const outcome = {};
  const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
  const until = async (what, condition) => {
    for (let i = 0; i < 200 && !condition(); ++i) await pause(20);
    if (!condition()) throw new Error(`never: ${what}`);
  };
  const overflow = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const labelled = text => [...document.querySelectorAll(".filters label")].find(label => label.firstChild.textContent === text)?.querySelector("select");
  const choose = (text, value) => { labelled(text).value = value; labelled(text).dispatchEvent(new Event("change")); };
  const shown = () => ({rows: [...document.querySelectorAll("tr[data-e]")].filter(row => !row.hidden).map(row => `${row.dataset.e} ${row.dataset.p}`),
                        lines: [...document.querySelectorAll("main figure:not([hidden]) g.line[data-e]")].filter(line => line.style.display !== "none").map(line => `${line.dataset.e} ${line.dataset.p}`)});
  const distinct = list => [...new Set(list)].sort();
  // What a button gives away: this page has no clipboard, so it becomes a file. Reading and encoding files takes real time, while the browser's time is
  // virtual and would run out, so both are done at once here.
  const given = [];
  const OwnBlob = Blob;
  Blob = class extends OwnBlob { constructor(parts, options) { super(parts, options); this.content = parts.join(""); } };
  HTMLCanvasElement.prototype.toBlob = function(callback, type) { callback(new Blob([this.toDataURL(type)], {type})); };
  URL.createObjectURL = blob => { given.push({content: blob.content}); return "blob:none"; };
  URL.revokeObjectURL = () => {};
  HTMLAnchorElement.prototype.click = function() { given.at(-1).name = this.download; };
  const press = async (figure, text) => {
    const count = given.length;
    [...figure.querySelectorAll(".tool")].find(button => button.textContent === text).click();
    await until(`a file of ${text}`, () => given.length > count && given.at(-1).name);
    return given.at(-1);
  };
  try {
    await until("the buttons", () => document.querySelector(".tools"));
    outcome.width = innerWidth;
    outcome.overflow = overflow();
    outcome.all = shown();
    choose("engine", "null");
    outcome.engine = shown();
    choose("precision", "int8");
    outcome.both = shown();
    outcome.hidden_figures = document.querySelectorAll("main figure[hidden]").length;
    choose("engine", "");
    choose("precision", "");
    outcome.again = shown();

    const figure = [...document.querySelectorAll("main figure")].find(one => one.querySelector("svg.chart g.line>g") && [...one.querySelectorAll(".tool")].some(button => button.textContent === "log y"));
    figure.scrollIntoView();
    await pause(50);
    const point = figure.querySelector("svg.chart g.line>g"), mark = point.querySelector(".mark").getBoundingClientRect();
    outcome.title = point.querySelector("title")?.textContent;
    figure.querySelector("svg.chart").dispatchEvent(new PointerEvent("pointermove", {clientX: mark.x + mark.width / 2, clientY: mark.y + mark.height / 2, bubbles: true}));
    outcome.tip = document.querySelector(".tip").textContent;
    outcome.tip_is_shown = !document.querySelector(".tip").hidden;

    const marks = () => figure.querySelectorAll("svg.chart .mark").length, before = marks(), places = figure.querySelector("svg.chart").innerHTML;
    const button = [...figure.querySelectorAll(".tool")].find(one => one.textContent === "log y"), pressed = button.getAttribute("aria-pressed");
    button.click();
    outcome.log_changed = button.getAttribute("aria-pressed") !== pressed && figure.querySelector("svg.chart").innerHTML !== places;
    outcome.marks_stay = marks() === before && before > 0;

    const csv = await press(figure, "CSV");
    outcome.csv = {name: csv.name, text: csv.content};
    const png = await press(figure, "PNG");
    outcome.png = {name: png.name, size: png.content.length, head: png.content.slice(0, 40)};

    const table = document.querySelector("table.sortable"), heading = [...table.tHead.rows[0].cells].findIndex(cell => cell.classList.contains("num"));
    const values = () => [...table.tBodies[0].rows].map(row => Number(row.cells[heading].getAttribute("data-v") || NaN)).filter(value => !isNaN(value));
    table.tHead.rows[0].cells[heading].querySelector("button").click();
    outcome.ascending = values();
    table.tHead.rows[0].cells[heading].querySelector("button").click();
    outcome.descending = values();

    const theme = document.querySelector(".theme"), colour = () => getComputedStyle(document.body).backgroundColor;
    outcome.colours = {};
    for (let i = 0; i < 3; ++i) {
      outcome.colours[theme.dataset.theme] = colour();
      theme.click();
    }
    outcome.overflow = Math.max(outcome.overflow, overflow());
    outcome.all.rows = distinct(outcome.all.rows);
    for (const key of ["all", "engine", "both"]) outcome[key] = {rows: distinct(outcome[key].rows), lines: distinct(outcome[key].lines)};
    outcome.loaded = performance.getEntriesByType("resource").map(entry => entry.name).filter(name => !name.startsWith("file:") && !name.startsWith("data:") && !name.startsWith("blob:"));
  } catch (error) {
    outcome.error = String(error.stack || error);
  }
  const pre = document.createElement("pre");
  pre.id = "outcome";
  pre.textContent = JSON.stringify(outcome);
  document.body.append(pre);
})();
