// The prototypes as cards: search, filter, sort, move by arrow keys, open.

const FIRST = 60; // cards before "show all"
const cards = [];
let order = []; // prototypes that match, in the order shown
let isAll = data.prototypes.ids.length <= FIRST;
let tabStop = 0; // the prototype that Tab moves to

const COMPARE = {
  rank: (a, b) => a - b,
  mass: (a, b) => data.prototypes.mass[b] - data.prototypes.mass[a] || a - b,
  mean: (a, b) => (data.prototypes.means[b] ?? -1) - (data.prototypes.means[a] ?? -1) || a - b,
  gain: (a, b) => (data.prototypes.gains[b] ?? Infinity) - (data.prototypes.gains[a] ?? Infinity) || a - b,
};

function bar(share, most) {
  const inner = el("i");
  inner.style.width = (100 * share) / (most || 1) + "%";
  return el("span", { class: "bar-track" }, inner);
}

function card(i, most) {
  const p = data.prototypes;
  const label = labelOf(p, i);
  const gain = i === 0 || p.gains[i] === null ? "" : inline(Number(p.gains[i].toPrecision(3)));
  const aria = `Prototype ${i + 1}, ${nameOf(p, i)}` + (label === null ? "" : `, label ${label}`) +
    `, represents ${percent(p.mass[i])} of the target. Show its members.`;
  const button = el("button", { type: "button", class: "card", tabindex: "-1", "aria-label": aria,
    "aria-haspopup": "dialog", onclick: (event) => openPanel(i, event.currentTarget), onfocus: () => setTabStop(i) },
    preview(p, i),
    el("span", { class: "line" }, el("b", {}, String(i + 1)),
      label === null ? null : textSpan(label, "chip"), el("b", { class: "mass" }, percent(p.mass[i]))),
    bar(p.mass[i], most),
    el("span", { class: "line muted" }, textSpan(shortNameOf(p, i), "name"), gain === "" ? null : el("span", { class: "gain", title: "gain: by how much it lowered the cost" }, gain)));
  return el("li", {}, button);
}

function setTabStop(i) {
  cards[tabStop].firstChild.tabIndex = -1;
  tabStop = i;
  cards[tabStop].firstChild.tabIndex = 0;
}

function focusCard(i) {
  if (!order.includes(i)) return;
  if (!isAll && order.indexOf(i) >= FIRST) showAll();
  cards[i].firstChild.focus();
}

function matches() {
  const wanted = byId("search").value.trim().toLowerCase();
  const label = byId("label").value;
  const group = byId("group").value;
  const p = data.prototypes;
  return p.ids.map((_, i) => i).filter((i) =>
    (!p.labels || label === "" || p.labels[i] === Number(label)) &&
    (!p.groups || group === "" || p.groups[i] === Number(group)) &&
    (cards[i].searchText.includes(wanted) || String(i + 1) === wanted));
}

function arrange() {
  order = matches().sort(COMPARE[byId("sort").value]);
  const shown = isAll ? order : order.slice(0, FIRST);
  byId("gallery").classList.toggle("many", shown.length > 2 * FIRST);
  byId("gallery").replaceChildren(...shown.map((i) => cards[i]));
  byId("none").hidden = order.length > 0;
  const hasMore = shown.length < order.length;
  const n = data.prototypes.ids.length;
  const first = n < data.k ? `; the page has the first ${whole.format(n)} of ${whole.format(data.k)}` : "";
  byId("count").textContent = (order.length === n && !hasMore
    ? `${whole.format(n)} shown`
    : `${whole.format(shown.length)} shown of ${whole.format(order.length)}` +
      (order.length < n ? ` that match, ${whole.format(n)} in total` : "")) + first;
  byId("more").hidden = !hasMore;
  byId("more").textContent = `Show all ${whole.format(order.length)}`;
  if (shown.length) setTabStop(shown.includes(tabStop) ? tabStop : shown[0]);
}

function showAll() {
  isAll = true;
  arrange();
}

function moveByKey(event) {
  const shown = [...byId("gallery").children];
  const at = shown.indexOf(event.target.closest("li"));
  if (at < 0 || !isPlain(event)) return;
  const line = shown.filter((li) => li.offsetTop === shown[0].offsetTop).length;
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + line, ArrowUp: at - line,
    Home: 0, End: shown.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  if (shown[to]) shown[to].firstChild.focus();
}

function fillFilter(name, codes, names) {
  const own = [...new Set(codes ?? [])];
  if (own.length < 2) return;
  own.sort((a, b) => names[a].localeCompare(names[b], "en", { numeric: true }));
  byId(name).append(el("option", { value: "" }, "all"),
    ...own.map((code) => el("option", { value: code }, names[code])));
  byId(name + "-tool").hidden = false;
}

function startGallery() {
  const p = data.prototypes;
  const most = Math.max(...p.mass);
  p.ids.forEach((_, i) => {
    cards.push(card(i, most));
    cards[i].searchText = searchText(p, i);
  });
  byId("gallery").classList.add(p.look.kind);
  fillFilter("label", p.labels, data.labels);
  fillFilter("group", p.groups, data.groups);
  byId("search").addEventListener("input", arrange);
  for (const name of ["label", "group", "sort"]) byId(name).addEventListener("change", arrange);
  byId("tools").addEventListener("submit", (event) => event.preventDefault());
  byId("gallery").addEventListener("keydown", moveByKey);
  byId("more").addEventListener("click", () => {
    const next = order[FIRST];
    showAll();
    cards[next].firstChild.focus();
  });
  byId("clear").addEventListener("click", () => {
    for (const name of ["search", "label", "group"]) byId(name).value = "";
    arrange();
    byId("search").focus();
  });
  arrange();
}
