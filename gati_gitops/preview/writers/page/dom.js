// Elements and text. Text from the review only ever becomes text nodes and attribute values, and
// what a reader could not see, or would read in another order, is written as an escape.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff]/g;

function visible(text) {
  return String(text).replace(HIDDEN, (sign) => "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0"));
}

// el("a.row", {href: "#/"}, "text", child): attributes whose value is null or false are left out.
function el(name, attributes, ...children) {
  const [tag, ...classes] = name.split(".");
  const node = document.createElement(tag || "div");
  if (classes.length) node.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") {
      for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    } else if (key === "href") {
      node.setAttribute("href", "#" + String(value).replace(/^#/, "")); // never leaves the page
    } else {
      node.setAttribute(key, value === true ? "" : visible(value));
    }
  }
  return put(node, children);
}

function put(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    node.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  }
  return node;
}

function fill(node, ...children) {
  node.replaceChildren();
  return put(node, children);
}

const byId = (id) => document.getElementById(id);
const plural = (number, one, many) => `${number.toLocaleString("en")} ${number === 1 ? one : many || one + "s"}`;
