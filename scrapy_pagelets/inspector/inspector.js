"use strict";
// All texts of the page go into the document as text, never as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const shown = byId("shown"), list = byId("list"), about = byId("about");
const LINE = 3; // least gap between runs of text that begin a new line, as in the node table
const CELL = 2;
const style = getComputedStyle(document.documentElement);
const dark = matchMedia("(prefers-color-scheme: dark)").matches;

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// Colours: from content over the middle to template, and for segments by their number.
const ends = ["--content", "--middle", "--template"].map((name) => {
  const value = style.getPropertyValue(name).trim().slice(1);
  return [0, 2, 4].map((at) => parseInt(value.slice(at, at + 2), 16));
});
function colorOf(templateness) {
  const [low, high, share] = templateness < 0.5 ? [ends[0], ends[1], templateness * 2] : [ends[1], ends[2], templateness * 2 - 1];
  return `rgb(${low.map((value, i) => Math.round(value + share * (high[i] - value))).join(" ")})`;
}
const colorOfSegment = (number) => `hsl(${(number * 137) % 360} 70% ${dark ? 65 : 35}%)`;

// What is outlined: groups of runs of text, each with a colour and what to say about it.
function pageletGroups() {
  return data.pagelets.map((one) => ({
    leaves: one.leaves,
    boxes: one.boxes,
    color: colorOf(one.templateness),
    stripped: one.role !== "content",
    title: `${one.id} · ${one.role} · ${one.templateness.toFixed(2)}`,
    about: `${one.words} ${one.words === 1 ? "word" : "words"} ${one.role === "content" ? "kept" : "stripped"}: `,
    begins: beginning(one.text),
    pagelet: one,
    depth: 0,
  }));
}

function segmentGroups(name, at) {
  const { labels, values } = data.segmentations[name], groups = new Map();
  labels[at].slice(0, data.leaves.text.length).forEach((label, leaf) => {
    if (!groups.has(label)) groups.set(label, []);
    groups.get(label).push(leaf);
  });
  const depths = name === "vips" ? depthsOfBlocks(values[at]) : new Map();
  return [...groups].map(([label, leaves], number) => ({
    leaves,
    boxes: around(leaves),
    color: colorOfSegment(number),
    stripped: false,
    title: `Segment ${number + 1}`,
    about: "",
    begins: beginning(textOf(leaves)),
    depth: depths.get(label) || 0,
  }));
}

// The depth of each block of VIPS in the tree that the slider leaves; blocks come after the one around them.
function depthsOfBlocks(pdoc) {
  const depth = new Map();
  data.segmentations.vips.tree.forEach((block, number) => {
    const above = block.parent < 0 ? -1 : depth.get(block.parent);
    const divided = block.parent < 0 || data.segmentations.vips.tree[block.parent].doc < pdoc;
    depth.set(number, above + (divided ? 1 : 0));
  });
  return depth;
}

function around(leaves) {
  const boxes = leaves.map((leaf) => data.leaves.box[leaf]).filter(Boolean);
  if (!boxes.length) return [];
  const left = Math.min(...boxes.map((box) => box[0])), top = Math.min(...boxes.map((box) => box[1]));
  const right = Math.max(...boxes.map((box) => box[0] + box[2])), bottom = Math.max(...boxes.map((box) => box[1] + box[3]));
  return [[left, top, right - left, bottom - top]];
}

const textOf = (leaves) => leaves.slice(0, 12).map((leaf) => data.leaves.text[leaf]).join(" ");
const beginning = (text) => (text.length > 80 ? `${text.slice(0, 80).trimEnd()}…` : text);

// The page: its picture with boxes, or its text with a line under each run.
let groups = [], groupOf = [], marks = [], chosen = -1;
let held = false; // what was clicked or reached by keyboard stays, wherever the pointer goes

function drawPage() {
  shown.replaceChildren();
  marks = groups.map(() => []);
  if (byId("view").value === "picture") drawPicture();
  else drawText();
  shown.classList.toggle("dim", byId("dim").checked);
}

