// The panel of one prototype: its facts, its nearest and its farthest members.

const panel = byId("panel");
let opened = null;
let opener = null; // the element that opened the panel

function facts(i) {
  const p = data.prototypes;
  const entries = [
    ["Represents", percent(p.mass[i]) + " of the target"],
    ...(data.coefficients ? [["Coefficient", inline(data.coefficients[i])]] : []),
    ["Gain", i === 0 ? "– (there is no cost before the first)" : inline(p.gains[i])],
    ["Mean distance of its rows", inline(p.means[i])],
    [data.isWhole ? "Rows" : "Rows in the sample", whole.format(p.counts[i])],
  ];
  if (p.labels) entries.unshift(["Label", labelOf(p, i)]);
  if (p.groups) entries.unshift(["Group", groupOf(p, i)]);
  return el("dl", { class: "pairs" }, entries.map(([name, value]) =>
    [el("dt", {}, name), el("dd", {}, textSpan(value))]));
}

// Long texts and records scroll separately, so they must be reachable by Tab.
function portrait(i) {
  const { kind } = data.prototypes.look;
  const region = { tabindex: "0", role: "region", "aria-label": "The whole row" };
  return el("div", { class: "portrait " + kind, ...(kind === "images" ? {} : region) }, full(data.prototypes, i));
}

function memberSection(title, note, rows) {
  return el("section", { class: "members" }, el("h3", {}, title), el("p", { class: "muted" }, note),
    differingNote(rows),
    rows.length ? rowList(rows, (r) => el("b", { class: "distance" }, inline(data.rows.distances[r])))
      : el("p", { class: "muted" }, "none"));
}

function openPanel(i, from) {
  opener = from;
  renderPanel(i);
  hideTip();
  panel.showModal();
}

function renderPanel(i) {
  opened = i;
  const p = data.prototypes;
  const body = byId("panel-body");
  const isInside = body.contains(document.activeElement);
  byId("panel-title").replaceChildren("Prototype " + whole.format(i + 1),
    el("span", { class: "muted" }, textSpan(nameOf(p, i))));
  body.replaceChildren(
    el("div", { class: "about-one" }, portrait(i), facts(i)),
    memberSection("Nearest members", "The rows it represents best, with their distances.", p.near[i]),
    memberSection("Farthest members", "The rows it covers badly, though no other prototype is nearer.", p.far[i]));
  const at = order.indexOf(i);
  byId("previous").setAttribute("aria-disabled", at <= 0);
  byId("next").setAttribute("aria-disabled", at < 0 || at === order.length - 1);
  body.scrollTop = 0;
  if (isInside) body.focus(); // the element with the focus was removed
}

function movePanel(step) {
  const at = order.indexOf(opened);
  if (at >= 0 && order[at + step] !== undefined) renderPanel(order[at + step]);
}

function leavePanel() {
  if (opener.matches(".card")) focusCard(opened);
  else opener.focus({ preventScroll: true });
}

function startPanel() {
  byId("panel-body").autofocus = true; // in the markup, autofocus would apply to the page, not to the dialog
  byId("close").addEventListener("click", () => panel.close());
  byId("previous").addEventListener("click", () => movePanel(-1));
  byId("next").addEventListener("click", () => movePanel(1));
  panel.addEventListener("click", (event) => event.target === panel && panel.close());
  panel.addEventListener("keydown", (event) => {
    if (!isPlain(event) || event.target.closest(".scroll")) return;
    if (event.key === "ArrowLeft") movePanel(-1);
    if (event.key === "ArrowRight") movePanel(1);
  });
  panel.addEventListener("close", leavePanel);
}
