// One unit: what is said of it, its versions and traffic, and every object that differs.
function unitSight(item) {
  const data = item.data;
  const others = siblings(item);
  const told = (code) => data.rollout?.length && ["rollout", "promotion"].includes(code); // in a section of its own
  const findings = item.findings.filter(({ group }) => !told(group.code));
  const folders = [...new Set(objectsOf(data).map((object) => object.folder).filter(Boolean))];
  const folder = folders.length === 1 ? folders[0] : "";
  const known = [data.kind, data.line !== "changes" && data.line, data.held && `held: ${data.held}`, ...(data.files || []).map((file) => el("code", {}, file)), folder && el("code", {}, folder)];
  return [
    el(
      "header.hero.unit",
      {},
      el("p.crumbs", {}, item.environment && chip(item.environment, "env"), item.clusters.map((name) => name !== item.environment && chip(name))),
      el("h1", {}, data.sign && signed(data.sign), " ", unitName(titleOf(item))),
      el("p.facts", {}, known.filter(Boolean).map((fact) => el("span", {}, fact)), others.length > 0 && el("span", {}, "also in ", others.slice(0, 8).map((other, at) => [at > 0 && ", ", itemLink(other, other.environment, other.named ? ` (${other.clusters.join(", ")})` : "")]), others.length > 8 && ` and ${others.length - 8} more`)),
      el("button.review", { type: "button", "aria-pressed": String(reviewed.has(item.key)), on: { click: () => review(item) } }, reviewed.has(item.key) ? "Reviewed" : "Mark as reviewed", el("kbd", { "aria-hidden": "true" }, "v")),
    ),
    findings.length ? el("section", { "aria-label": "What it means" }, el("ul.findings", {}, findings.map(findingLine))) : null,
    data.versions.length ? versionsSection(data) : null,
    data.rollout?.length ? el("section", {}, el("h2", {}, "After the merge"), el("ol.rollout", {}, data.rollout.map((line) => el("li", {}, line)))) : null,
    objectsSection(item, folder),
    el("footer.steps", {}, stepLink(item, -1), stepLink(item, 1)),
  ];
}

function stepLink(item, by) {
  const other = neighbour(item, by);
  return other ? el("a.step", { href: address(other.key) }, by < 0 ? "← " : "", unitName(titleOf(other)), " ", el("span.dim", {}, other.environment), by > 0 ? " →" : "") : el("span");
}

// -- versions -------------------------------------------------------------------------------------

