// The buttons of each block stand in a `nav`, a landmark: each gets a name of its own, as screen readers list them.
function named(root) {
  root.querySelectorAll(".md-code__nav:not([aria-label])").forEach((buttons) => {
    buttons.setAttribute("aria-label", `Buttons of block ${buttons.closest("[id]")?.id ?? ""}`);
  });
}
new MutationObserver(() => named(document)).observe(document.documentElement, { childList: true, subtree: true });
