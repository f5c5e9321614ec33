// Theme, copying and printing; then start every part.

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

function startTheme() {
  const root = document.documentElement;
  byId("theme").addEventListener("click", () => {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
    root.dataset.theme = isDark ? "light" : "dark";
    repaint();
  });
  prefersDark.addEventListener("change", repaint);
}

function startCopy() {
  const button = byId("copy");
  if (!button) return;
  const select = () => getSelection().selectAllChildren(byId("command"));
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(byId("command").textContent);
      button.textContent = "Copied";
    } catch {
      select();
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
}

function startPrinting() {
  window.matchMedia("print").addEventListener("change", repaint);
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
}

startTheme();
startCopy();
startPrinting();
startPanel();
startGallery();
startCurve();
startMap();
startComposition();
startDistances();
startCriticisms();
window.addEventListener("scroll", hideTip, { passive: true });
document.documentElement.dataset.ready = Math.round(performance.now());
