// The buttons of a block stand in a `nav` without a name; with a role of a group a page has no landmarks of one name.
function named(root) {
  for (const buttons of root.querySelectorAll(".md-code__nav:not([role])")) {
    buttons.setAttribute("role", "group");
    buttons.setAttribute("aria-label", "Buttons of this block");
  }
}
new MutationObserver(() => named(document)).observe(document.documentElement, { childList: true, subtree: true });
