// What the theme leaves out for those who read by keyboard or by ear: a name of its own for each landmark (menus of
// equal names, and a `nav` without one around the buttons of each block), and blocks that scroll as stops of the Tab key.
function named() {
  const seen = new Map();
  for (const nav of document.querySelectorAll("nav:not([data-named])")) {
    const label = document.getElementById(nav.getAttribute("aria-labelledby"))?.textContent;
    const name = (label ?? nav.getAttribute("aria-label") ?? "Buttons of a block").trim();
    seen.set(name, (seen.get(name) ?? document.querySelectorAll(`nav[data-named="${CSS.escape(name)}"]`).length) + 1);
    nav.dataset.named = name;
    if (seen.get(name) > 1 || !label) {
      nav.removeAttribute("aria-labelledby");
      nav.setAttribute("aria-label", seen.get(name) > 1 ? `${name} ${seen.get(name)}` : name);
    }
  }
  for (const code of document.querySelectorAll("pre > code:not([tabindex])")) code.tabIndex = 0;
}
new MutationObserver(named).observe(document.documentElement, { childList: true, subtree: true });
named();
