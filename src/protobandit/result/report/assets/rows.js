// Shows a prototype or a target row. `side` is data.prototypes or data.rows.

const nameOf = (side, i) => (side.names ? side.names[i] : "row " + whole.format(side.ids[i]));
const shortNameOf = (side, i) => (side.names ? side.names[i] : "#" + whole.format(side.ids[i]));
const labelOf = (side, i) => (side.labels ? data.labels[side.labels[i]] : null);
const groupOf = (side, i) => (side.groups ? data.groups[side.groups[i]] : null);
// The page has the first prototypes only, if there are very many.
const isShown = (i) => i < data.prototypes.ids.length;
const hasContents = (side, i) => i < side.look.items.length;
const textSpan = (text, name = "") => el("span", { class: ("data " + name).trim(), dir: "auto" }, text);

const DISPLAYS = {
  images: {
    preview: (side, i) =>
      el("img", {
        class: "picture",
        alt: nameOf(side, i),
        decoding: "async",
        src: "data:image/png;base64," + side.look.head + side.look.items[i],
      }),
    full: (side, i) => DISPLAYS.images.preview(side, i),
    searchText: () => "",
  },
  texts: {
    preview: (side, i) => el("p", { class: "data text", dir: "auto" }, side.look.items[i]),
    full: (side, i) => el("p", { class: "data text full", dir: "auto" }, side.look.items[i]),
    searchText: (side, i) => side.look.items[i],
  },
  records: {
    preview: (side, i) => record(side, i, 4, briefCell),
    full: (side, i) => record(side, i, side.look.columns.length, cell),
    searchText: (side, i) => side.look.items[i].filter((v) => v !== null)
      .flatMap((v) => [...new Set([cell(v), String(v)])]).join(" "),
  },
};

// Texts of this many characters or more have the whole width of a record.
const LONG_TEXT = 24;

function record(side, i, most, format) {
  const all = side.look.columns;
  const names = all.length <= most + 1 ? all : all.slice(0, most); // "and 1 more" would take the same space as the line
  const nMore = all.length - names.length;
  const lines = names.map((name, c) => {
    const text = format(side.look.items[i][c]);
    return text.length < LONG_TEXT
      ? el("tr", {}, el("th", { scope: "row" }, textSpan(name)), el("td", {}, textSpan(text)))
      : el("tr", {}, el("td", { class: "long", colspan: 2 },
        el("span", { class: "long-name" }, textSpan(name)), textSpan(text, "long-text")));
  });
  const moreLine = el("tr", {}, el("td", { class: "beyond", colspan: 2 }, `and ${nMore} more`));
  return el("table", { class: "record" }, el("tbody", {}, lines, nMore ? moreLine : null));
}

const preview = (side, i) => (hasContents(side, i) ? DISPLAYS[side.look.kind].preview(side, i) : null);
const full = (side, i) => (hasContents(side, i) ? DISPLAYS[side.look.kind].full(side, i) : null);
const searchText = (side, i) =>
  [nameOf(side, i), shortNameOf(side, i), side.ids[i], labelOf(side, i) ?? "", groupOf(side, i) ?? "",
    DISPLAYS[side.look.kind].searchText(side, i)].join(" ").toLowerCase();

// Several target rows, each with the element that `note` returns: tiles, lines or one table.
function rowList(rows, note) {
  const kind = data.rows.look.kind;
  return kind === "records" ? rowTable(rows, note) : el("ul", { class: "row-list " + kind },
    rows.map((r) => el("li", {},
      preview(data.rows, r),
      el("div", { class: "caption" }, note(r), differingLabel(r),
        el("span", { class: "muted" }, textSpan(nameOf(data.rows, r)))))));
}

function rowTable(rows, note) {
  const names = data.rows.look.columns;
  const head = el("tr", {}, el("th", { scope: "col" }, "distance"), el("th", { scope: "col" }, "row"),
    data.rows.labels ? el("th", { scope: "col" }, "label") : null,
    names.map((name) => el("th", { scope: "col" }, textSpan(name))));
  const lines = rows.map((r) => el("tr", {}, el("td", {}, note(r)),
    el("td", {}, textSpan(nameOf(data.rows, r))),
    data.rows.labels ? el("td", {}, differingLabel(r, "") ?? textSpan(labelOf(data.rows, r))) : null,
    names.map((_, c) => el("td", {}, textSpan(cell(data.rows.look.items[r][c]))))));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows" },
    el("table", { class: "rows-table" }, el("thead", {}, head), el("tbody", {}, lines)));
}

// A sentence on labels that differ from those of the prototypes, if there are any among these rows.
function differingNote(rows) {
  return rows.some((r) => differingLabel(r)) ? el("p", { class: "muted" },
    el("span", { class: "other-label" }, "Red labels"), " differ from the label of the prototype.") : null;
}

// The label of a row, if it differs from that of its prototype.
function differingLabel(r, prefix = "label ") {
  const [ofRows, ofPrototypes] = [data.rows.labels, data.prototypes.labels];
  if (!ofRows || !ofPrototypes || !isShown(data.rows.of[r]) || ofRows[r] === ofPrototypes[data.rows.of[r]]) return null;
  return el("span", { class: "other-label", title: "differs from the label of its prototype" },
    prefix, textSpan(labelOf(data.rows, r)));
}
