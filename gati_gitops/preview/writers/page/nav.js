// The list of units. Only the rows in sight are in the document, however many there are.
const ROW = 30;
let rows = [];
let shown = [];

function listRows() {
  const out = [];
  let environment;
  let clusters;
  for (const [position, item] of shown.entries()) {
    if (item.environment !== environment) {
      environment = item.environment;
      clusters = undefined;
      out.push({ head: environment || "everywhere" });
    }
    const here = item.clusters.join(", ");
    if (item.named && here !== clusters) {
      clusters = here;
      out.push({ sub: here });
    }
    out.push({ item, position });
  }
  return out;
}

let listed = null;

function drawNav() {
  const chosen = JSON.stringify([state.query, [...state.environments], [...state.levels], reviewed.size]);
  if (chosen !== listed) {
    listed = chosen;
    drawList();
  }
  drawRows();
}

function drawList() {
  shown = found();
  rows = listRows();
  const units = new Set(shown.filter((item) => item.unit).map((item) => item.unit)).size;
  const done = shown.filter((item) => reviewed.has(item.key)).length;
  const narrowed = shown.length < ITEMS.length ? " found" : "";
  fill(byId("count"), plural(units, "unit"), narrowed, done > 0 && ` · ${done} of ${shown.length} reviewed`);
}

let inSight = new Map(); // row → its element

// On scrolling, what stays in sight stays as it is.
function drawRows(anew = true) {
  const list = byId("list");
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 8);
  const last = Math.min(rows.length, Math.ceil((list.scrollTop + (list.clientHeight || 800)) / ROW) + 8);
  const focused = document.activeElement?.closest?.(".list") ? document.activeElement.dataset.key : null;
  const space = list.firstChild || list.appendChild(el("div.space", { role: "list" }));
  const next = new Map();
  for (let at = first; at < last; at += 1) {
    const node = (!anew && inSight.get(rows[at])) || navRow(rows[at]);
    node.style.transform = `translateY(${at * ROW}px)`;
    next.set(rows[at], node);
  }
  space.style.height = `${rows.length * ROW}px`;
  if (anew) space.replaceChildren(...next.values());
  else {
    for (const [row, node] of inSight) if (next.get(row) !== node) node.remove();
    let before = null;
    for (const node of [...next.values()].reverse()) {
      if (node.parentNode !== space) space.insertBefore(node, before);
      before = node;
    }
  }
  inSight = next;
  if (anew && focused) list.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

function navRow({ head, sub, item, position }) {
  if (head !== undefined) return el("div.row.env", { role: "presentation" }, head);
  if (sub !== undefined) return el("div.row.clusters", { role: "presentation", title: sub }, sub);
  const current = item.key === state.route;
  const number = objectsOf(item.data).length;
  return el(
    `div.row${item.data.plain ? ".plain" : ""}${current ? ".current" : ""}`,
    { role: "listitem", "aria-setsize": String(shown.length), "aria-posinset": String(position + 1) },
    el(
      "a",
      { href: address(item.key), "data-key": item.key, "aria-current": current ? "page" : null, title: titleOf(item) },
      dot(item.level),
      item.data.sign ? signed(item.data.sign) : el("span.sign"),
      el("span.name", {}, unitName(titleOf(item))),
      reviewed.has(item.key) ? el("span.done", { role: "img", "aria-label": "reviewed" }, "✓") : item.data.plain ? el("span.of", {}, item.data.classes.join(" ")) : el("span.of", {}, number || ""),
    ),
  );
}

function reveal(item) {
  const list = byId("list");
  const top = rows.findIndex((row) => row.item === item) * ROW;
  const before = list.scrollTop;
  if (top < 0) return false;
  if (top < before + ROW) list.scrollTop = Math.max(0, top - 2 * ROW);
  else if (top > before + list.clientHeight - 2 * ROW) list.scrollTop = top - list.clientHeight + 3 * ROW;
  return list.scrollTop !== before;
}

// The next one in the list; with `wanted`, the next of those.
function neighbour(item, by, wanted = () => true) {
  const list = shown.length ? shown : ITEMS;
  let at = item ? list.indexOf(item) : by > 0 ? -1 : list.length;
  if (item && at < 0) at = by > 0 ? -1 : list.length;
  for (at += by; at >= 0 && at < list.length; at += by) if (wanted(list[at])) return list[at];
  return null;
}

function drawFilters() {
  fill(
    byId("levels"),
    LEVELS.filter((level) => DATA.levels[level]).map((level) =>
      el("button.filter", { type: "button", "aria-pressed": String(state.levels.has(level)), "data-level": level, on: { click: () => choose({ levels: toggle(state.levels, level) }) } }, dot(level), plural(DATA.levels[level], level)),
    ),
  );
  fill(
    byId("environments"),
    DATA.environments.length < 2
      ? null
      : DATA.environments.map((one, at) =>
          el("button.filter", { type: "button", "aria-pressed": String(state.environments.has(one.name)), "data-env": one.name, title: at < 9 ? `Key ${at + 1}` : null, on: { click: () => choose({ environments: toggle(state.environments, one.name) }) } }, one.name),
        ),
  );
  fill(
    byId("views"),
    VIEWS.map((view) => el("button", { type: "button", "aria-pressed": String(state.view === view), "data-view": view, title: `Key ${view[0]}`, on: { click: () => choose({ view }) } }, view)),
  );
}