function versionsSection(data) {
  return el(
    "section",
    { "aria-labelledby": "versions" },
    el("h2", { id: "versions" }, "Versions"),
    trafficBars(data.versions),
    el("div.scroll", {}, el(
      "table.versions",
      {},
      el("thead", {}, el("tr", {}, ["version", "phase", "traffic", "pods", "image"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, data.versions.map((version, at) => el("tr", {}, versionCells(version, at)))),
    )),
  );
}

const weightText = (state) => (state && state.weight !== null && state.weight !== undefined ? `${state.weight} %` : "–");
const podsText = (state) => (state && state.scaler ? (state.min === state.max ? `${state.min}` : `${state.min}–${state.max}`) + (state.scaler === "none" ? "" : ` ${state.scaler}`) : "–");

function versionCells(version, at) {
  const { before, after } = version;
  const cell = (show, name) => {
    const [one, two] = [show(before), show(after)];
    if (one === two) return el(`td.${name}`, {}, two);
    return el(`td.${name}`, {}, before && el("del", {}, one), before && after && " → ", after ? el("ins", {}, two) : !before && two);
  };
  return [
    el("th", { scope: "row" }, el(`span.key.v${at % 6}`), version.id, version.was && el("span.dim", {}, ` was ${version.was}`), version.restarts && chip("restarts", "warning"), !before && chip("new", "add"), !after && chip("goes", "del")),
    cell((state) => (state ? state.phase || "–" : "–"), "phase"),
    cell(weightText, "traffic"),
    cell(podsText, "pods"),
    cell((state) => (state ? state.image || "–" : "–"), "image"),
  ];
}

// Where requests go, before and after, as two bars.
function trafficBars(versions) {
  const weights = (side) => versions.map((version) => version[side]?.weight || 0);
  const [before, after] = [weights("before"), weights("after")];
  if (![...before, ...after].some(Boolean) || before.join() === after.join()) return null;
  const bar = (name, list) => {
    const track = el("div.track", { role: "img", "aria-label": `${name}: ${versions.map((version, at) => `${version.id} ${list[at]} %`).join(", ")}` });
    list.forEach((weight, at) => {
      if (!weight) return;
      const part = el(`span.part.v${at % 6}`, {}, weight >= 12 ? `${versions[at].id} · ${weight} %` : "");
      part.style.flexGrow = String(weight);
      track.append(part);
    });
    return el("div.bar", {}, el("span.dim", {}, name), track);
  };
  return el("div.bars", {}, bar("before", before), bar("after", after));
}

// -- objects --------------------------------------------------------------------------------------

function objectsSection(item, folder) {
  const sections = [["", item.data.objects], ...item.data.versions.map((version) => [version.id, version.objects])].filter(([, objects]) => objects.length);
  if (!sections.length) return null;
  const many = sections.reduce((sum, [, objects]) => sum + objects.length, 0) > 30;
  return el(
    "section",
    { "aria-labelledby": "objects" },
    el("h2", { id: "objects" }, "Objects"),
    sections.map(([version, objects]) => [
      version ? el("h3.of", {}, "Version ", el("b", {}, version)) : item.unit && sections.length > 1 ? el("h3.of", {}, "Of the unit as a whole") : null,
      objects.map((object) => objectCard(object, !many, folder)),
    ]),
  );
}

function objectCard(object, mayOpen, folder) {
  const classes = new Set([object.class, ...(object.fields || []).map((field) => field[2])].filter(Boolean));
  const own = (object.fields || []).filter((field) => !field[2]);
  const card = foldable(
    "article.card.object",
    [
      signed(object.sign),
      el("span.title", {}, el("b", {}, object.kind), " ", object.namespace && el("span.dim", {}, `${object.namespace}/`), object.name),
      object.was && el("span.reach", {}, object.was),
      object.sign === "!" && chip("deleted and made again", "danger"),
      [...classes].map((id) => chip(id, "class")),
      el("span.reach.end", {}, object.fields?.length ? plural(object.fields.length, "field") : object.word),
    ],
    () => objectContent(object, folder),
    mayOpen && (own.length > 0 || (!classes.size && !["+", "-"].includes(object.sign))),
  );
  card.classList.add(SIGN_CLASS[object.sign]);
  return card;
}

function objectContent(object, folder) {
  const view = object.fields?.length ? state.view : state.view === "fields" ? "unified" : state.view;
  const box = el("div", { "data-view": view });
  const foot = object.folder && object.folder !== folder ? el("p.folder", {}, el("code", {}, object.folder)) : null;
  if (view === "fields") put(box, [fieldList(object.fields), noiseOf(object)]);
  else put(box, [el("p.dim.wait", {}, "…")]);
  sides(object).then(
    ([before, after, origins]) => {
      if (view === "fields") {
        if (origins) fill(box, fieldList(object.fields, origins), noiseOf(object));
      } else fill(box, yamlDifference(yamlLines(before), yamlLines(after), view, origins));
      if (state.query) markSearched();
    },
    () => view !== "fields" && fill(box, fieldList(object.fields || []), el("p.dim", {}, "This browser can't unpack whole objects.")),
  );
  return [box, foot];
}

function sides(object) {
  return Promise.all([body(object.b), body(object.a), body(object.o)]);
}

function noiseOf(object) {
  if (!object.noise?.length) return null;
  return foldable("div.noise", [el("span.dim", {}, `${plural(object.noise.length, "field")} that only say where it came from`)], () => fieldList(object.noise), false);
}
