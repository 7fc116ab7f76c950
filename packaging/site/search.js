// SPDX-License-Identifier: Apache-2.0
// Finds pages and names of the reference that have every word, those with the words in their title first, and puts a
// button that copies beside each block of commands.
const field = document.getElementById("search");
const results = document.getElementById("results");

function around(text, word) {
  const at = text.toLowerCase().indexOf(word);
  return at < 0 ? "" : text.slice(Math.max(0, at - 60), at + 100);
}

function show() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  results.hidden = words.length === 0;
  results.replaceChildren();
  const found = window.searchIndex.filter((page) => {
    const all = (page.title + " " + page.text).toLowerCase();
    return words.every((word) => all.includes(word));
  });
  // A name of the reference that is the first word comes first.
  const titled = (page) => words.filter((word) => page.title.toLowerCase().includes(word)).length +
    (page.title.toLowerCase().split(/[ =]/)[0] === words[0] ? 1 : 0);
  found.sort((a, b) => titled(b) - titled(a));
  for (const page of words.length === 0 ? [] : found.slice(0, 12)) {
    const line = document.createElement("p");
    const link = document.createElement("a");
    link.href = field.dataset.up + page.page;
    link.textContent = page.title;
    const context = document.createElement("small");
    context.textContent = around(page.text, words[0]);
    line.append(link, context);
    results.append(line);
  }
  if (words.length !== 0 && found.length === 0) {
    results.textContent = "No page has these words.";
  }
}

field.addEventListener("input", show);
field.form.addEventListener("submit", (event) => event.preventDefault());
if (window.matchMedia("(max-width: 48rem)").matches) {
  document.querySelectorAll("nav details, details.contents").forEach((each) => { each.open = false; });
}
for (const block of document.querySelectorAll("pre")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("code")?.textContent ?? block.textContent);
    button.textContent = "Copied";
  });
  const around = document.createElement("div");
  around.className = "block";
  block.replaceWith(around);
  around.append(block, button);
}
