// The walk: one pass over a rendered document. It returns {walked, frames}. `walked` is a line of JSON with columns of
// numbers, followed by the tree as XML. `frames` are the frames that this walk may not enter, in document order.
//
// The tree is the flat tree, as it is painted: shadow trees inside their hosts, assigned nodes inside slots, and framed
// documents inside their frames. Forms expose their controls as properties that can shadow those of the node, so all
// properties are read with getters of the prototypes. Old libraries add `toJSON` to prototypes, so JSON is not used.
() => {
  const MOST_LEVELS = 2000;
  const LONGEST_DATA = 1000;

  const getter = (type, name) => Object.getOwnPropertyDescriptor(type.prototype, name).get;
  const kindOf = getter(Node, "nodeType");
  const childrenOf = getter(Node, "childNodes");
  const dataOf = getter(CharacterData, "data");
  const nameOf = getter(Element, "localName");
  // Attributes are read by name, because `attributes` creates an object for each one.
  const namesOf = Element.prototype.getAttributeNames;
  const valueOf = Element.prototype.getAttribute;
  const shadowOf = getter(Element, "shadowRoot");
  const leftOf = getter(Element, "clientLeft");
  const topOf = getter(Element, "clientTop");
  const boxOf = Element.prototype.getBoundingClientRect;
  const range = document.createRange();

  const BARE = new Set(["script", "style", "noscript", "template", "audio", "video", "canvas", "object"]);
  const FRAMES = new Set(["iframe", "frame"]);
  const NAME = /^[a-z_][\w.-]*(?::[a-z_][\w.-]*)?$/;
  const ATTRIBUTE = /^[a-z_][\w.-]*$/i;
  const UNFIT = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;
  const ESCAPED = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;" };

  const fit = (text) => text.toWellFormed().replace(UNFIT, "");
  const escaped = (text) => text.replace(/[&<>\r]/g, (c) => ESCAPED[c]);
  const quoted = (text) => text.replace(/[&<>"\t\n\r]/g, (c) => ESCAPED[c]);

  const xml = [];
  const frames = [];
  const framed = [];
  const element = { x: [], y: [], width: [], height: [], style: [] };
  const text = { x: [], y: [], width: [], height: [], parent: [] };
  const styles = new Map();

  const place = (column, box, from) => {
    column.x.push(Math.round((box.left + from.left) * 100) / 100);
    column.y.push(Math.round((box.top + from.top) * 100) / 100);
    column.width.push(Math.round(box.width * 100) / 100);
    column.height.push(Math.round(box.height * 100) / 100);
  };
  const NOWHERE = { left: 0, top: 0, width: 0, height: 0 };

  // Converts any colour to rgb() or rgba().
  const colors = new Map();
  const brush = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgb = (color) => {
    if (color.startsWith("rgb")) return color;
    if (!colors.has(color)) {
      brush.clearRect(0, 0, 1, 1);
      brush.fillStyle = color;
      brush.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = brush.getImageData(0, 0, 1, 1).data;
      colors.set(color, `rgba(${r}, ${g}, ${b}, ${a / 255})`);
    }
    return colors.get(color);
  };

  // Reading computed properties is the most expensive step of the walk.
  const styleOf = (css) => {
    const { position, overflow } = css;
    const clip = position === "absolute" || position === "fixed" ? css.clip : "auto";
    const key = [
      css.fontSize, css.fontWeight, rgb(css.color), rgb(css.backgroundColor), css.backgroundImage === "none" ? 0 : 1,
      css.visibility, css.display, position, css.cssFloat, css.opacity,
      overflow.includes(" ") ? overflow.replace(" ", "|") : overflow + "|" + overflow,
      css.clipPath === "none" && clip === "auto" ? 0 : 1,
    ].join("|");
    let id = styles.get(key);
    if (id === undefined) styles.set(key, (id = styles.size));
    return id;
  };

  const opening = (node, name, document, inFrame) => {
    let tag = "<" + name;
    let language = "";
    let declared = false;
    for (const key of namesOf.call(node)) {
      let value = valueOf.call(node, key) ?? "";
      if (key === "xml:lang") language = ' lang="' + quoted(fit(value)) + '"';
      if (!ATTRIBUTE.test(key) || key.startsWith("xmlns")) continue;
      declared ||= key === "lang";
      if (value.length > LONGEST_DATA && value.startsWith("data:")) value = "data:";
      if (inFrame && (key === "href" || key === "src")) {
        try {
          value = new URL(value, document.baseURI).href;
        } catch {
          // Not a URL: left as it is written.
        }
      }
      tag += " " + key + '="' + quoted(fit(value)) + '"';
    }
    return tag + (declared ? "" : language) + ">";
  };

  // The document of a frame, null if this walk may not enter it.
  const inside = (node) => {
    try {
      return node.contentDocument?.documentElement ? node.contentDocument : null;
    } catch {
      return null;
    }
  };

  const flat = (node, name) => {
    if (BARE.has(name)) return [];
    const shadow = shadowOf.call(node);
    if (shadow) return childrenOf.call(shadow);
    if (name === "slot") {
      const assigned = node.assignedNodes();
      if (assigned.length) return assigned;
    }
    return childrenOf.call(node);
  };

  const root = document.documentElement;
  const stack = [];
  const open = (node, level) => {
    let name = nameOf.call(node).toLowerCase();
    if (!NAME.test(name) || name.startsWith("xml")) name = "x-" + name.replace(/[^\w.-]/g, "_");
    const index = element.style.length;
    const page = level.document;
    xml.push(opening(node, name, page, page !== document || window !== window.top));
    const inner = { name, index, next: 0, document: page, from: level.from, hidden: level.hidden };
    if (level.hidden) {
      element.style.push(-1);
      place(element, NOWHERE, NOWHERE);
    } else {
      const css = page.defaultView.getComputedStyle(node);
      const box = boxOf.call(node);
      element.style.push(styleOf(css));
      place(element, box, level.from);
      inner.hidden = css.display === "none" || css.contentVisibility === "hidden";
      if (FRAMES.has(name)) {
        const left = box.left + level.from.left + leftOf.call(node) + parseFloat(css.paddingLeft);
        const top = box.top + level.from.top + topOf.call(node) + parseFloat(css.paddingTop);
        inner.from = { left, top };
      }
    }
    inner.closed = name === "details" && !node.open;
    const within = FRAMES.has(name) ? inside(node) : null;
    if (within && stack.length < MOST_LEVELS) {
      inner.document = within;
      inner.children = [within.documentElement];
    } else if (FRAMES.has(name)) {
      inner.children = [];
      if (!inner.hidden) {
        frames.push(node);
        framed.push(index, inner.from.left, inner.from.top);
      }
    } else {
      inner.children = stack.length < MOST_LEVELS ? flat(node, name) : [];
    }
    stack.push(inner);
  };

  // A run of text: adjacent text nodes, starting with the one at `top.next`.
  const run = (top) => {
    const { children } = top;
    const first = children[top.next];
    let last = first;
    let string = "";
    while (top.next < children.length && (kindOf.call(children[top.next]) === 3 || kindOf.call(children[top.next]) === 4)) {
      last = children[top.next++];
      string += dataOf.call(last);
    }
    string = fit(string);
    if (!string) return;
    xml.push(escaped(string));
    text.parent.push(top.index);
    if (top.hidden || top.closed || !/\S/.test(string)) {
      place(text, NOWHERE, NOWHERE);
      return;
    }
    range.setStart(first, 0);
    range.setEnd(last, dataOf.call(last).length);
    place(text, range.getBoundingClientRect(), top.from);
  };

  const start = { document, from: { left: window.scrollX, top: window.scrollY }, hidden: false };
  if (root) open(root, start);
  else {
    xml.push("<html></html>");
    element.style.push(-1);
    place(element, NOWHERE, NOWHERE);
  }
  while (stack.length) {
    const top = stack[stack.length - 1];
    if (top.next === top.children.length) {
      xml.push("</" + top.name + ">");
      stack.pop();
      continue;
    }
    const child = top.children[top.next];
    const kind = kindOf.call(child);
    if (kind === 3 || kind === 4) {
      run(top);
      continue;
    }
    top.next++;
    if (kind === 8) xml.push("<!---->");
    else if (kind === 1 && top.closed && nameOf.call(child) !== "summary") open(child, { ...top, hidden: true });
    else if (kind === 1) open(child, top);
  }

  const columns = (of) => Object.keys(of).map((name) => '"' + name + '":[' + of[name].join() + "]").join();
  const header =
    '{"element":{' + columns(element) + '},"text":{' + columns(text) + '},"styles":[' +
    [...styles.keys()].map((key) => '"' + key + '"').join() + '],"frames":[' + framed.join() + '],"width":' + window.innerWidth +
    ',"height":' + Math.max(window.innerHeight, root ? root.scrollHeight : 0) + "}";
  return { walked: header + "\n" + xml.join(""), frames };
}
