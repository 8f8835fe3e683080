// Objects as lines of YAML, each with the path of its field, and the difference between two of them.
const PLAIN = /^[A-Za-z][A-Za-z0-9_./-]*(?::[A-Za-z0-9_./-]+)*$|^\/[A-Za-z0-9_./-]*$|^[0-9]+(?:\.[0-9]+)?(?:m|Ki|Mi|Gi|Ti|M|G|T|s|h|d)$/;
const WORDS = new Set(["y", "n", "yes", "no", "true", "false", "on", "off", "null"]);

const scalar = (value) =>
  typeof value === "string" && PLAIN.test(value) && !WORDS.has(value.toLowerCase()) ? value : JSON.stringify(value);
const keyText = (key) => (/^[A-Za-z$][A-Za-z0-9_./-]*$/.test(key) ? key : JSON.stringify(key));
const stepped = (path, key) => (/^[^.[\]"'\s]+$/.test(key) ? (path ? `${path}.${key}` : key) : `${path}["${key}"]`);
const isBranch = (value) => typeof value === "object" && value !== null && Object.keys(value).length > 0;

function yamlLines(value) {
  const out = [];
  if (value === null || value === undefined) return out;
  if (isBranch(value)) branch(value, "", "", "", out);
  else out.push({ text: scalar(value), path: "" });
  return out;
}

function branch(value, first, indent, path, out) {
  const list = Array.isArray(value);
  let lead = first;
  for (const [key, item] of Object.entries(value)) {
    const here = list ? `${path}[${key}]` : stepped(path, key);
    const head = list ? `${lead}- ` : `${lead}${keyText(key)}:`;
    if (isBranch(item)) {
      if (list) branch(item, head, `${indent}  `, here, out);
      else {
        out.push({ text: head, path: here });
        const inner = Array.isArray(item) ? indent : `${indent}  `;
        branch(item, inner, inner, here, out);
      }
    } else if (typeof item === "string" && item.includes("\n")) {
      out.push({ text: list ? `${head}|` : `${head} |`, path: here });
      for (const line of item.replace(/\n$/, "").split("\n")) out.push({ text: `${indent}  ${line}`, path: here });
    } else {
      out.push({ text: list ? head + scalar(item) : `${head} ${scalar(item)}`, path: here });
    }
    lead = indent;
  }
}

// -- the difference -------------------------------------------------------------------------------

// [sign, line before, line after], in order.
function difference(before, after) {
  let start = 0;
  let end = 0;
  const least = Math.min(before.length, after.length);
  while (start < least && before[start].text === after[start].text) start += 1;
  while (end < least - start && before[before.length - 1 - end].text === after[after.length - 1 - end].text) end += 1;
  const rows = [];
  for (let at = 0; at < start; at += 1) rows.push([" ", before[at], after[at]]);
  rows.push(...middle(before.slice(start, before.length - end), after.slice(start, after.length - end)));
  for (let at = end; at > 0; at -= 1) rows.push([" ", before[before.length - at], after[after.length - at]]);
  return rows;
}

function middle(before, after) {
  const gone = before.map((line) => ["-", line, null]);
  const come = after.map((line) => ["+", null, line]);
  if (!gone.length || !come.length || gone.length * come.length > 4e6) return [...gone, ...come];
  const width = after.length + 1;
  const longest = new Uint32Array((before.length + 1) * width); // of what is common from here on
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] =
        before[i].text === after[j].text
          ? longest[(i + 1) * width + j + 1] + 1
          : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const rows = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i].text === after[j].text) rows.push([" ", before[i++], after[j++]]);
    else if (j >= after.length || (i < before.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1]))
      rows.push(gone[i++]);
    else rows.push(come[j++]);
  }
  return rows;
}

// The part of two lines that differs, in whole words: [where it starts, where it ends in each].
function changedPart(one, two) {
  const [a, b] = [one, two].map((text) => text.match(/[\w.]+|[^\w.]/g) || []);
  let start = 0;
  let end = 0;
  const least = Math.min(a.length, b.length);
  while (start < least && a[start] === b[start]) start += 1;
  while (end < least - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const size = (list) => list.reduce((sum, word) => sum + word.length, 0);
  return [size(a.slice(0, start)), one.length - size(a.slice(a.length - end)), two.length - size(b.slice(b.length - end))];
}

// Of every line with a partner, the part that differs from it.
function partners(rows) {
  const found = new Map();
  for (const [sign, one, two] of paired(rows)) {
    if (sign !== "~" || !one || !two) continue;
    const [start, endOne, endTwo] = changedPart(one.text, two.text);
    found.set(one, [start, endOne]);
    found.set(two, [start, endTwo]);
  }
  return found;
}

// Runs of lines that changed, as pairs; the longer side has lines without a partner.
function paired(rows) {
  const out = [];
  let gone = [];
  let come = [];
  const flush = () => {
    for (let at = 0; at < Math.max(gone.length, come.length); at += 1) out.push(["~", gone[at] || null, come[at] || null]);
    gone = [];
    come = [];
  };
  for (const [sign, before, after] of rows) {
    if (sign === "-") gone.push(before);
    else if (sign === "+") come.push(after);
    else {
      flush();
      out.push([" ", before, after]);
    }
  }
  flush();
  return out;
}