function drawPicture() {
  const holder = element("div", undefined, "picture"), image = element("img");
  image.src = byId("picture").textContent.trim();
  image.alt = `The page ${data.title} as a browser shows it`;
  holder.append(image);
  const [width, height] = data.size;
  groups.forEach((group, number) => {
    for (const [left, top, wide, total] of group.boxes) {
      const high = Math.min(total, height - top); // the picture of a long page is cut off
      if (high <= 0) continue;
      const box = element("div", undefined, group.stripped ? "box stripped" : "box");
      box.style.left = `${(100 * left) / width}%`;
      box.style.top = `${(100 * top) / height}%`;
      box.style.width = `${(100 * wide) / width}%`;
      box.style.height = `${(100 * high) / height}%`;
      box.style.borderColor = group.color;
      box.title = group.title;
      box.dataset.group = number;
      marks[number].push(box);
      holder.append(box);
    }
  });
  shown.append(holder);
}

function drawText() {
  const { text, gap, form, link } = data.leaves;
  let block = null;
  text.forEach((run, leaf) => {
    if (!block || gap[leaf] >= LINE) shown.append((block = element("div", undefined, `block ${form[leaf]}`)));
    else if (gap[leaf] > 0 && !/^\s/.test(run)) block.append(gap[leaf] === CELL ? "\t" : " ");
    const number = groupOf[leaf], group = groups[number];
    const mark = element("span", run, `run${link[leaf] ? " linked" : ""}${group && group.stripped ? " stripped" : ""}`);
    if (group) {
      mark.style.borderColor = group.color;
      mark.dataset.group = number;
      marks[number].push(mark);
    }
    block.append(mark);
  });
  if (!text.length) shown.append(element("p", "The page has no text."));
}

function drawPair(before, after, names) {
  const pair = element("div", undefined, "pair");
  [before, after].forEach((text, side) => {
    const part = element("section"), box = element("pre", text);
    box.tabIndex = 0;
    box.setAttribute("aria-label", names[side]);
    part.append(element("h2", names[side]), box);
    pair.append(part);
  });
  shown.replaceChildren(pair);
}

function drawTwin() {
  const differing = data.twin.parts.filter(([kind]) => kind !== "same").length;
  const marked = differing === 1 ? "One difference is marked." : `${differing} differences are marked.`;
  const found = differing ? marked : "Nothing differs.";
  const note = data.twin.whole ? found : `${found} Only the beginning of the texts is compared and shown.`;
  const pair = element("div", undefined, "pair");
  [0, 1].forEach((side) => {
    const part = element("section"), box = element("pre");
    const name = side ? `Near-duplicate: ${data.twin.url}` : `This page: ${data.url}`;
    box.tabIndex = 0;
    box.setAttribute("aria-label", name);
    for (const [kind, own, other] of data.twin.parts) {
      const text = side ? other : own;
      if (text) box.append(kind === "same" ? text : element(side ? "ins" : "del", text));
    }
    part.append(element("h2", name), box);
    pair.append(part);
  });
  shown.replaceChildren(element("p", note), pair);
}

function draw() {
  const view = byId("view").value, { texts } = data;
  if (view === "plain") drawPair(texts.textBefore, texts.textAfter, ["Text before", "Text after"]);
  else if (view === "markdown") drawPair(texts.markdownBefore, texts.markdownAfter, ["Markdown before", "Markdown after"]);
  else if (view === "twin") drawTwin();
  else drawPage();
  if (chosen < 0) return;
  highlight();
  tell(groups[chosen]);
  reveal(chosen);
}

// The list, in step with the page.
function outline() {
  const name = byId("outline").value, slider = byId("slider");
  byId("sliding").hidden = name === "pagelets";
  for (const id of ["dimming", "legend"]) byId(id).hidden = name !== "pagelets"; // segments have colours to tell them apart
  if (name !== "pagelets") {
    const { values } = data.segmentations[name];
    byId("scale").textContent = data.segmentations[name].name;
    slider.max = values.length - 1;
    slider.value = Math.min(slider.value, slider.max);
    byId("value").textContent = values[slider.value];
  }
  groups = name === "pagelets" ? pageletGroups() : segmentGroups(name, Number(slider.value));
  groupOf = [];
  groups.forEach((group, number) => group.leaves.forEach((leaf) => (groupOf[leaf] = number)));
  chosen = -1;
  held = false;
  const [one, many, what] =
    name === "pagelets" ? ["pagelet", "pagelets", "to see why it is kept or stripped"] : ["segment", "segments", "to see its text"];
  const how = groups.length ? `Point at one ${what}. A click holds it, Escape lets it go.` : "";
  about.classList.remove("told");
  about.replaceChildren(element("p", `${groups.length} ${groups.length === 1 ? one : many}. ${how}`));
  list.replaceChildren(...groups.map(entry));
  draw();
}

