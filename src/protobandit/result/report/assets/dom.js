// Shared by all parts of the page: the data, elements, number formats, the tooltip.
// Text from data is written by textContent or text nodes, never as markup.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const SVG = byId("theme-icon").namespaceURI;

function put(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}
const el = (tag, attributes = {}, ...children) =>
  put(document.createElement(tag), attributes, children);
const svgEl = (tag, attributes = {}, ...children) =>
  put(document.createElementNS(SVG, tag), attributes, children);

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const inline = (value) => {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return whole.format(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
};

// A value of a record as in the data: digits are not grouped; at least nine of them and three after
// the point are kept. Values of single precision have the fewest digits that identify them.
const cell = (value) => {
  if (value === null) return "–";
  if (typeof value !== "number" || Number.isSafeInteger(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 1e15) return value.toExponential();
  const kept = (n) => Number(value.toPrecision(n));
  const single = Math.fround(value);
  const isSingle = Math.abs(single - value) <= 1e-14 * size && kept(9) !== value;
  const digits = isSingle ? [6, 7, 8, 9].find((n) => Math.fround(kept(n)) === single)
    : Math.min(15, Math.max(9, Math.floor(Math.log10(size)) + 4));
  return String(kept(digits));
};
// The same with five digits or no fraction, for cards; the panel has all digits.
const briefCell = (value) => {
  const isFraction = typeof value === "number" && !Number.isInteger(value);
  if (!isFraction || Math.abs(value) >= 1e15) return cell(value);
  return String(Math.abs(value) >= 1e4 ? Math.round(value) : Number(value.toPrecision(5)));
};
const percent = (share) => {
  if (share === null) return "–";
  if (share > 0 && share < 0.0005) return "<0.1\u00a0%";
  return (100 * share).toFixed(1) + "\u00a0%";
};

// Keys with a modifier are left to the browser.
const isPlain = (event) => !(event.altKey || event.ctrlKey || event.metaKey);

const tip = byId("tip");
function showTip(x, y, ...children) {
  tip.replaceChildren(...children);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const width = document.documentElement.clientWidth;
  const left = x + 16 + box.width > width - 8 ? x - 16 - box.width : x + 16;
  const top = Math.min(y + 16, window.innerHeight - box.height - 8);
  tip.style.left = Math.max(8, Math.min(left, width - box.width - 8)) + "px";
  tip.style.top = Math.max(8, top) + "px";
}
function hideTip() {
  tip.hidden = true;
}

// The value of a style sheet variable, for the canvas.
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const onRepaint = [];
const repaint = () => onRepaint.forEach((paint) => paint());
