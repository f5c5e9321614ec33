// What a prototype or a target row looks like. `side` is data.prototypes or data.rows.

const called = (side, i) => (side.names ? side.names[i] : "row " + whole.format(side.ids[i]));
const shortly = (side, i) => (side.names ? side.names[i] : "#" + whole.format(side.ids[i]));
const labelOf = (side, i) => (side.labels ? data.labels[side.labels[i]] : null);
const groupOf = (side, i) => (side.groups ? data.groups[side.groups[i]] : null);
const isShown = (side, i) => i < side.look.items.length;
const textSpan = (text, name = "") => el("span", { class: ("data " + name).trim(), dir: "auto" }, text);

const LOOKS = {
  images: {
    brief: (side, i) =>
      el("img", {
        class: "picture",
        alt: called(side, i),
        decoding: "async",
        src: "data:image/png;base64," + side.look.head + side.look.items[i],
      }),
    full: (side, i) => LOOKS.images.brief(side, i),
    words: () => "",
  },
  texts: {
    brief: (side, i) => el("p", { class: "data text", dir: "auto" }, side.look.items[i]),
    full: (side, i) => el("p", { class: "data text full", dir: "auto" }, side.look.items[i]),
    words: (side, i) => side.look.items[i],
  },
  records: {
    brief: (side, i) => record(side, i, 4),
    full: (side, i) => record(side, i, side.look.columns.length),
    words: (side, i) => side.look.items[i].filter((v) => v !== null)
      .flatMap((v) => [...new Set([cell(v), String(v)])]).join(" "),
  },
};

function record(side, i, most) {
  const all = side.look.columns;
  const names = all.length <= most + 1 ? all : all.slice(0, most); // one more takes the room of saying so
  const nBeyond = all.length - names.length;
  const lines = names.map((name, c) => el("tr", {},
    el("th", { scope: "row" }, textSpan(name)),
    el("td", {}, textSpan(cell(side.look.items[i][c])))));
  const beyond = el("tr", {}, el("td", { class: "beyond", colspan: 2 }, `and ${nBeyond} more`));
  return el("table", { class: "record" }, el("tbody", {}, lines, nBeyond ? beyond : null));
}

const brief = (side, i) => (isShown(side, i) ? LOOKS[side.look.kind].brief(side, i) : null);
const full = (side, i) => (isShown(side, i) ? LOOKS[side.look.kind].full(side, i) : null);
const words = (side, i) =>
  [called(side, i), shortly(side, i), side.ids[i], labelOf(side, i) ?? "", groupOf(side, i) ?? "",
    LOOKS[side.look.kind].words(side, i)].join(" ").toLowerCase();

// Several target rows, each with what `note` says of it: tiles, lines or one table.
function rowList(rows, note) {
  const kind = data.rows.look.kind;
  return kind === "records" ? rowTable(rows, note) : el("ul", { class: "row-list " + kind },
    rows.map((r) => el("li", {},
      brief(data.rows, r),
      el("div", { class: "caption" }, note(r), foreign(r),
        el("span", { class: "muted" }, textSpan(called(data.rows, r)))))));
}

function rowTable(rows, note) {
  const names = data.rows.look.columns;
  const head = el("tr", {}, el("th", { scope: "col" }, "distance"), el("th", { scope: "col" }, "row"),
    data.rows.labels ? el("th", { scope: "col" }, "label") : null,
    names.map((name) => el("th", { scope: "col" }, textSpan(name))));
  const lines = rows.map((r) => el("tr", {}, el("td", {}, note(r)),
    el("td", {}, textSpan(called(data.rows, r))),
    data.rows.labels ? el("td", {}, foreign(r) ?? textSpan(labelOf(data.rows, r))) : null,
    names.map((_, c) => el("td", {}, textSpan(cell(data.rows.look.items[r][c]))))));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows" },
    el("table", { class: "rows-table" }, el("thead", {}, head), el("tbody", {}, lines)));
}

// The label of a row, where its prototype carries another one.
function foreign(r) {
  const [own, other] = [data.rows.labels, data.prototypes.labels];
  if (!own || !other || own[r] === other[data.rows.of[r]]) return null;
  return el("span", { class: "foreign", title: "carries another label than its prototype" },
    "label ", textSpan(labelOf(data.rows, r)));
}
