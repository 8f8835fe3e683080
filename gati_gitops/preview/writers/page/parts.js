// Pieces that several sights share.
const dot = (level) => el(`span.dot${level ? "." + level : ""}`, { role: "img", "aria-label": level || "no finding" });
const SIGN_CLASS = { "+": "add", "-": "del", "~": "mod", "!": "redo", ">": "move" };
const signed = (sign) =>
  el(`span.sign.${SIGN_CLASS[sign]}`, { role: "img", "aria-label": SIGN_WORDS[sign], title: SIGN_WORDS[sign] }, sign === "-" ? "−" : sign);
const chip = (text, kind) => el(`span.chip${kind ? "." + kind : ""}`, {}, text);

function unitName(unit) {
  const at = unit.indexOf("/");
  return at < 0 ? [el("b", {}, unit)] : [el("span.dim", {}, unit.slice(0, at + 1)), el("b", {}, unit.slice(at + 1))];
}

function itemLink(item, ...children) {
  return el("a.link", { href: address(item.key), "data-key": item.key }, children.length ? children : unitName(titleOf(item)));
}

function classLink(id) {
  const one = CLASSES.get(id);
  return el("a.chip.class", { href: address(`class/${id}`), title: one ? `${one.title}: ${one.reach}` : id }, id);
}

// A long list, of which the first are shown until somebody wants them all.
let onPaper = false; // where nothing can be opened

function listing(nodes, most, word, wrap = (shown) => shown) {
  if (onPaper || nodes.length <= most + 1) return wrap(nodes.map((make) => make()));
  const more = el("button.more", { type: "button" }, `Show all ${plural(nodes.length, word)}`);
  const box = wrap([...nodes.slice(0, most).map((make) => make()), more]);
  more.addEventListener("click", () => more.replaceWith(...nodes.slice(most).map((make) => make())));
  return box;
}

// -- findings -------------------------------------------------------------------------------------

function findingGroup(group) {
  return el(
    `section.finding.${group.level}`,
    {},
    el("h3", {}, dot(group.level), el("span.what", {}, group.title), group.why && el("span.why", {}, group.why)),
    listing(group.told.map((one) => () => findingRow(one)), 12, "finding", (rows) => el("ul.rows", {}, rows)),
  );
}

function findingRow(one) {
  const items = itemsAt(one.targets || []);
  const units = new Map(items.map((item) => [titleOf(item), item]));
  const about = units.size === 1 ? itemLink(items[0], items[0].unit ? unitName(items[0].unit) : one.about) : one.about;
  return el(
    "li",
    {},
    el("div.said", {}, about && el("span.about", {}, about), one.message),
    units.size > 1 && names([...units.values()]),
    facts(one, one.where),
  );
}

// Of one unit: the same, without what the reader knows already.
function findingLine({ group, told }) {
  return el(
    `li.${group.level}`,
    { title: group.why || null },
    el("div.said", {}, dot(group.level), el("span.what", {}, group.title), told.message.replaceAll("each unit", "the unit")),
    facts(told),
  );
}

function facts(one, where) {
  const values = (one.before || one.after) && [el("del", {}, one.before || "none"), " → ", el("ins", {}, one.after || "none")];
  const known = [where, one.place && el("code", {}, one.place), one.field && el("code", {}, one.field), values];
  return [
    el("div.facts", {}, known.filter(Boolean).map((fact) => el("span", {}, fact))),
    one.remedy && el("div.remedy", {}, one.remedy),
  ];
}

function names(items) {
  return listing(items.map((item) => () => itemLink(item)), 10, "unit", (links) => el("div.names", {}, links));
}

// -- fields ---------------------------------------------------------------------------------------

function fieldRows(rows) {
  const lines = rows.map((row) => ({ sign: row[0], text: row.slice(1) }));
  const partner = partners(lines.map((line) => [line.sign, line.sign === "+" ? null : line, line.sign === "-" ? null : line]));
  return lines.map((line) =>
    el(
      `div.line.${{ "+": "add", "-": "del" }[line.sign] || "same"}`,
      {},
      el("span.mark", {}, line.sign === "-" ? "−" : line.sign),
      el("span.text", {}, partner.has(line) ? marked(line.text, ...partner.get(line)) : line.text),
    ),
  );
}

// The part of a line that differs from its partner; all of it or nothing needs no mark.
function marked(text, start, end) {
  if (start <= 0 && end >= text.length) return [text];
  if (start >= end) return [text];
  return [text.slice(0, start), el("mark", {}, text.slice(start, end)), text.slice(end)];
}

