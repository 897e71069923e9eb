"use strict";
// Draws the page of a fleet from the data that `firstlight fleet report` put in. It computes no
// statistics: percentiles, chances and verdicts come with the data. Texts are added as text.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const page = document.getElementById("page");
  const colors = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];
  const color = (place) => `var(--${colors[place % colors.length]})`;

  const el = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === undefined || value === null || value === false) continue;
      if (name === "onclick" || name === "onchange") element[name] = value;
      else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  };
  const draw = (tag, attributes, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) {
      // The policy of the page allows style only through its object.
      if (name === "style") Object.assign(element.style, value);
      else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  };
  const duration = (ns) => {
    if (ns === null || ns === undefined) return "-";
    const size = Math.abs(ns);
    if (size >= 1e9) return `${(ns / 1e9).toFixed(3)} s`;
    if (size >= 1e6) return `${(ns / 1e6).toFixed(1)} ms`;
    if (size >= 1e3) return `${(ns / 1e3).toFixed(0)} us`;
    return `${ns.toFixed(0)} ns`;
  };
  const signed = (ns) => (ns > 0 ? "+" : "") + duration(ns);
  const count = (n) => n.toLocaleString("en-US");
  const share = (x) => `${(100 * x).toFixed(x > 0 && x < 0.1 ? 1 : 0)} %`;
  const chance = (p) => (p === null || p === undefined ? "-" : p < 1e-9 ? "<1e-9" : p < 0.001 ? p.toExponential(1) : p.toFixed(3));
  const unique = (list) => [...new Set(list)];

  /** A table; each column is [head, whether numbers, cell of a row]. */
  const table = (columns, rows, of_row = () => ({})) =>
    el("div", { class: "scroll" },
      el("table", {},
        el("thead", {}, el("tr", {}, ...columns.map(([head, num]) => el("th", { class: num ? "num" : null, scope: "col" }, head)))),
        el("tbody", {}, ...rows.map((row) => el("tr", of_row(row), ...columns.map(([, num, cell]) => {
          const shown = cell(row);
          return el("td", { class: num ? "num" : "name" }, shown ?? "-");
        }))))));
  const pill = (verdict) => el("span", { class: `pill ${verdict}` }, verdict);
  const section = (id, title, about, ...children) =>
    el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), about ? el("p", { class: "about" }, about) : null, ...children);

  /** Round figures from 0 or from `low` to `high`. */
  const ticks = (low, high, most = 5) => {
    const raw = (high - low) / most || 1;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw);
    const found = [];
    for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(at);
    return found;
  };
  const short = (ns) => (ns >= 1e9 ? `${+(ns / 1e9).toFixed(2)} s` : ns >= 1e6 ? `${+(ns / 1e6).toFixed(1)} ms` : `${+(ns / 1e3).toFixed(1)} us`);

  const left = 56;
  const narrow = () => window.innerWidth < 860;
  // The units of a picture are about its pixels, so that its text is as large as other text.
  const whole = () => (narrow() ? 360 : Math.min(window.innerWidth - 80, 1160));
  const half = () => (narrow() ? 360 : Math.min(window.innerWidth / 2 - 60, 550));
  const canvas = (width, height, title) => draw("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title }, draw("title", {}, title));
  const axis = (svg, width, top, bottom, low, high) => {
    const y = (ns) => bottom - ((ns - low) / (high - low || 1)) * (bottom - top);
    for (const at of ticks(low, high, 4)) {
      svg.append(draw("line", { class: "grid", x1: left, x2: width, y1: y(at), y2: y(at) }));
      svg.append(draw("text", { x: left - 8, y: y(at) + 4, "text-anchor": "end" }, short(at)));
    }
    return y;
  };

  /** Percentiles by release: a line from p50 to p99, with p95 between. */
  const percentiles = (rows, title, chosen) => {
    const [width, height] = [whole(), 230];
    const svg = canvas(width, height, title);
    const high = Math.max(...rows.map((r) => r.p99_ns)) * 1.04;
    const low = Math.min(...rows.map((r) => r.p50_ns)) * 0.9;
    const y = axis(svg, width, 10, height - 34, low, high);
    const step = (width - left) / rows.length;
    let before = null;
    rows.forEach((row, place) => {
      const x = left + step * (place + 0.5);
      const group = draw("g", {}, draw("title", {}, `${row.release}: p50 ${duration(row.p50_ns)}, p95 ${duration(row.p95_ns)}, p99 ${duration(row.p99_ns)}, ${count(row.boots)} boots`));
      const kind = row.verdict === "slower" || row.verdict === "faster" ? row.verdict : "";
      const paint = kind ? {} : { stroke: color(0), fill: color(0) };
      if (before) group.append(draw("line", { x1: before[0], y1: before[1], x2: x, y2: y(row.p50_ns), "stroke-width": 1.5, "stroke-dasharray": "3 4", style: { stroke: "var(--quiet)" } }));
      group.append(draw("line", { class: kind, x1: x, x2: x, y1: y(row.p50_ns), y2: y(row.p99_ns), "stroke-width": 2, opacity: 0.5, style: paint }));
      group.append(draw("line", { class: kind, x1: x - 7, x2: x + 7, y1: y(row.p99_ns), y2: y(row.p99_ns), "stroke-width": 2, style: paint }));
      group.append(draw("circle", { class: kind, cx: x, cy: y(row.p95_ns), r: 3.5, opacity: 0.75, style: paint }));
      group.append(draw("rect", { class: kind, x: x - 8, y: y(row.p50_ns) - 4, width: 16, height: 8, rx: 2, style: paint }));
      if (step > 46 || place % Math.ceil(46 / step) === 0) {
        group.append(draw("text", { x, y: height - 14, "text-anchor": "middle", "font-weight": chosen === row.release ? 700 : 400 }, row.release.length > step / 7 ? `${row.release.slice(0, Math.max(3, step / 7 - 1))}…` : row.release));
      }
      svg.append(group);
      before = [x, y(row.p50_ns)];
    });
    return svg;
  };
  const legend_of_percentiles = () => el("p", { class: "legend" }, "Bar: median. Dot: 95th percentile. End of the line: 99th percentile. The scale does not begin at zero.");
  const legend = (names) => el("div", { class: "legend" }, ...names.map((name, place) => {
    const swatch = el("span", { class: "swatch" });
    swatch.style.background = color(place);
    return el("span", {}, swatch, name);
  }));

  /** The median day by day, a line for each release. */
  const days = (rows, names) => {
    const [width, height] = [half(), 230];
    const svg = canvas(width, height, "Median and 95th percentile of first light by day and release");
    const all = unique(rows.map((r) => r.day)).sort();
    const first = Date.parse(all[0]);
    const span = Math.max(Date.parse(all[all.length - 1]) - first, 86400000);
    const x = (day) => left + 12 + ((Date.parse(day) - first) / span) * (width - left - 24);
    const y = axis(svg, width, 10, height - 34, Math.min(...rows.map((r) => r.p50_ns)) * 0.9, Math.max(...rows.map((r) => r.p95_ns)) * 1.04);
    const shown = Math.max(1, Math.ceil(all.length / Math.max(2, Math.floor(width / 130))));
    all.forEach((day, place) => {
      // The first one is moved to the right, and needs room.
      if (place === 0 || (place % shown === 0 && place > 1 && x(day) - x(all[0]) > 110)) svg.append(draw("text", { x: x(day), y: height - 14, "text-anchor": place === 0 ? "start" : place === all.length - 1 ? "end" : "middle" }, day));
    });
    names.forEach((name, place) => {
      const mine = rows.filter((r) => r.release === name).sort((a, b) => a.day.localeCompare(b.day));
      const paint = { stroke: color(place), fill: "none" };
      const path = (field) => mine.map((r, i) => `${i ? "L" : "M"}${x(r.day).toFixed(1)},${y(r[field]).toFixed(1)}`).join("");
      svg.append(draw("path", { d: path("p95_ns"), "stroke-width": 1.2, "stroke-dasharray": "2 3", opacity: 0.7, style: paint }));
      svg.append(draw("path", { d: path("p50_ns"), "stroke-width": 2, style: paint }));
      for (const r of mine) {
        svg.append(draw("circle", { cx: x(r.day), cy: y(r.p50_ns), r: mine.length > 60 ? 1.5 : 3, style: { fill: color(place) } },
          draw("title", {}, `${r.day}, ${name}: p50 ${duration(r.p50_ns)}, p95 ${duration(r.p95_ns)}, ${count(r.boots)} boots`)));
      }
    });
    return svg;
  };

  /** Shares of boots by time, each release a step line over the same buckets. */
  const distribution = (rows, names) => {
    const [width, height] = [half(), 230];
    const svg = canvas(width, height, `Distribution of first light: ${names.join(" and ")}`);
    const start = (bucket) => 1.02 ** bucket;
    const totals = new Map(names.map((n) => [n, rows.filter((r) => r.release === n).reduce((sum, r) => sum + r.n, 0)]));
    const buckets = rows.map((r) => r.bucket);
    let low = Math.min(...buckets);
    // The few slowest boots, which would squeeze all others, are in the last interval.
    let high = low;
    for (const name of names) {
      let before = 0;
      for (const r of rows.filter((r) => r.release === name)) {
        if (before < 0.995 * totals.get(name)) high = Math.max(high, r.bucket);
        before += r.n;
      }
    }
    const cut = Math.max(...buckets) > high;
    const grid = Math.max(1, Math.ceil((high - low) / 90));
    low = Math.floor(low / grid);
    high = Math.floor(high / grid);
    const of_name = new Map(names.map((name) => {
      const bins = new Array(high - low + 1).fill(0);
      for (const r of rows) if (r.release === name) bins[Math.min(Math.floor(r.bucket / grid), high) - low] += r.n / totals.get(name);
      return [name, bins];
    }));
    const top = Math.max(...[...of_name.values()].flat()) * 1.05;
    const x = (bin) => left + ((bin - low) / (high - low + 1)) * (width - left);
    const y = (part) => height - 34 - (part / top) * (height - 44);
    for (const at of ticks(0, top, 4)) {
      svg.append(draw("line", { class: "grid", x1: left, x2: width, y1: y(at), y2: y(at) }));
      svg.append(draw("text", { x: left - 8, y: y(at) + 4, "text-anchor": "end" }, `${+(100 * at).toFixed(1)} %`));
    }
    const every = Math.ceil((high - low + 1) / Math.max(2, Math.floor(width / 120)));
    for (let bin = low; bin <= high; bin += every) svg.append(draw("text", { x: x(bin), y: height - 14, "text-anchor": bin === low ? "start" : "middle" }, short(start(bin * grid))));
    names.forEach((name, place) => {
      const bins = of_name.get(name);
      const line = bins.map((part, i) => `${i ? "L" : "M"}${x(low + i).toFixed(1)},${y(part).toFixed(1)}H${x(low + i + 1).toFixed(1)}`).join("");
      svg.append(draw("path", { d: `${line}V${y(0)}H${x(low)}Z`, opacity: 0.14, style: { fill: color(place) } }));
      svg.append(draw("path", { d: line, "stroke-width": 1.8, style: { stroke: color(place), fill: "none" } }));
    });
    if (cut) svg.append(draw("text", { x: width, y: height, "text-anchor": "end" }, "the last interval has all longer boots"));
    return svg;
  };

  const key = (row) => JSON.stringify([row.product, row.clock, row.zero]);
  const groups = unique(data.releases.filter((r) => r.metric === "first_light").map(key)).map((text) => {
    const [product, clock, zero] = JSON.parse(text);
    const boots = data.releases.filter((r) => r.metric === "first_light" && key(r) === text).reduce((sum, r) => sum + r.boots, 0);
    return { text, product, clock, zero, boots };
  }).sort((a, b) => b.boots - a.boots);
  const boot_of = new Map(data.boots.map((boot) => [boot.boot_id, boot]));
  const state = { group: groups[0], metric: "first_light", pair: null, item: null, boot: /^#boot=([0-9a-f]+)$/.exec(location.hash)?.[1] ?? null };

  const boot_link = (id) => (boot_of.has(id) ? el("button", { class: "link", type: "button", onclick: () => { state.boot = id; history.replaceState(null, "", `#boot=${id}`); show(); document.getElementById("boot").scrollIntoView({ block: "start" }); } }, el("code", {}, id.slice(0, 12))) : el("code", {}, id.slice(0, 12)));

  const head = (rows) => {
    const last = rows[rows.length - 1];
    const worst = rows.filter((r) => r.verdict === "slower").sort((a, b) => b.delta_ns - a.delta_ns)[0];
    return el("div", { class: "figures" },
      el("div", {}, el("span", { class: "big" }, duration(last.p50_ns)), el("p", {}, `median first light of release ${last.release}, ${count(last.boots)} boots; p95 ${duration(last.p95_ns)}, p99 ${duration(last.p99_ns)}`)),
      last.previous ? el("div", {}, el("span", { class: `big ${last.verdict === "slower" ? "bad" : last.verdict === "faster" ? "good" : ""}` }, last.delta_ns === null ? "-" : signed(last.delta_ns)),
        el("p", {}, `change against ${last.previous} within boards: ${last.verdict}`)) : null,
      worst && worst !== last ? el("div", {}, el("span", { class: "big bad" }, signed(worst.delta_ns)), el("p", {}, `largest regression: release ${worst.release} against ${worst.previous}`)) : null);
  };

  const of_releases = (all) => {
    const metrics = unique(all.map((r) => r.metric));
    if (!metrics.includes(state.metric)) state.metric = "first_light";
    const rows = all.filter((r) => r.metric === state.metric);
    const select = el("select", { "aria-label": "Time", onchange: (event) => { state.metric = event.target.value; show(); } },
      ...metrics.map((m) => el("option", { value: m, selected: m === state.metric }, m === "first_light" ? "first light" : m)));
    const named = rows.filter((r) => (r.items || []).length);
    return section("releases", "Releases", "Each release against the one before it, compared within boards and kinds of boot. The chance is the probability of so large a difference if nothing changed.",
      el("div", { class: "tools" }, el("label", {}, "Time ", select)),
      percentiles(rows, `Percentiles of ${state.metric} by release`), legend_of_percentiles(),
      table([
        ["Release", false, (r) => r.release], ["Boots", true, (r) => count(r.boots)], ["p50", true, (r) => duration(r.p50_ns)], ["p95", true, (r) => duration(r.p95_ns)],
        ["p99", true, (r) => duration(r.p99_ns)], ["Change", true, (r) => (r.delta_ns === null ? "-" : signed(r.delta_ns))], ["Chance", true, (r) => chance(r.chance)], ["Verdict", false, (r) => pill(r.verdict)],
      ], [...rows].reverse()),
      ...named.map((r) => el("p", {}, `${r.release} is slower than ${r.previous}: `, r.items.map((i) => `${i.kind} ${i.name} ${signed(i.delta_ns)}`).join(", "))));
  };

  const of_days = (group, names) => {
    const rows = data.days.filter((r) => key(r) === group.text);
    if (!rows.length) return null;
    return section("days", "Over time", "The median of each day (solid) and its 95th percentile (dotted).", days(rows, names), legend(names));
  };

  const of_histograms = (group, names) => {
    const rows = data.histograms.filter((r) => key(r) === group.text);
    if (!rows.length) return null;
    const pair = state.pair || names.slice(-2);
    const choose = (place) => el("select", { "aria-label": place ? "New release" : "Base release", onchange: (event) => { const next = [...pair]; next[place] = event.target.value; state.pair = next; show(); } },
      ...names.map((n) => el("option", { value: n, selected: n === pair[place] }, n)));
    const shown = unique(pair);
    return section("distribution", "Distribution of first light", "The share of boots by time. Intervals grow by a constant factor.",
      el("div", { class: "tools" }, choose(0), names.length > 1 ? choose(1) : null),
      distribution(rows.filter((r) => shown.includes(r.release)), shown), legend(shown));
  };

  const of_boards = (group, names) => {
    const rows = data.boards.filter((r) => key(r) === group.text);
    const boards = unique(rows.map((r) => r.board));
    return section("boards", "Boards", "The median of first light; a color marks a release that is slower or faster on that board.",
      el("div", { class: "scroll" }, el("table", { class: "cells" },
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Board"), ...names.map((n) => el("th", { class: "num", scope: "col" }, n)))),
        el("tbody", {}, ...boards.map((board) => el("tr", {}, el("td", {}, board), ...names.map((name) => {
          const cell = rows.find((r) => r.board === board && r.release === name);
          if (!cell) return el("td", { class: "num quiet" }, "-");
          return el("td", { class: `num ${cell.verdict}`, title: `${count(cell.boots)} boots, p95 ${duration(cell.p95_ns)}, p99 ${duration(cell.p99_ns)}, ${cell.verdict}` }, duration(cell.p50_ns));
        })))))));
  };

  const of_items = (group) => {
    const rows = data.moved.filter((r) => r.product === group.product && r.clock === group.clock);
    const name = (r) => `${r.kind} ${r.name}`;
    const open = rows.find((r) => r === state.item) || null;
    const parts = [];
    if (!rows.length) parts.push(el("p", { class: "quiet" }, "No item made a release slower or faster."));
    else {
      parts.push(table([
        ["Release", false, (r) => `${r.base} → ${r.release}`], ["Board", false, (r) => r.board],
        ["Item", false, (r) => el("button", { class: "link", type: "button", "aria-expanded": String(r === open), onclick: () => { state.item = r === open ? null : r; show(); } }, name(r))],
        ["Base median", true, (r) => duration(r.base_median_ns)], ["New median", true, (r) => duration(r.release_median_ns)],
        ["Boots with it", true, (r) => `${share(r.base_share)} → ${share(r.release_share)}`], ["Adds", true, (r) => signed(r.delta_ns)], ["Chance", true, (r) => chance(r.chance)], ["Verdict", false, (r) => pill(r.verdict)],
      ], rows, (r) => ({ class: r === open ? "chosen" : null })));
    }
    if (open) {
      const past = data.history.filter((h) => h.product === open.product && h.clock === open.clock && h.kind === open.kind && h.name === open.name);
      parts.push(el("div", { class: "detail" }, el("h3", {}, name(open)),
        past.length ? percentiles(past, `Percentiles of ${name(open)} by release`, open.release) : null,
        past.length ? legend_of_percentiles() : null,
        open.boots.length ? table([["Boots where it took longest", false, (b) => boot_link(b.boot_id)], ["Board", false, (b) => b.board], ["Took", true, (b) => duration(b.dur_ns)]], open.boots) : null));
    }
    return section("items", "Items that moved", "What the item adds to an average boot is the change of median times share of boots. Choose an item to see its history and its boots.", ...parts);
  };

  const of_outliers = (group) => {
    const rows = data.outliers.filter((r) => r.product === group.product);
    return section("outliers", "Outliers", "Boots beyond the third quartile plus three times the range between the quartiles of their peers.",
      rows.length ? table([
        ["Boot", false, (r) => boot_link(r.boot_id)], ["Release", false, (r) => r.release], ["Board", false, (r) => r.board], ["Day", false, (r) => r.day],
        ["First light", true, (r) => duration(r.first_light_ns)], ["Peers", true, (r) => duration(r.peers_median_ns)], ["Excess", true, (r) => signed(r.excess_ns)],
        ["What is odd", false, (r) => r.odd.map((o) => `${o.kind} ${o.name} ${signed(o.excess_ns)}`).join(", ") || "no item explains it"],
      ], rows) : el("p", { class: "quiet" }, "No boot is far slower than its peers."));
  };

  const of_boot = () => {
    const boot = boot_of.get(state.boot);
    if (!boot) return null;
    const phases = ["firmware", "loader", "decompression", "kernel", "initrd", "userspace", "app"].filter((p) => boot[`${p}_ns`] !== null);
    const facts = [["Boot", el("code", {}, boot.boot_id)], ["Release", boot.release], ["Board", boot.board], ["Kind of boot", boot.boot_kind], ["Day", boot.day], ["Kernel", boot.kernel],
      ["First light", duration(boot.first_light_ns)], ["Phases", phases.map((p) => `${p} ${duration(boot[`${p}_ns`])}`).join(", ")], ["Doubts", boot.doubts], ["Logs", boot.source && el("code", {}, boot.source)]];
    return section("boot", `Boot ${boot.boot_id.slice(0, 12)}`, null,
      el("dl", {}, ...facts.filter(([, value]) => value).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
      boot.page ? el("p", {}, el("a", { href: boot.page }, "Page of this boot")) : boot.source ? el("p", { class: "quiet" }, "Page of this boot: ", el("code", {}, `firstlight report '${boot.source}' -o boot.html`)) : null,
      el("h3", {}, "Slower than in its peers"),
      boot.odd.length ? table([["Item", false, (o) => `${o.kind} ${o.name}`], ["Took", true, (o) => duration(o.dur_ns)], ["Usually", true, (o) => duration(o.usual_ns)], ["p99 of peers", true, (o) => duration(o.p99_ns)], ["Excess", true, (o) => signed(o.excess_ns)], ["Peers with it", true, (o) => share(o.peers_share)]], boot.odd)
        : el("p", { class: "quiet" }, "No item took longer than usual."),
      el("p", {}, el("button", { type: "button", onclick: () => { state.boot = null; history.replaceState(null, "", "#"); show(); } }, "Close")));
  };

  const of_quality = () => {
    const counts = data.counts;
    const others = data.kinds.filter((k) => k.status !== "ok" || !["cold", "warm", "unknown"].includes(k.boot_kind));
    return section("quality", "Data quality", null,
      el("dl", {}, el("dt", {}, "Boots in the answers"), el("dd", {}, count(counts.boots)), el("dt", {}, "In quarantine"), el("dd", {}, count(counts.quarantined)),
        el("dt", {}, "With lost or doubtful data"), el("dd", {}, count(counts.doubted)), el("dt", {}, "Factory, update and recovery boots"), el("dd", {}, `${count(counts.other_kinds)}, left out of the comparison of releases`)),
      others.length ? table([["Product", false, (k) => k.product], ["Kind of boot", false, (k) => k.boot_kind], ["Status", false, (k) => k.status], ["Boots", true, (k) => count(k.boots)]], others) : null,
      data.quarantine.length ? table([["Quarantine", false, (q) => q.reason], ["Status", false, (q) => q.status], ["Boots", true, (q) => count(q.boots)]], data.quarantine) : null);
  };

  const show = () => {
    const at = window.scrollY;
    const counts = `${count(data.counts.boots)} boots, ${count(data.counts.items)} items`;
    const header = el("header", {}, el("h1", {}, `Fleet ${data.store}`), el("span", { class: "counts" }, counts));
    const footer = el("footer", {}, `Made ${data.made} by firstlight fleet report. Percentiles from histograms are within 2 % of the exact ones.`
      + (data.left_out_releases ? ` ${data.left_out_releases} older releases are not shown.` : ""));
    if (!state.group) {
      page.replaceChildren(header, el("main", {}, section("none", "No boot has a time of first light", "Say what ends the boot with `firstlight fleet ingest --first-light TEXT`."), of_quality()), footer);
      return;
    }
    const group = state.group;
    const all = data.releases.filter((r) => key(r) === group.text);
    const first = all.filter((r) => r.metric === "first_light");
    const names = first.map((r) => r.release);
    if (groups.length > 1) {
      header.append(el("select", { "aria-label": "Product", onchange: (event) => { Object.assign(state, { group: groups[event.target.value], pair: null, item: null }); show(); } },
        ...groups.map((g, place) => el("option", { value: place, selected: g === group }, `${g.product}, ${g.clock} clock from ${g.zero}`))));
    }
    const parts = [head(first), of_releases(all), el("div", { class: "columns" }, ...[of_days(group, names), of_histograms(group, names)].filter(Boolean)),
      of_boards(group, names), of_items(group), of_outliers(group), of_boot(), of_quality()];
    page.replaceChildren(header, el("main", {}, ...parts.filter(Boolean)), footer);
    window.scrollTo(0, at);
  };
  show();
  let drawn = whole();
  window.addEventListener("resize", () => { if (whole() !== drawn) { drawn = whole(); show(); } });
})();
