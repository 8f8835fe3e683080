// The data, what can be looked at (items), and what the reader has chosen. The address's fragment
// holds the choice, so that a link leads others to the same sight.
const DATA = JSON.parse(byId("data").textContent);
const LEVELS = ["danger", "warning", "note"];
const VIEWS = ["fields", "unified", "split"];
const SIGN_WORDS = { "+": "new", "-": "goes", "~": "changes", "!": "made again", ">": "renamed" };

const ITEMS = [];
const byPlace = new Map(); // environment, cluster and unit → item
const byKey = new Map();
const CLASSES = new Map(DATA.classes.map((one) => [one.id, one]));

function collect() {
  for (const environment of DATA.environments) {
    for (const group of environment.groups) {
      const own = group.units.filter((unit) => !unit.plain);
      for (const unit of own) add(environment, group, unit.unit, unit);
      if (group.objects.length) add(environment, group, "", { objects: group.objects, versions: [] });
      for (const unit of group.units) if (unit.plain) add(environment, group, unit.unit, unit);
    }
  }
  if (DATA.objects.length) {
    add({ name: "" }, { clusters: [] }, "", { objects: DATA.objects, versions: [] });
  }
  for (const group of DATA.findings) {
    for (const told of group.told) {
      for (const item of itemsAt(told.targets || [])) {
        const own = told.own && Object.hasOwn(told.own, item.unit) ? told.own[item.unit] : [[told.message, told.place]];
        for (const [message, place] of own) item.findings.push({ group, told: { ...told, message, place } });
        if (rank(group.level) < rank(item.level)) item.level = group.level;
      }
    }
  }
}

function add(environment, group, unit, data) {
  const name = unit || "-";
  const parts = [environment.name || "-", group.clusters[0] || "-", ...name.split("/")];
  const item = {
    key: parts.map(encodeURIComponent).join("/"),
    environment: environment.name,
    clusters: group.clusters,
    named: environment.named,
    unit,
    data,
    level: "",
    findings: [],
    index: ITEMS.length,
  };
  ITEMS.push(item);
  byKey.set(item.key, item);
  for (const cluster of group.clusters) byPlace.set([environment.name, cluster, unit].join("\n"), item);
}

function rank(level) {
  const at = LEVELS.indexOf(level);
  return at < 0 ? LEVELS.length : at;
}

function itemsAt(targets) {
  return [...new Set(targets.map((target) => byPlace.get(target.join("\n"))).filter(Boolean))];
}

function objectsOf(data) {
  return [...data.objects, ...data.versions.flatMap((version) => version.objects)];
}

const titleOf = (item) => item.unit || (item.environment ? "Objects of no unit" : "Objects of no environment");
const siblings = (item) => ITEMS.filter((other) => item.unit && other.unit === item.unit && other !== item);

// -- searching ------------------------------------------------------------------------------------

function haystack(item) {
  if (item.text === undefined) {
    const words = [item.unit, item.environment, ...item.clusters, item.data.kind, ...(item.data.classes || [])];
    for (const { group, told } of item.findings) words.push(group.title, told.message, told.place);
    for (const version of item.data.versions) words.push(version.line, version.after?.image, version.before?.image);
    for (const object of objectsOf(item.data)) {
      words.push(object.kind, object.name);
      for (const [path, rows, of] of object.fields || []) words.push(path, ...rows, of && CLASSES.get(of)?.title);
    }
    item.text = words.filter(Boolean).join("\n").toLowerCase();
  }
  return item.text;
}

function matches(item, words) {
  if (state.environments.size && !state.environments.has(item.environment)) return false;
  if (state.levels.size && !item.findings.some(({ group }) => state.levels.has(group.level))) return false;
  return words.every((word) => haystack(item).includes(word));
}

function found() {
  const words = searched();
  return ITEMS.filter((item) => matches(item, words));
}

const searched = () => state.query.toLowerCase().split(/\s+/).filter(Boolean);

// -- what the reader has chosen -------------------------------------------------------------------

const state = { route: "", query: "", environments: new Set(), levels: new Set(), view: "fields" };

function readAddress() {
  const [route, rest] = location.hash.replace(/^#\/?/, "").split("?");
  const given = new URLSearchParams(rest || "");
  state.route = route || "";
  state.query = given.get("q") || "";
  state.environments = new Set(given.getAll("env").filter((name) => DATA.environments.some((one) => one.name === name)));
  state.levels = new Set(given.getAll("level").filter((level) => LEVELS.includes(level)));
  const view = given.get("view");
  if (VIEWS.includes(view)) state.view = view;
}

function address(route = state.route) {
  const given = new URLSearchParams();
  if (state.query) given.set("q", state.query);
  for (const name of state.environments) given.append("env", name);
  for (const level of state.levels) given.append("level", level);
  if (state.view !== "fields") given.set("view", state.view);
  const text = given.toString();
  return `#/${route}${text ? "?" + text : ""}`;
}

// A choice that is no step of its own in the browser's history.
function choose(change) {
  Object.assign(state, change);
  try {
    history.replaceState(null, "", address());
  } catch {
    // A page without an address of its own has no history either.
  }
  draw();
  if (current() && reveal(current())) drawRows();
}

function toggle(set, value) {
  const next = new Set(set);
  if (!next.delete(value)) next.add(value);
  return next;
}

// -- what stays from visit to visit, where the browser allows it ----------------------------------

function kept(name, value) {
  try {
    if (value === undefined) return localStorage.getItem(`gati-preview:${name}`);
    if (value === null) localStorage.removeItem(`gati-preview:${name}`);
    else localStorage.setItem(`gati-preview:${name}`, value);
  } catch {
    // Without storage it is forgotten, and nothing else.
  }
  return null;
}

const reviewed = new Set();

function readReviewed() {
  try {
    for (const key of JSON.parse(kept(`reviewed:${DATA.base}:${DATA.head}`) || "[]")) reviewed.add(key);
  } catch {
    // Somebody else's value.
  }
}

function review(item) {
  if (!reviewed.delete(item.key)) reviewed.add(item.key);
  kept(`reviewed:${DATA.base}:${DATA.head}`, JSON.stringify([...reviewed]));
  draw();
}
