"use strict";

// Without scripts, tables keep their order.
function sort(table, column, direction) {
  const body = table.tBodies[0];
  const order = (first, second) => {
    const [a, b] = [first.cells[column], second.cells[column]];
    const difference = "value" in a.dataset && "value" in b.dataset
      ? Number(a.dataset.value) - Number(b.dataset.value)
      : a.textContent.localeCompare(b.textContent);
    return direction === "ascending" ? difference : -difference;
  };
  body.append(...[...body.rows].sort(order));
}

for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = heading.textContent;
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const direction = heading.ariaSort === "ascending" ? "descending" : "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", direction);
      sort(table, column, direction);
    });
  });
}
