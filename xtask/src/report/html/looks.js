// What a person would miss on the page as it is shown: a list of sentences, which is empty on a good page.
async () => {
  const wrong = [];
  const narrow = innerWidth <= 640;
  const settled = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const seen = (element) => element.getClientRects().length > 0;
  const all = (what, of = document) => [...of.querySelectorAll(what)].filter(seen);
  const say = (page, what) => { if (wrong.length < 40) wrong.push(`${page}: ${what}`); };

  const colours = (text) => text.match(/[\d.]+/g).map(Number);
  const over = ([r, g, b, a = 1], under) => [r, g, b].map((part, at) => part * a + under[at] * (1 - a));
  const behind = (element) => {
    if (!element) return [255, 255, 255];
    const own = colours(getComputedStyle(element).backgroundColor);
    return own[3] === undefined ? own : over(own, behind(element.parentElement));
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  // Once for each way to look: thousands of cells are alike.
  const looked = new Set();
  const readable = (page) => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const kinds = new Set();
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!walker.currentNode.data.trim() || ["SCRIPT", "STYLE"].includes(element.tagName)) continue;
      const kind = [element, element.parentElement, element.parentElement?.parentElement].map((one) => one?.tagName + "." + one?.className).join(" ");
      if (kinds.has(kind) || !seen(element)) continue;
      kinds.add(kind);
      const style = getComputedStyle(element), size = parseFloat(style.fontSize);
      const back = behind(element), ratio = contrast(over(colours(style.color), back), back);
      const least = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
      if (ratio < least && !looked.has(kind)) say(page, `"${walker.currentNode.data.trim().slice(0, 20)}" (${kind}) has a contrast of ${ratio.toFixed(2)}`);
      looked.add(kind);
    }
  };

  const tables = (page) => {
    for (const box of all("div.scroll")) {
      const wide = box.scrollWidth > box.clientWidth + 1, own = box.querySelector("table");
      const shows = wide === box.classList.contains("over") && wide === (box.tabIndex === 0);
      if (!shows) say(page, `nothing shows whether a table scrolls: ${own.textContent.slice(0, 30)}`);
      if (wide && getComputedStyle(box, "::before").content === "none") say(page, "a table that scrolls does not say so");
      if (narrow && wide && !own.classList.contains("grid")) say(page, `a table is no list of cards: ${own.textContent.slice(0, 30)}`);
      if (narrow && !own.classList.contains("grid") && own.tHead) {
        const row = [...own.tBodies[0].rows].find(seen);
        [...(row?.cells ?? [])].forEach((cell, at) => {
          const head = own.tHead.rows[0].cells[at]?.textContent.trim();
          if (at > 0 && head && seen(cell) && getComputedStyle(cell, "::before").content === "none") say(page, `a figure has no head: ${head}`);
        });
      }
    }
    for (const why of all("td.why > *, td.long").filter((one) => one.tagName !== "TD" || !one.closest(".over"))) {
      const { left, right } = why.getBoundingClientRect();
      if (left < 0 || right > innerWidth + 1) { say(page, `a reason lies off the page: ${why.textContent.slice(0, 40)}`); break; }
    }
  };

  const charts = (page) => {
    for (const host of all(".plot")) {
      const canvas = host.querySelector("canvas");
      if (!canvas) { say(page, `a chart is not drawn: ${host.getAttribute("aria-label") ?? host.dataset.curve}`); continue; }
      const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      if (!pixels.some((part) => part > 0)) say(page, "a chart is blank");
      const plot = host.chart.plot, axis = plot.axes[0], pen = canvas.getContext("2d");
      let before = -Infinity;
      (axis._splits ?? []).forEach((value, at) => {
        const text = axis._values?.[at];
        if (text == null || text === "") return;
        const middle = plot.valToPos(value, "x"), half = pen.measureText(text).width / devicePixelRatio / 2;
        if (middle - half < before) say(page, `labels lie on each other at ${text}`);
        before = middle + half;
      });
    }
    for (const bar of all(".ledger")) {
      const looks = [...bar.children].map((part) => part.style.background);
      if (new Set(looks).size !== looks.length) { say(page, "two parts of a bar look alike"); break; }
    }
  };

  const look = async (name) => {
    await settled();
    const page = `${name} at ${innerWidth}`;
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) {
      const far = all("section.shown *, header *").find((one) => one.getBoundingClientRect().right > root.clientWidth + 1 && !one.closest(".scroll, .plot"));
      say(page, `the page scrolls sideways: ${root.scrollWidth} ${far?.tagName}.${far?.className}`);
    }
    tables(page);
    charts(page);
    readable(page);
  };

  for (const { hash } of document.querySelectorAll("nav a")) {
    location.hash = hash;
    await settled();
    [...document.querySelectorAll("section.shown details")].slice(0, 12).forEach((one) => { one.open = true; });
    await look(hash);
  }
  const first = document.querySelector("#all tbody a");
  if (first) {
    location.hash = first.hash;
    await look("a case");
  }
  return wrong;
}
