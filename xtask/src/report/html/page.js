// What the page does beyond its tables: pages one at a time, filters, sorting, keys, and charts drawn by uPlot.
// Text from records only ever becomes a text node.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  let lines = null; // a line of JSON for each case: cut when the first one is opened
  const detail = (at) => JSON.parse((lines ??= $("details").textContent.trim().split("\n"))[at]);
  const index = new Map(data.anchors.map((anchor, at) => [anchor, at]));

  const make = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) element.setAttribute(name, value);
    element.append(...children.filter((child) => child != null));
    return element;
  };

  // Okabe and Ito's colours: told apart by the colour-blind as well. Yellow is too pale on white and comes last.
  const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8c8c8c", "#7a5195", "#b8a900"];
  const DASHES = [[], [7, 4], [2, 3]];
  const colour = (at) => COLOURS[at % COLOURS.length];
  const faint = (hex) => hex + "2b";
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const digits = (value) => (value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2));
  const UNITS = [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]];
  const unitOf = (ns) => UNITS.findLast(([size]) => ns >= size * 0.9995) ?? UNITS[0];
  const time = (ns) => {
    const [size, unit] = unitOf(ns);
    return digits(ns / size) + " " + unit;
  };
  const quantile = (sorted, share) => {
    const at = share * (sorted.length - 1);
    const low = sorted[Math.floor(at)], high = sorted[Math.ceil(at)];
    return low + (high - low) * (at - Math.floor(at));
  };

  // Charts: every one is made anew when the theme changes, since a canvas has no style sheet.
  const charts = [];
  const draw = (host, height, build) => {
    const chart = (host.chart = { host, height, build, plot: null });
    charts.push(chart);
    render(chart);
    return host;
  };
  const render = (chart) => {
    chart.plot?.destroy();
    const width = Math.max(240, chart.host.clientWidth || 640);
    const { options, values } = chart.build();
    const axis = { stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), width: 1 } };
    options.axes = options.axes.map((own) => ({ ...axis, ...own, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", labelSize: 18 }));
    chart.plot = new uPlot({ width, height: chart.height, ...options }, values, chart.host);
    chart.host.setAttribute("role", "img");
  };
  const redraw = () => charts.filter((chart) => chart.host.isConnected).forEach(render);
  addEventListener("resize", () => { clearTimeout(redraw.later); redraw.later = setTimeout(redraw, 150); });

  // All of x between two bounds, until somebody zooms in.
  const whole = (x, low, high) => (_, from, to) => (from === x[0] && to === x[x.length - 1] ? [low, high] : [from, to]);

  // A line with the band of its interval: three series, of which the legend shows one.
  const banded = (lines, x) => {
    const series = [{}], values = [x], bands = [];
    lines.forEach(({ name, points, ideal }, at) => {
      const dash = DASHES[Math.floor(at / COLOURS.length) % DASHES.length];
      const first = series.length;
      const some = { spanGaps: true, points: { show: false }, stroke: "transparent", width: 0 };
      series.push({ label: name, stroke: colour(at), width: 2, dash, spanGaps: true, points: { show: true, size: 7, fill: colour(at) } });
      series.push({ ...some, label: name + " upper", class: "hid" }, { ...some, label: name + " lower", class: "hid" });
      values.push(points.map((point) => point?.[0] ?? null), points.map((point) => point?.[2] ?? null), points.map((point) => point?.[1] ?? null));
      bands.push({ series: [first + 1, first + 2], fill: faint(colour(at)) });
      if (ideal?.some((value) => value != null)) {
        series.push({ label: name + " ideal", stroke: colour(at), width: 1, dash: [4, 5], spanGaps: true, points: { show: false } });
        values.push(ideal);
      }
    });
    return { series, values, bands };
  };
  // What belongs to a line goes with it when its name is clicked.
  const together = {
    setSeries: [(plot, at, { show } = {}) => {
      if (at == null || show == null) return;
      for (let next = at + 1; next < plot.series.length && plot.series[next].class === "hid"; next++) {
        if (plot.series[next].show !== show) plot.setSeries(next, { show }, false);
      }
    }],
    ready: [(plot) => plot.root.querySelectorAll(".u-legend .u-series").forEach((row, at) => {
      if (plot.series[at]?.class === "hid") row.hidden = true;
    })],
  };

  // Of many values those that have room for their label: no two lie on each other.
  const roomy = (x, texts, width, wide) => {
    const place = (value) => (wide ? Math.log2(value) : value);
    const from = place(x[0]), span = place(x[x.length - 1]) - from || 1;
    const at = (value) => ((place(value) - from) / span) * width;
    const kept = [];
    let right = -Infinity;
    x.forEach((value, index) => {
      const half = texts[index].length * 3.6 + 5;
      if (at(value) - half > right) { kept.push(value); right = at(value) + half; }
    });
    return kept;
  };

  const curve = (host) => {
    const { axis, metric, unit, x, lines } = data.curves[host.dataset.curve];
    host.setAttribute("aria-label", `${metric} by ${axis}: the table below has the numbers`);
    const wide = x[0] > 0 && x[x.length - 1] / x[0] >= 16;
    draw(host, 300, () => {
      const { series, values, bands } = banded(lines, x);
      series[0] = { label: axis };
      const label = (value) => value?.toLocaleString("en") ?? "";
      const splits = () => roomy(x, x.map(label), (host.clientWidth || 640) - 90, wide);
      return {
        options: {
          series, bands, hooks: together,
          scales: { x: { time: false, distr: wide ? 3 : 1, log: 2 }, y: { range: (_, low, high) => [0, high * 1.08] } },
          axes: [{ label: axis, splits, filter: (_, all) => all, values: (_, all) => all.map(label) }, { label: `${metric} in ${unit}`, size: 64 }],
        },
        values,
      };
    });
  };

  // The pages of a case.
  const inOrder = (host, seen, median) => {
    const kept = seen.repeats.filter((repeat) => repeat.t.length);
    const total = kept.reduce((sum, repeat) => sum + repeat.t.length, 0);
    const [size, unit] = unitOf(quantile(kept.flatMap((repeat) => repeat.t).sort((a, b) => a - b), 0.5));
    draw(host, 260, () => {
      const x = [], series = [{ label: "sample" }], values = [x];
      for (let at = 0; at < total; at++) x.push(at);
      let from = 0;
      kept.forEach((repeat, at) => {
        const own = new Array(total).fill(null);
        repeat.t.forEach((value, place) => { own[from + place] = value / size; });
        from += repeat.t.length;
        const best = repeat.n === median;
        const tint = best ? css("--accent") : at % 2 ? css("--soft") : css("--ink");
        series.push({ label: `repeat ${repeat.n}${best ? " (median)" : ""}`, stroke: tint, paths: () => null, points: { show: true, size: 4, fill: tint, width: 0 } });
        values.push(own);
      });
      const all = kept.flatMap((repeat) => repeat.t).sort((a, b) => a - b);
      const most = quantile(all, 0.98) / size;
      return {
        options: {
          series, scales: { x: { time: false }, y: { range: [0, Math.max(most * 1.25, Number.MIN_VALUE)] } },
          axes: [{ label: "samples in order, repeat after repeat" }, { label: "time in " + unit, size: 60 }],
        },
        values,
      };
    });
  };

  const bins = (samples, low, high, count) => {
    const heights = new Array(count).fill(0);
    for (const value of samples) {
      if (value <= high) heights[Math.min(count - 1, Math.max(0, Math.floor(((value - low) / (high - low)) * count)))]++;
    }
    return heights.map((height) => height / samples.length);
  };
  const samples = (seen) => (seen?.repeats ?? []).flatMap((repeat) => repeat.t);

  const distribution = (host, seen, other, name) => {
    const own = samples(seen), theirs = samples(other);
    const sorted = own.concat(theirs).sort((a, b) => a - b);
    const low = sorted[0];
    const high = Math.max(quantile(sorted, 0.98), low * 1.0001 + 1e-9);
    const [size, unit] = unitOf((low + high) / 2);
    const count = Math.max(8, Math.min(60, Math.round(Math.sqrt(own.length) * 1.6)));
    draw(host, 260, () => {
      const x = Array.from({ length: count }, (_, at) => (low + ((at + 0.5) / count) * (high - low)) / size);
      const bars = uPlot.paths.bars({ size: [0.96, 60] }), steps = uPlot.paths.stepped({ align: 0 });
      const series = [{ label: "time" }, { label: "this run", stroke: css("--accent"), fill: faint(css("--accent")), width: 1, paths: bars, points: { show: false } }];
      const values = [x, bins(own, low, high, count).map((share) => share * 100)];
      if (theirs.length) {
        series.push({ label: name, stroke: COLOURS[1], width: 2, paths: steps, points: { show: false } });
        values.push(bins(theirs, low, high, count).map((share) => share * 100));
      }
      // The raw samples, a tick each, so that a bin hides nothing.
      const rug = (plot) => {
        const { ctx, bbox } = plot;
        ctx.save();
        ctx.globalAlpha = 0.35;
        ctx.strokeStyle = css("--ink");
        ctx.lineWidth = devicePixelRatio;
        ctx.beginPath();
        for (const value of own) {
          if (value > high) continue;
          const at = plot.valToPos(value / size, "x", true);
          if (at < bbox.left || at > bbox.left + bbox.width) continue;
          ctx.moveTo(at, bbox.top + bbox.height);
          ctx.lineTo(at, bbox.top + bbox.height - 7 * devicePixelRatio);
        }
        ctx.stroke();
        ctx.restore();
      };
      return {
        options: {
          series, hooks: { draw: [rug] },
          scales: { x: { time: false, range: whole(x, low / size, high / size) }, y: { range: (_, from, to) => [0, to * 1.1] } },
          axes: [{ label: "time in " + unit }, { label: "share of samples, %", size: 56 }],
        },
        values,
      };
    });
    return sorted.filter((value) => value > high).length / sorted.length;
  };

  const cumulated = (host, seen, other, name) => {
    const all = seen.shares.concat(other?.shares ?? []).map(([, value]) => value).sort((a, b) => a - b);
    const [size, unit] = unitOf(quantile(all, 0.5));
    const wide = all[all.length - 1] / Math.max(all[0], 1e-9) > 8;
    draw(host, 260, () => {
      const x = [...new Set(all)].map((value) => value / size);
      const column = (shares) => {
        const own = new Map(shares.map(([share, value]) => [value / size, share * 100]));
        return x.map((value) => own.get(value) ?? null);
      };
      const series = [{ label: "time" }, { label: "this run", stroke: css("--accent"), width: 2, spanGaps: true, points: { show: false } }];
      const values = [x, column(seen.shares)];
      if (other?.shares.length) {
        series.push({ label: name, stroke: COLOURS[1], width: 2, dash: [6, 4], spanGaps: true, points: { show: false } });
        values.push(column(other.shares));
      }
      return {
        options: { series, scales: { x: { time: false, distr: wide ? 3 : 1 }, y: { range: [0, 100] } }, axes: [{ label: "time in " + unit }, { label: "share within, %", size: 56 }] },
        values,
      };
    });
  };

  const use = (host, { at, lines, measured }, unit) => draw(host, 180, () => {
    const own = lines.filter(([, of]) => of === unit);
    const series = own.map(([name], line) => ({ label: name, stroke: line ? COLOURS[line] : css("--accent"), width: 1.5, points: { show: at.length < 3 } }));
    const outside = (plot) => {
      if (!measured) return;
      const { ctx, bbox } = plot;
      ctx.save();
      ctx.fillStyle = css("--line");
      ctx.globalAlpha = 0.5;
      const place = (x) => Math.min(Math.max(plot.valToPos(x, "x", true), bbox.left), bbox.left + bbox.width);
      const [begin, end] = measured.map(place);
      ctx.fillRect(bbox.left, bbox.top, begin - bbox.left, bbox.height);
      ctx.fillRect(end, bbox.top, bbox.left + bbox.width - end, bbox.height);
      ctx.restore();
    };
    const top = unit === "%" ? 100 : null;
    return {
      options: {
        series: [{ label: "seconds" }, ...series], hooks: { drawClear: [outside] },
        scales: { x: { time: false, range: whole(at, 0, at[at.length - 1]) }, y: { range: (_, from, to) => [0, top ?? (to * 1.1 || 1)] } },
        axes: [{ label: "seconds since the repeat began" }, { label: unit, size: 64 }],
      },
      values: [at, ...own.map(([, , values]) => values)],
    };
  });

  const past = (host, { points, unit, metric, changes }) => draw(host, 260, () => {
    const x = points.map((_, at) => at);
    const { series, values, bands } = banded([{ name: metric, points: points.map(([, , median, low, high]) => [median, low, high]) }], x);
    series[0] = { label: "commit", value: (_, at) => (at == null ? "" : points[at]?.[0] + ", run " + points[at]?.[1]) };
    const breaks = (plot) => {
      const { ctx, bbox } = plot;
      ctx.save();
      ctx.strokeStyle = css("--bad");
      ctx.setLineDash([5, 4]);
      for (const [at] of changes) {
        const place = plot.valToPos(at - 0.5, "x", true);
        ctx.beginPath();
        ctx.moveTo(place, bbox.top);
        ctx.lineTo(place, bbox.top + bbox.height);
        ctx.stroke();
      }
      ctx.restore();
    };
    return {
      options: {
        series, bands, hooks: { ...together, draw: [breaks] },
        scales: { x: { time: false, range: whole(x, -0.4, points.length - 0.6) }, y: { range: (_, low, high) => [0, high * 1.1] } },
        axes: [{ splits: () => x.filter((at) => at % Math.ceil((points.length * 80) / (host.clientWidth || 640)) === 0), filter: (_, all) => all, values: (_, all) => all.map((at) => (points[at]?.[0] ?? "").slice(0, 8)) }, { label: `${metric} in ${unit}`, size: 64 }],
      },
      values,
    };
  });

  const stripes = (angle) => (colour) => `repeating-linear-gradient(${angle}, ${colour} 0 4px, ${css("--card")} 4px 6px)`;
  const PATTERNS = [(colour) => colour, stripes("45deg"), stripes("90deg"), stripes("135deg"), stripes("0deg")];

  const ledger = (seen) => {
    const repeats = seen.repeats.filter((repeat) => repeat.ledger);
    const used = data.entries.map((name, at) => [name, at]).filter(([, at]) => repeats.some((repeat) => repeat.ledger[at] > 0));
    // Told apart by pattern as well as by colour: no two parts of the bar have both in common.
    const [bar0, ...others] = COLOURS;
    const tint = (at) => {
      if (data.entries[at] === "unexplained") return PATTERNS[3](css("--fail"));
      if (data.entries[at] === "measured") return PATTERNS[0](bar0);
      const place = used.filter(([name]) => name !== "measured" && name !== "unexplained").findIndex(([, other]) => other === at);
      return PATTERNS[(place + 1) % PATTERNS.length](others[place % others.length]);
    };
    const swatch = (at) => { const box = make("i", { class: "swatch" }); box.style.background = tint(at); return box; };
    const bar = (repeat) => {
      const whole = repeat.ledger.reduce((sum, value) => sum + value, 0);
      const row = make("div", { class: "ledger", "aria-hidden": "true" });
      for (const [name, at] of used) {
        const part = make("i", { title: `${name} ${time(repeat.ledger[at])}` });
        part.style.width = (100 * repeat.ledger[at]) / whole + "%";
        part.style.background = tint(at);
        row.append(part);
      }
      return row;
    };
    return make("div", {},
      table(["repeat", "", ...used.map(([name]) => name + ">"), "all>"],
        repeats.map((repeat) => [String(repeat.n), bar(repeat), ...used.map(([, at]) => time(repeat.ledger[at])), time(repeat.slot)]),
        used.length ? (head) => used.forEach(([, at], place) => head.children[place + 2].prepend(swatch(at))) : null));
  };

  const table = (titles, rows, decorate) => {
    const head = make("tr", {}, ...titles.map((title) => make("th", title.endsWith(">") ? { class: "n" } : {}, title.replace(/>$/, ""))));
    decorate?.(head);
    const body = rows.map((cells) => make("tr", {}, ...cells.map((cell, at) => make("td", titles[at].endsWith(">") ? { class: "n" } : {}, cell ?? ""))));
    return make("div", { class: "scroll fit" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
  };
  const card = (title, text, ...rest) => make("div", { class: "card" }, make("h3", {}, title), text ? make("p", {}, text) : null, ...rest);
  const plot = (label) => make("div", { class: "plot", "aria-label": label });

  const open = (anchor) => {
    const host = $("case");
    const at = index.get(anchor);
    const one = detail(at);
    const step = (by) => data.anchors[(at + by + data.anchors.length) % data.anchors.length];
    const facts = [["state", one.state + (one.why ? ": " + one.why : "")]];
    if (one.metric) facts.unshift([one.metric[0], `${one.metric[1]}  (95 %: ${one.metric[2]})`]);
    if (one.rank) facts.push(["place", `${one.rank[0]}, ${one.rank[1]}`]);
    if (one.stationarity) facts.push(["stationarity", one.stationarity]);
    if (one.version) facts.push(["version", one.version]);
    if (one.category) facts.push(["category", one.category]);
    host.replaceChildren(
      make("p", {}, make("a", { href: "#cases" }, "All cases"), " · ", make("a", { href: "#c-" + step(-1) }, "previous"), " · ", make("a", { href: "#c-" + step(1) }, "next")),
      make("h2", { tabindex: "-1" }, one.name), make("p", { class: "lead" }, one.description ?? ""),
      make("dl", { class: "pairs" }, ...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])));
    const grid = make("div", { class: "charts" });
    host.append(grid);
    const later = [];
    const seen = one.seen;
    if (seen?.count) {
      const kept = samples(seen).length;
      const thinned = (kept < seen.count ? `${kept} of ${seen.count} samples, evenly taken` : `all ${seen.count} samples`) + (data.few ? " of the median repeat alone" : "");
      const order = plot("samples in order"), spread = plot("distribution of samples"), share = plot("cumulated distribution");
      const beyond = make("span", {});
      grid.append(
        card("Samples in order", thinned + ". The median repeat is coloured.", order),
        card("Distribution", thinned + "; a tick for each. ", beyond, spread),
        card("Share within a time", "Over all samples, as far as their count bears it out.", share));
      later.push(() => inOrder(order, seen, one.median));
      later.push(() => {
        const left = distribution(spread, seen, one.other, data.other);
        beyond.textContent = left > 0 ? `${(left * 100).toFixed(1)} % lie beyond the right edge.` : "";
        beyond.className = "dim";
      });
      later.push(() => cumulated(share, seen, one.other, data.other));
    }
    if (one.used) {
      const looked = ` Looking took the harness ${one.used.cost} % of one processor.`;
      const without = one.used.no_watts ? ` No watts: ${one.used.no_watts}.` : "";
      const units = [...new Set(one.used.lines.map(([, unit]) => unit))];
      units.forEach((unit, at) => {
        const lines = plot("use of the machine in " + unit);
        const about = "The whole machine over the median repeat; grey is what was not measured.";
        grid.append(card("Use over time, " + unit, at ? "" : about + looked + without, lines));
        later.push(() => use(lines, one.used, unit));
      });
    }
    if (one.past) {
      const line = plot("history");
      grid.append(card("History", one.past.changes.map(([, words]) => words).join("; ") || "No change point.", line));
      later.push(() => past(line, one.past));
    }
    if (one.findings) {
      host.append(make("h3", {}, "Warnings"), table(["rule", "severity", "what was found", "what helps"], one.findings));
    }
    if (seen?.repeats.length) {
      host.append(make("h3", {}, "Repeats"), table(["repeat>", "median>", "samples>", "process>", "disturbed", ""], seen.repeats.map((repeat) => [
        String(repeat.n), repeat.median ? time(repeat.median) : "", String(repeat.count), time(repeat.slot),
        (repeat.disturbed ?? []).map(([cause, count]) => `${cause} ${count}`).join(", "),
        repeat.failure ?? (repeat.n === one.median ? "the median one" : "")])));
      if (seen.repeats.some((repeat) => repeat.ledger)) host.append(make("h3", {}, "Where the time of each repeat went"), ledger(seen));
    }
    if (one.metrics?.length) host.append(make("h3", {}, "Metrics"), table(["metric", "median>", "interval>"], one.metrics));
    if (one.work) host.append(make("h3", {}, "Work report"), make("dl", { class: "pairs" }, ...one.work.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])));
    return later;
  };

  // Pages, by what stands behind # in the address: `#cases`, `#c-<case>`, `#comparison-last`.
  const pages = [...document.querySelectorAll("section.page")];
  const links = [...document.querySelectorAll("nav a")];
  const show = () => {
    const name = decodeURIComponent(location.hash.slice(1)) || pages[0].id;
    const anchor = name.startsWith("c-") ? name.slice(2) : null;
    const target = document.getElementById(name);
    const page = anchor != null && index.has(anchor) ? $("case") : target?.closest("section.page") ?? pages[0];
    const later = page.id === "case" ? open(anchor) : [];
    for (const other of pages) other.classList.toggle("shown", other === page);
    for (const link of links) {
      const here = link.hash === "#" + (page.id === "case" ? "cases" : page.id);
      link.classList.toggle("here", here);
      here ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
    }
    later.forEach((act) => act());
    page.querySelectorAll(".plot[data-curve]").forEach(unfold);
    fit(page);
    if (page.id === "case") { top(); page.querySelector("h2").focus({ preventScroll: true }); }
    else if (target && target !== page) { layOut(target.closest("table.sortable")); target.scrollIntoView({ block: "center" }); }
    else top();
  };
  // After the browser went to where the address says.
  const top = () => { scrollTo(0, 0); requestAnimationFrame(() => scrollTo(0, 0)); };
  // What lies beyond the edge is said, and can be reached with the keys; on a narrow screen a row is a card in which
  // each figure has the head of its column before it.
  const fit = (page) => {
    page.querySelectorAll("div.scroll").forEach((box) => {
      const own = box.querySelector("table");
      if (own && !own.classList.contains("grid")) named(own);
      const over = box.scrollWidth > box.clientWidth + 1;
      box.classList.toggle("over", over);
      over ? box.setAttribute("tabindex", "0") : box.removeAttribute("tabindex");
      if (over) { box.setAttribute("role", "region"); box.setAttribute("aria-label", "A wide table: it scrolls sideways"); }
    });
  };
  addEventListener("resize", () => { clearTimeout(fit.later); fit.later = setTimeout(() => document.querySelectorAll("section.shown").forEach(fit), 150); });
  const heads = new CSSStyleSheet();
  document.adoptedStyleSheets = [heads];
  const quoted = (text) => `"${text.replace(/["\\\n]/g, (letter) => "\\" + letter.codePointAt(0).toString(16) + " ")}"`;
  const named = (own) => {
    if (own.classList.contains("cards") || !own.tHead) return;
    own.classList.add("cards");
    const key = (named.count = (named.count ?? 0) + 1);
    own.dataset.heads = key;
    [...own.tHead.rows[0].cells].forEach((head, at) => {
      const text = head.textContent.trim();
      if ((at > 0 || head.classList.contains("n")) && text) heads.insertRule(`@media (max-width: 640px) { table[data-heads="${key}"] td:nth-child(${at + 1})::before { content: ${quoted(text)}; } }`);
    });
  };
  const unfold = (host) => { if (!host.firstChild && host.clientWidth > 0) curve(host); };
  document.addEventListener("toggle", (event) => event.target.querySelectorAll?.(".plot[data-curve]").forEach(unfold), true);
  addEventListener("hashchange", show);

  // Of a long table the first rows are laid out; the rest when they are asked for, by a filter, a link or the button below.
  const FIRST_ROWS = 500; // as in the style sheet
  const isLong = (table) => table.tBodies[0].rows.length > FIRST_ROWS && !table.classList.contains("whole");
  const layOut = (table) => { if (table && isLong(table)) { table.classList.add("whole"); table.more.remove(); } };
  for (const table of document.querySelectorAll("table.sortable")) {
    if (!isLong(table)) continue;
    table.more = make("p", {}, make("button", { type: "button", class: "tool more" }, `Show all ${table.tBodies[0].rows.length} rows`));
    table.more.firstChild.addEventListener("click", () => layOut(table));
    table.parentElement.after(table.more);
  }

  // Filters: every word must be in the row, and its state must be one of those that are pressed.
  const words = new WeakMap();
  const textOf = (row) => { let text = words.get(row); if (text == null) words.set(row, (text = row.textContent.toLowerCase())); return text; };
  const filter = (id) => {
    const rows = [...$(id).tBodies[0].rows];
    const input = document.querySelector(`[data-filter="${id}"]`);
    const asked = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const states = [...input.parentElement.querySelectorAll("[data-state][aria-pressed=true]")].map((button) => button.dataset.state);
    let left = 0;
    for (const row of rows) {
      const text = textOf(row);
      const state = states.length ? row.querySelector(".chip[class*='s-']")?.textContent : null;
      row.hidden = !asked.every((word) => text.includes(word)) || (states.length > 0 && !states.includes(state));
      left += !row.hidden;
    }
    if (left < rows.length) layOut($(id));
    const count = document.querySelector(`[data-count="${id}"]`);
    if (count) count.textContent = left === rows.length ? `${left} rows` : `${left} of ${rows.length} rows`;
  };
  for (const input of document.querySelectorAll("[data-filter]")) {
    input.addEventListener("input", () => { clearTimeout(input.later); input.later = setTimeout(() => filter(input.dataset.filter), 80); });
    for (const button of input.parentElement.querySelectorAll("[data-state]")) {
      button.addEventListener("click", () => { button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true"); filter(input.dataset.filter); });
    }
  }

  // Sorting, by the number of a cell where it has one.
  for (const head of document.querySelectorAll("table.sortable thead th")) {
    const button = make("button", { type: "button" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = head.closest("table").tBodies[0];
      const value = (row) => {
        const cell = row.cells[head.cellIndex], number = cell.dataset.v ?? cell.textContent;
        return number === "" || Number.isNaN(Number(number)) ? cell.textContent : Number(number);
      };
      const keyed = [...body.rows].map((row) => [value(row), row]);
      const empty = (key) => key === "" || key === "–";
      keyed.sort(([a], [b]) => empty(a) - empty(b) || (up ? 1 : -1) * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true })));
      body.append(...keyed.map(([, row]) => row));
    });
  }

  // Keys.
  let row = null;
  const move = (by) => {
    const laidOut = (table) => (isLong(table) ? [...table.tBodies[0].rows].slice(0, FIRST_ROWS) : [...table.tBodies[0].rows]);
    const rows = [...document.querySelectorAll("section.shown table.sortable")].flatMap(laidOut).filter((one) => !one.hidden);
    if (!rows.length) return;
    const at = rows.indexOf(row);
    row?.classList.remove("at");
    row = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
    row.classList.add("at");
    row.scrollIntoView({ block: "nearest" });
    row.querySelector("a")?.focus({ preventScroll: true });
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches?.("input");
    if (event.key === "Escape") { typing ? event.target.blur() : location.hash.startsWith("#c-") && (location.hash = "#cases"); return; }
    if (typing) return;
    if (event.key === "/") { document.querySelector("section.shown [data-filter]")?.focus(); event.preventDefault(); }
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (links[event.key - 1]) location.hash = links[event.key - 1].hash;
  });

  const theme = $("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    redraw();
  });
  document.querySelector("footer .keys").hidden = false;
  show();
})();
