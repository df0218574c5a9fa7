// What the theme makes by script gets the names and the places in the order of the keys that a reader without a mouse needs.
const mended = () => {
  document.querySelectorAll(".md-code__nav").forEach((one) => one.setAttribute("role", "none"));
  document.querySelectorAll(".md-typeset__scrollwrap").forEach((one, number) => {
    one.tabIndex = 0;
    one.setAttribute("role", "region");
    one.setAttribute("aria-label", `Table ${number + 1}`);
  });
};
new MutationObserver(mended).observe(document.body, { childList: true, subtree: true });
mended();
