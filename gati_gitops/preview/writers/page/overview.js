// What a reader sees first: what it means, what is the same everywhere, what it sums up to.
function overview() {
  const levels = DATA.levels;
  const verdict = LEVELS.slice(0, 2).filter((level) => levels[level]).map((level) => plural(levels[level], level));
  return [
    el(
      "header.hero",
      {},
      el("h1", {}, DATA.same ? "Nothing changes" : verdict.length ? verdict.join(", ") : "No dangers"),
      el("p", {}, DATA.same ? "" : `${DATA.reach}; ${DATA.effect}.`),
      el("p.dim", {}, DATA.ledgers && `Compiled ${DATA.ledgers}. `, DATA.project && `Project ${DATA.project}.`),
      DATA.notes.map((note) => el("p.hint", {}, note)),
    ),
    findingsSection(),
    classesSection(),
    totalsSection(),
  ];
}

function findingsSection() {
  const wanted = (group) => !state.levels.size || state.levels.has(group.level);
  const inside = (one) => !state.environments.size || (one.targets || []).some((target) => state.environments.has(target[0]));
  const groups = DATA.findings
    .filter(wanted)
    .map((group) => ({ ...group, told: group.told.filter((one) => inside(one) && said(group, one)) }))
    .filter((group) => group.told.length);
  return groups.length ? el("section", { "aria-label": "What it means" }, groups.map(findingGroup)) : null;
}

function said(group, one) {
  const text = [group.title, one.message, one.about, one.place, one.where, ...(one.targets || []).map((target) => target[2])].join("\n");
  return searched().every((word) => text.toLowerCase().includes(word));
}

function classesSection() {
  const wanted = DATA.classes.filter(
    (one) =>
      (!state.environments.size || one.targets.some((target) => state.environments.has(target[0]))) &&
      searched().every((word) => classText(one).includes(word)),
  );
  if (!wanted.length) return null;
  return el(
    "section",
    { "aria-labelledby": "classes" },
    el("h2", { id: "classes" }, "The same change in many places"),
    listing(wanted.map((one) => () => classCard(one, wanted.length < 4)), 20, "change", (cards) => el("div", {}, cards)),
  );
}

function classText(one) {
  one.text ||= [one.id, one.title, one.reach, ...one.fields.flatMap(([path, rows]) => [path, ...rows]), ...one.targets.map((target) => target[2])]
    .join("\n")
    .toLowerCase();
  return one.text;
}

function classCard(one, open) {
  const items = itemsAt(one.targets);
  return foldable(
    "article.card",
    [signed(one.sign), chip(one.id, "class"), el("span.title", {}, one.title), el("span.reach", {}, one.reach)],
    () => [
      fieldList(one.fields),
      one.outliers.length ? el("h4", {}, plural(one.outliers.length, "outlier")) : null,
      one.outliers.map((outlier) => el("div.outlier", {}, el("div.names", {}, itemsAt(outlier.targets).map((item) => itemLink(item, unitName(item.unit), " ", el("span.dim", {}, item.environment)))), fieldList(outlier.fields))),
      el("h4", {}, `In ${plural(items.length, "place")}`),
      listing(items.map((item) => () => itemLink(item, unitName(titleOf(item)), " ", el("span.dim", {}, item.environment))), 24, "place", (links) => el("div.names", {}, links)),
    ],
    open,
  );
}

// A card that opens; its content is made when it is first seen.
function foldable(name, head, make, open) {
  const content = el("div.content", { hidden: true });
  const button = el("button.head", { type: "button", "aria-expanded": "false" }, el("span.arrow", { "aria-hidden": "true" }, "›"), head);
  const show = (wanted) => {
    if (wanted && !content.childNodes.length) put(content, [make()]);
    content.hidden = !wanted;
    button.setAttribute("aria-expanded", String(wanted));
  };
  button.addEventListener("click", () => show(content.hidden));
  if (open) show(true);
  return Object.assign(el(name, {}, button, content), { show });
}

function totalsSection() {
  const rows = DATA.environments.filter((one) => one.totals && (!state.environments.size || state.environments.has(one.name)));
  if (!rows.length) return null;
  const sums = rows.flatMap((one) => [...one.totals.least, ...one.totals.most]);
  const used = ([name]) => sums.some(([other, before, after]) => other === name && (before !== "0" || after !== "0"));
  const columns = rows[0].totals.least.filter(used).map((measure) => measure[0]);
  const cell = ([, , after, delta]) => el("td", {}, after, delta && el(`span.delta.${delta.startsWith("+") ? "up" : "down"}`, {}, delta));
  return el(
    "section",
    { "aria-labelledby": "totals" },
    el("h2", { id: "totals" }, "What the pods request", !rows.some((one) => one.totals.whole) && " (of the units that change)"),
    el("div.scroll", {}, el(
      "table.totals",
      {},
      el("thead", {}, el("tr", {}, ["environment", "pods that run", ...columns].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, rows.flatMap((one) => [
        el("tr", {}, el("th", { scope: "row", rowspan: "2" }, one.name), el("td.dim", {}, "fewest"), one.totals.least.filter(used).map(cell)),
        el("tr", {}, el("td.dim", {}, "most"), one.totals.most.filter(used).map(cell)),
      ])),
    )),
  );
}
