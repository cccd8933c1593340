// Runs in a page of `deepgap site` under headless Chromium: does what a reader does and writes what came of it into <pre id="outcome">.
// Loaded behind the page's own scripts by site_test.py.
(async () => {
  const outcome = {};
  const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
  const until = async (what, condition) => {
    for (let i = 0; i < 200 && !condition(); ++i) await pause(20);
    if (!condition()) throw new Error(`never: ${what}`);
  };
  const rows = () => [...document.querySelectorAll("#explore .row")].sort((a, b) => a.getAttribute("aria-rowindex") - b.getAttribute("aria-rowindex"));
  const count = () => document.querySelector("#explore .count").textContent;
  const choose = (select, value) => { select.value = value; select.dispatchEvent(new Event("change")); };
  const labelled = text => [...document.querySelectorAll("#explore .bar label")].find(label => label.firstChild.textContent === text)?.querySelector("select,input");
  const press = (target, key) => target.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
  const overflow = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;
  try {
    await until("the table", () => document.querySelector("#explore .rows") || document.querySelector("#explore [role=alert]"));
    outcome.first = count();
    outcome.width = innerWidth;
    outcome.background = getComputedStyle(document.body).backgroundColor;
    outcome.elements = document.querySelectorAll("#explore img, #explore script, #explore b b").length;
    outcome.charted = document.querySelectorAll("#explore svg.chart .mark").length;
    outcome.best_is_hidden = getComputedStyle(document.querySelector("#best")).display === "none";
    if (location.hash.startsWith("#p=")) {
      await until("the environment", () => [...document.querySelectorAll(".detail h3")].some(head => head.textContent === "Environment") || document.querySelector(".detail [role=alert]"));
      outcome.detail = document.querySelector(".detail").innerText;
      outcome.overflow = overflow();
      press(document.body, "Escape");
      await until("the list", () => document.querySelector(".detail").hidden);
    } else if (!location.hash) {
      choose(labelled("batch"), "2");
      outcome.filtered = count();
      outcome.hash = location.hash;
      choose(labelled("batch"), "");
      const head = [...document.querySelectorAll(".heads button")].find(button => button.textContent === "batch");
      head.click();
      outcome.descending = rows().map(row => row.innerText);
      outcome.sort = document.querySelector(".heads [aria-sort]")?.getAttribute("aria-sort");
      [...document.querySelectorAll(".heads button")].find(button => button.textContent === "batch").click();
      outcome.ascending = rows().map(row => row.innerText);
      const box = document.querySelector(".rows");
      box.focus();
      press(box, "ArrowDown");
      outcome.active = document.querySelector(".row.active").getAttribute("aria-rowindex");
      const wanted = document.querySelector(".row.active").getAttribute("href");
      press(box, "Enter");
      await until("a point", () => !document.querySelector(".detail").hidden);
      outcome.opened = location.hash === wanted;
      press(document.body, "Escape");
      await until("the list", () => document.querySelector(".detail").hidden);
      press(document.body, "/");
      outcome.searching = document.activeElement.type === "search";
      const logs = [...document.querySelectorAll(".tools .tool")].find(button => button.textContent === "log y"), before = logs.getAttribute("aria-pressed");
      logs.click();
      outcome.log_changed = [...document.querySelectorAll(".tools .tool")].find(button => button.textContent === "log y").getAttribute("aria-pressed") !== before;
      const mark = document.querySelector("svg.chart .mark").getBoundingClientRect();
      document.querySelector("svg.chart").dispatchEvent(new PointerEvent("pointermove", {clientX: mark.x + mark.width / 2, clientY: mark.y + mark.height / 2, bubbles: true}));
      outcome.tip = document.querySelector(".tip").textContent;
    }
    await pause(100);  // the list is laid out
    outcome.overflow = Math.max(outcome.overflow || 0, overflow());
    outcome.rows = rows().length;
    outcome.loaded = performance.getEntriesByType("resource").map(entry => entry.name).filter(name => !name.startsWith("file:") && !name.startsWith("data:"));
  } catch (error) {
    outcome.error = String(error.stack || error);
  }
  const pre = document.createElement("pre");
  pre.id = "outcome";
  pre.textContent = JSON.stringify(outcome);
  document.body.append(pre);
})();
