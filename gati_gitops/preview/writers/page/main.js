// Puts it together and draws what the address says.
let drawn = null;

function draw() {
  drawFilters();
  drawNav();
  const item = current();
  const sight = `${state.route}|${state.view}|${item ? reviewed.has(item.key) : [state.query, ...state.environments, ...state.levels]}`;
  if (sight !== drawn) {
    drawn = sight;
    drawSight(item);
  }
  markSearched();
}

function drawSight(item) {
  hideTip();
  const main = byId("main");
  const one = state.route.startsWith("class/") ? CLASSES.get(decodeURIComponent(state.route.slice(6))) : null;
  if (item) fill(main, unitSight(item));
  else if (one) fill(main, el("header.hero", {}, el("p.crumbs", {}, el("a.link", { href: address("") }, "Overview")), el("h1", {}, one.title), el("p", {}, one.reach)), classCard(one, true));
  else fill(main, overview());
}

function arrive() {
  const before = state.route;
  readAddress();
  if (document.activeElement !== byId("search")) byId("search").value = state.query;
  draw();
  if (state.route === before) return;
  byId("main").scrollTop = 0;
  if (current() && reveal(current())) drawRows();
  document.title = `${current() ? titleOf(current()) + " · " : ""}${title}`;
}

// Shows where the words that were searched for stand, without touching the document.
function markSearched() {
  if (!globalThis.Highlight || !CSS.highlights) return;
  CSS.highlights.delete("searched");
  const words = searched().filter((word) => word.length > 1);
  if (!words.length) return;
  const ranges = [];
  const walk = document.createTreeWalker(byId("main"), NodeFilter.SHOW_TEXT);
  while (walk.nextNode() && ranges.length < 2000) {
    const text = walk.currentNode.data.toLowerCase();
    for (const word of words) {
      for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
        if (at + word.length > walk.currentNode.length) break;
        const range = new Range();
        range.setStart(walk.currentNode, at);
        range.setEnd(walk.currentNode, at + word.length);
        ranges.push(range);
      }
    }
  }
  CSS.highlights.set("searched", new Highlight(...ranges));
}

// -- where a field came from ----------------------------------------------------------------------

function showTip(event) {
  const place = event.target.closest?.("[data-path]");
  if (!place || !place.dataset.path) return hideTip();
  const { path, origin } = place.dataset;
  if (!origin && place.classList.contains("path")) return hideTip();
  const tip = fill(byId("tip"), el("div.path", {}, path), origin && el("div.origin", {}, origin));
  tip.hidden = false;
  const box = place.getBoundingClientRect();
  const left = Math.min(Math.max(box.left + 40, 8), innerWidth - tip.offsetWidth - 8);
  const below = box.bottom + 6 + tip.offsetHeight < innerHeight;
  tip.style.transform = `translate(${left}px, ${below ? box.bottom + 4 : box.top - tip.offsetHeight - 4}px)`;
}

function hideTip() {
  byId("tip").hidden = true;
}

// -- on paper -------------------------------------------------------------------------------------

function drawPaper() {
  const view = state.view;
  state.view = "fields";
  onPaper = true;
  fill(byId("print"), overview(), shown.map((item) => el("article.paper", {}, unitSight(item))));
  onPaper = false;
  state.view = view;
}

// -- the beginning --------------------------------------------------------------------------------

const title = document.title;
collect();
readReviewed();
setTheme(kept("theme") || "auto");
byId("top").hidden = false;
byId("side").hidden = false;
document.body.classList.add("live");
fill(byId("sides"), el("code", {}, DATA.base), " → ", el("code", {}, DATA.head));
drawHelp();
readAddress();
byId("search").value = state.query;
draw();
if (current() && reveal(current())) drawRows();

addEventListener("hashchange", arrive);
addEventListener("keydown", onKey);
addEventListener("resize", () => drawRows());
addEventListener("beforeprint", drawPaper);
addEventListener("afterprint", () => fill(byId("print")));
byId("list").addEventListener("scroll", () => drawRows(false), { passive: true });
byId("search").addEventListener("input", (event) => choose({ query: event.target.value }));
byId("theme").addEventListener("click", nextTheme);
byId("help").addEventListener("click", () => byId("keys").showModal());
byId("skip").addEventListener("click", () => byId("main").focus());
byId("main").addEventListener("mouseover", showTip);
byId("main").addEventListener("mouseleave", hideTip);
byId("main").addEventListener("scroll", hideTip, { passive: true });