function fieldList(fields, origins) {
  const alike = new Map(); // fields with the same difference stand together
  for (const field of fields) {
    const same = JSON.stringify([field[1], field[2]]);
    if (!alike.has(same)) alike.set(same, []);
    alike.get(same).push(field);
  }
  return el(
    "div.fields",
    {},
    [...alike.values()].map((group) =>
      el(
        `div.field${group[0][2] ? ".classed" : ""}`,
        {},
        listing(group.map((field) => () => fieldPath(field, origins)), 5, "field", (paths) => el("div", {}, paths)),
        group[0][1].length ? el("div.lines", {}, fieldRows(group[0][1])) : null,
      ),
    ),
  );
}

function fieldPath([path, , of, exact], origins) {
  return el("div.path", { "data-path": path, "data-origin": originOf(origins, exact || path) }, pathText(path), of && classLink(of));
}

// The last step is what people look for.
function pathText(path) {
  const at = path.search(/\[[^[\]]*\]$|[^.[\]]+$/);
  return at <= 0 ? [el("b", {}, path)] : [path.slice(0, at), el("b", {}, path.slice(at))];
}

// What made a field: of itself, or of the nearest field around it.
function originOf(origins, path) {
  if (!origins) return null;
  for (let here = path; here; here = here.replace(/(\.[^.[\]]+|\["[^"]*"\]|\[[^\]]*\]|^[^.[]+)$/, "")) {
    if (Object.hasOwn(origins, here)) return origins[here];
  }
  return null;
}

// -- whole objects --------------------------------------------------------------------------------

const CONTEXT = 3;

function yamlDifference(before, after, view, origins) {
  const rows = numbered(difference(before, after));
  const split = view === "split" && before.length && after.length;
  const list = split ? paired(rows) : rows;
  const make = split ? splitRow : unifiedRow(rows);
  const box = el(split ? "div.code.split" : "div.code", { role: "group" });
  for (const part of folded(list)) {
    if (!part.hidden) box.append(...part.rows.map((row) => make(row, origins)));
    else {
      const near = part.rows[part.rows.length - 1];
      const path = (near[2] || near[1]).path.replace(/(\.[^.[\]]+|\[[^\]]*\])$/, "");
      const button = el("button.unfold", { type: "button" }, `⋯ ${plural(part.rows.length, "line")} alike`, path && el("span.dim", {}, path));
      button.addEventListener("click", () => button.replaceWith(...part.rows.map((row) => make(row, origins))));
      box.append(button);
    }
  }
  return box;
}

function numbered(rows) {
  let [one, two] = [0, 0];
  return rows.map(([sign, before, after]) => [
    sign,
    before && { ...before, number: (one += 1) },
    after && { ...after, number: (two += 1) },
  ]);
}

// Runs without a change, but for the lines next to one; when nothing changed, nothing is hidden.
function folded(rows) {
  const parts = [];
  for (const row of rows) {
    const same = row[0] === " ";
    if (!parts.length || parts[parts.length - 1].same !== same) parts.push({ same, rows: [] });
    parts[parts.length - 1].rows.push(row);
  }
  if (parts.length < 2) return parts;
  return parts.flatMap((part, at) => {
    const head = at === 0 ? 0 : CONTEXT;
    const tail = at === parts.length - 1 ? 0 : CONTEXT;
    if (!part.same || part.rows.length <= head + tail + 2) return [part];
    const end = part.rows.length - tail;
    return [{ rows: part.rows.slice(0, head) }, { rows: part.rows.slice(head, end), hidden: true }, { rows: part.rows.slice(end) }];
  });
}

function unifiedRow(rows) {
  const partner = partners(rows);
  return ([sign, before, after], origins) => {
    const line = after || before;
    return el(
      `div.line.${{ "+": "add", "-": "del" }[sign] || "same"}`,
      { "data-path": line.path, "data-origin": originOf(origins, line.path) },
      el("span.number", { "aria-hidden": "true" }, before ? before.number : ""),
      el("span.number", { "aria-hidden": "true" }, after ? after.number : ""),
      el("span.mark", {}, sign === "-" ? "−" : sign),
      el("span.text", {}, partner.has(line) ? marked(line.text, ...partner.get(line)) : line.text),
    );
  };
}

function splitRow([sign, before, after], origins) {
  const [start, endOne, endTwo] = sign === "~" && before && after ? changedPart(before.text, after.text) : [0, 0, 0];
  const half = (line, kind, end) =>
    el(
      `div.half.${line ? (sign === " " ? "same" : kind) : "none"}`,
      line ? { "data-path": line.path, "data-origin": originOf(origins, line.path) } : {},
      el("span.number", { "aria-hidden": "true" }, line ? line.number : ""),
      el("span.mark", {}, !line || sign === " " ? " " : kind === "add" ? "+" : "−"),
      el("span.text", {}, line ? (end ? marked(line.text, start, end) : line.text) : ""),
    );
  return el("div.line.pair", {}, half(before, "del", endOne), half(after, "add", endTwo));
}
