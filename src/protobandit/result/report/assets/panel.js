// The panel of one prototype: what it stands for, and what it covers badly.

const panel = byId("panel");
let opened = null;
let opener = null; // what the reader left to open the panel

function facts(i) {
  const p = data.prototypes;
  const entries = [
    ["Stands for", percent(p.mass[i]) + " of the target"],
    ...(data.coefficients ? [["Coefficient", inline(data.coefficients[i])]] : []),
    ["Gain", i === 0 ? "– (the first has none to compare with)" : inline(p.gains[i])],
    ["Mean distance of its rows", inline(p.means[i])],
    [data.isWhole ? "Rows" : "Rows in the sample", whole.format(p.counts[i])],
  ];
  if (p.labels) entries.unshift(["Label", labelOf(p, i)]);
  if (p.groups) entries.unshift(["Group", groupOf(p, i)]);
  return el("dl", { class: "pairs" }, entries.map(([name, value]) =>
    [el("dt", {}, name), el("dd", {}, textSpan(value))]));
}

// Long texts and records scroll on their own, so Tab stops at them.
function portrait(i) {
  const { kind } = data.prototypes.look;
  const region = { tabindex: "0", role: "region", "aria-label": "The whole row" };
  return el("div", { class: "portrait " + kind, ...(kind === "images" ? {} : region) }, full(data.prototypes, i));
}

function memberSection(title, note, rows) {
  return el("section", { class: "members" }, el("h3", {}, title), el("p", { class: "muted" }, note),
    rows.length ? rowList(rows, (r) => el("b", { class: "distance" }, inline(data.rows.distances[r])))
      : el("p", { class: "muted" }, "none"));
}

function openPanel(i, from) {
  opener = from;
  fillPanel(i);
  hideTip();
  panel.showModal();
}

function fillPanel(i) {
  opened = i;
  const p = data.prototypes;
  const body = byId("panel-body");
  const isInside = body.contains(document.activeElement);
  byId("panel-title").replaceChildren("Prototype " + whole.format(i + 1),
    el("span", { class: "muted" }, textSpan(called(p, i))));
  body.replaceChildren(
    el("div", { class: "about-one" }, portrait(i), facts(i)),
    memberSection("Nearest members", "The rows it stands for best, with their distances.", p.near[i]),
    memberSection("Farthest members", "The rows it covers badly: no other prototype is nearer.", p.far[i]));
  const at = order.indexOf(i);
  byId("previous").setAttribute("aria-disabled", at <= 0);
  byId("next").setAttribute("aria-disabled", at < 0 || at === order.length - 1);
  body.scrollTop = 0;
  if (isInside) body.focus(); // what had the focus is gone
}

function walk(step) {
  const at = order.indexOf(opened);
  if (at >= 0 && order[at + step] !== undefined) fillPanel(order[at + step]);
}

function leavePanel() {
  if (opener.matches(".card")) returnTo(opened);
  else opener.focus({ preventScroll: true });
}

function startPanel() {
  byId("panel-body").autofocus = true; // of the dialog; in the markup it would be of the page
  byId("close").addEventListener("click", () => panel.close());
  byId("previous").addEventListener("click", () => walk(-1));
  byId("next").addEventListener("click", () => walk(1));
  panel.addEventListener("click", (event) => event.target === panel && panel.close());
  panel.addEventListener("keydown", (event) => {
    if (!isPlain(event) || event.target.closest(".scroll")) return;
    if (event.key === "ArrowLeft") walk(-1);
    if (event.key === "ArrowRight") walk(1);
  });
  panel.addEventListener("close", leavePanel);
}
