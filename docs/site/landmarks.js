// What the theme leaves out for those who read by keyboard or by ear: a name of its own for each landmark (menus of
// equal names, and a `nav` without one around the buttons of each block), and blocks that scroll as stops of the Tab key.
const landmarks = new Map();
const SCROLLING = 'pre > code:not([tabindex]), p:has(> img[src$="benchmark.svg"]):not([tabindex])';
function nameLandmark(nav) {
  if (nav.dataset.named) return;
  const label = document.getElementById(nav.getAttribute("aria-labelledby"))?.textContent;
  const name = (label ?? nav.getAttribute("aria-label") ?? "Buttons of a block").trim();
  const count = (landmarks.get(name) ?? 0) + 1;
  landmarks.set(name, count);
  nav.dataset.named = name;
  if (count > 1 || !label) {
    nav.removeAttribute("aria-labelledby");
    nav.setAttribute("aria-label", count > 1 ? `${name} ${count}` : name);
  }
}
function complete(root) {
  if (root.matches("nav")) nameLandmark(root);
  root.querySelectorAll("nav").forEach(nameLandmark);
  for (const block of root.querySelectorAll(SCROLLING)) block.tabIndex = 0;
}
// Each change is looked at by itself: pages with many blocks get their buttons one by one. On touch screens the theme
// takes blocks out of the stops again.
new MutationObserver((changes) => {
  for (const { addedNodes, target } of changes) {
    for (const node of addedNodes) if (node.nodeType === Node.ELEMENT_NODE) complete(node);
    if (target.matches(SCROLLING)) target.tabIndex = 0;
  }
}).observe(document.documentElement, { attributeFilter: ["tabindex"], childList: true, subtree: true });
complete(document.documentElement);
