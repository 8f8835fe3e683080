// Everything can be done from the keyboard; `?` says how.
const KEYS = [
  ["j k", "next, previous unit"],
  ["n p", "next, previous unit with a danger, else with a warning"],
  ["o", "overview"],
  ["/", "search"],
  ["f u s", "fields, unified, split"],
  ["x", "open or close all objects"],
  ["v", "mark as reviewed, or not"],
  ["1 … 9", "only this environment, or not"],
  ["0", "no filter"],
  ["d", "light, dark, or as the system says"],
  ["Esc", "leave the search, close this"],
  ["?", "this help"],
];

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const typing = event.target.closest?.("input, textarea, select");
  if (event.key === "Escape" && typing) {
    if (state.query) choose({ query: "" });
    byId("search").value = "";
    typing.blur();
    byId("main").focus();
    return;
  }
  if (typing) {
    if (event.key === "Enter" && shown[0]) go(shown[0]);
    return;
  }
  if (byId("keys").open) {
    if (event.key === "?") byId("keys").close();
    return;
  }
  const act = (Object.hasOwn(ACTS, event.key) && ACTS[event.key]) || (/^[0-9]$/.test(event.key) && (() => byNumber(Number(event.key))));
  if (act) {
    event.preventDefault();
    act();
  }
}

const ACTS = {
  j: () => go(neighbour(current(), 1)),
  k: () => go(neighbour(current(), -1)),
  n: () => go(neighbour(current(), 1, serious())),
  p: () => go(neighbour(current(), -1, serious())),
  o: () => {
    location.hash = address("");
    arrive();
  },
  "/": () => byId("search").select(),
  f: () => choose({ view: "fields" }),
  u: () => choose({ view: "unified" }),
  s: () => choose({ view: "split" }),
  x: () => foldAll(),
  v: () => current() && review(current()),
  d: () => nextTheme(),
  "?": () => byId("keys").showModal(),
};

const current = () => byKey.get(state.route) || null;

function serious() {
  const level = shown.some((item) => item.level === "danger") ? "danger" : "warning";
  return (item) => item.level === level;
}

// At once, not when the browser tells of it: the next key may come before that.
function go(item) {
  if (!item) return;
  location.hash = address(item.key);
  arrive();
}

function byNumber(number) {
  if (number === 0) {
    byId("search").value = "";
    choose({ query: "", environments: new Set(), levels: new Set() });
    return;
  }
  const one = DATA.environments[number - 1];
  if (one) choose({ environments: toggle(state.environments, one.name) });
}

function foldAll() {
  const cards = [...byId("main").querySelectorAll(".card")];
  const open = cards.some((card) => card.querySelector(".content").hidden);
  for (const card of cards) card.show(open);
}

// -- light and dark -------------------------------------------------------------------------------

const THEMES = { auto: ["dark", "◐", "as the system says"], dark: ["light", "●", "dark"], light: ["auto", "○", "light"] };
let theme = "auto";

function setTheme(name) {
  theme = Object.hasOwn(THEMES, name) ? name : "auto";
  document.documentElement.dataset.theme = theme;
  const [, sign, word] = THEMES[theme];
  const button = fill(byId("theme"), sign);
  button.setAttribute("aria-label", `Colours: ${word}`);
  button.title = `Colours: ${word} (d)`;
}

function nextTheme() {
  setTheme(THEMES[theme][0]);
  kept("theme", theme);
}

function drawHelp() {
  const dialog = byId("keys");
  fill(
    dialog,
    el("h2", { id: "keys-title" }, "Keyboard"),
    el("dl", {}, KEYS.map(([keys, what]) => [el("dt", {}, keys.split(" ").map((key) => (key === "…" ? " … " : el("kbd", {}, key)))), el("dd", {}, what)])),
    el("button", { type: "button", on: { click: () => dialog.close() } }, "Close"),
  );
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}