function entry(group, number) {
  const item = element("li"), button = element("button", group.title);
  button.type = "button";
  button.style.borderColor = group.color;
  button.dataset.group = number;
  button.setAttribute("aria-pressed", "false");
  const detail = element("small", group.about);
  detail.append(element("bdi", group.begins));
  button.append(detail);
  item.style.paddingLeft = `${Math.min(group.depth, 12) * 0.7}rem`;
  item.append(button);
  return item;
}

function highlight() {
  for (const mark of document.querySelectorAll(".chosen")) mark.classList.remove("chosen");
  for (const mark of marks[chosen] || []) mark.classList.add("chosen");
}

function choose(number) {
  chosen = number;
  highlight();
  list.querySelectorAll("[aria-pressed=true]").forEach((button) => button.setAttribute("aria-pressed", "false"));
  const button = list.children[number].firstChild;
  button.setAttribute("aria-pressed", "true");
  tell(groups[number]);
  button.scrollIntoView({ block: "nearest" });
}

function hold(number) {
  if (Number.isNaN(number)) return;
  held = true;
  choose(number);
}

function reveal(number) {
  if (marks[number] && marks[number].length) marks[number][0].scrollIntoView({ block: "center" });
}

function tell(group) {
  const { pagelet } = group, parts = [element("h2", group.title)];
  if (pagelet) {
    const why = element("ul");
    why.append(...pagelet.reasons.map((reason) => element("li", reason)));
    parts.push(why);
  } else {
    parts.push(element("p", textOf(group.leaves)));
  }
  if (byId("view").value === "picture" && !marks[chosen].length) {
    parts.push(element("p", "It is not in the picture: the page hides it, or it stands below. The text by pagelet has it."));
  }
  if (pagelet) {
    parts.push(element("h2", "Where"), ...pagelet.xpaths.slice(0, 5).map((path) => element("code", path)));
    if (pagelet.xpaths.length > 5) parts.push(element("p", `and ${pagelet.xpaths.length - 5} more`));
    for (const [action, rule] of Object.entries(pagelet.rules)) {
      if (!rule || (action === "keep") === (pagelet.role === "content")) continue;
      parts.push(element("h2", `To ${action} it: a rule for rules.toml`), element("pre", rule));
    }
  }
  about.classList.add("told");
  about.replaceChildren(...parts);
  about.scrollTop = 0;
}

const groupAt = (event) => {
  const mark = event.target.closest("[data-group]");
  return mark ? Number(mark.dataset.group) : NaN;
};
for (const name of ["click", "focusin"]) {
  list.addEventListener(name, (event) => {
    hold(groupAt(event));
    reveal(groupAt(event));
  });
}
shown.addEventListener("click", (event) => hold(groupAt(event)));
shown.addEventListener("mouseover", (event) => {
  const number = groupAt(event);
  if (!held && !Number.isNaN(number) && number !== chosen) choose(number);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") held = false;
});
byId("view").addEventListener("change", draw);
byId("dim").addEventListener("change", draw);
byId("outline").addEventListener("change", outline);
byId("slider").addEventListener("input", outline);

function readable(url) {
  try {
    return decodeURI(url);
  } catch {
    return url; // not UTF-8
  }
}

function begin() {
  document.title = `${data.title} – pagelets`;
  byId("title").textContent = data.title;
  byId("url").textContent = readable(data.url);
  byId("url").title = data.url;
  byId("decided").textContent = data.decidedBy;
  byId("notes").append(...data.notes.map((note) => element("p", note)));
  const hasPicture = byId("picture").textContent.trim() !== "";
  byId("view").querySelector("[value=picture]").hidden = !hasPicture;
  byId("view").querySelector("[value=twin]").hidden = !data.twin;
  byId("view").value = hasPicture ? "picture" : "text";
  for (const name of ["vips", "gcuts"]) {
    byId("outline").querySelector(`[value=${name}]`).hidden = !data.segmentations[name];
  }
  document.body.classList.toggle("plain", location.hash === "#plain");
  outline();
}
begin();
