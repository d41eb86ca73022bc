"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const { names, places, edges, columns } = data;
  const canvas = $("canvas");
  const pen = canvas.getContext("2d");
  // the strength of an edge is its probability where the model has one, else its weight
  const strongest = data.probability || !edges.length ? 1 : edges[0][2];
  // probabilities by their cube, so that one half looks much weaker than one
  const shade = (strength) => (data.probability ? strength ** 3 : strength / strongest);
  const compare = new Intl.Collator(undefined, { numeric: true }).compare;
  // Names are always written by textContent or fillText: nothing in them is markup.
  const make = (tag, text, kind) => {
    const one = document.createElement(tag);
    if (text !== undefined) one.textContent = text;
    if (kind) one.className = kind;
    return one;
  };
  const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + "\u2026" : text);
  const digits = (value) => String(Number(value.toPrecision(4)));

  const neighbors = names.map(() => []);
  edges.forEach(([i, j, strength, sign]) => {
    neighbors[i].push([j, strength, sign]);
    neighbors[j].push([i, strength, sign]);
  });
  const signed = (strength, sign) =>
    strength.toFixed(data.probability ? 2 : 4) + (sign < 0 ? " opposite" : "");
  const interval = (edge) => `${edge[4].toFixed(4)} (${edge[5].toFixed(4)} to ${edge[6].toFixed(4)})`;
  const detail = (edge) => data.probability
    ? `probability ${signed(edge[2], edge[3])}, weight ${interval(edge)}`
    : `weight ${signed(edge[2], edge[3])}`;
  $("opposite").hidden = edges.every((edge) => edge[3] > 0);
  const degrees = neighbors.map((list) => list.reduce((sum, [, strength]) => sum + strength, 0));
  const byDegree = names.map((_, k) => k).sort((a, b) => degrees[b] - degrees[a]);

  let least = 0;
  let shown = edges.length;
  let column = columns[data.color];
  let colors = [];
  let hovered = -1;
  let chosen = -1;
  let matched = new Set();
  let order = { by: 2, up: false };
  let rows = 200;
  const view = { scale: 1, left: 0, top: 0, fit: 1, width: 0, height: 0 };

  // ---- where things are ------------------------------------------------------------------
  const bounds = [0, 1].map((axis) => {
    const values = places.map((place) => place[axis]);
    const low = values.reduce((a, b) => Math.min(a, b));
    const high = values.reduce((a, b) => Math.max(a, b));
    return [low, high];
  });
  const at = (place) => [
    view.left + view.scale * (place[0] - bounds[0][0]),
    view.top + view.scale * (bounds[1][1] - place[1]),
  ];

  function showAll() {
    const [[west, east], [south, north]] = bounds;
    const border = Math.min(56, 0.12 * Math.min(view.width, view.height) + 8);
    const across = east - west || 1e-9;
    const up = north - south || 1e-9;
    view.scale = Math.min((view.width - 2 * border) / across, (view.height - 2 * border) / up);
    view.fit = view.scale;
    view.left = (view.width - view.scale * (east - west)) / 2;
    view.top = (view.height - view.scale * (north - south)) / 2;
    canvas.classList.remove("near");
    draw();
  }

  function zoom(factor, x = view.width / 2, y = view.height / 2) {
    const scale = Math.min(60 * view.fit, Math.max(0.4 * view.fit, view.scale * factor));
    const real = scale / view.scale;
    view.left = x - real * (x - view.left);
    view.top = y - real * (y - view.top);
    view.scale = scale;
    canvas.classList.toggle("near", scale > 1.05 * view.fit);
    draw();
  }

  function move(x, y) {
    view.left += x;
    view.top += y;
    draw();
  }

  const size = () => {
    const room = Math.sqrt((view.width * view.height) / names.length);
    return Math.max(3.5, Math.min(9, 0.075 * room)) *
      Math.min(1.8, Math.max(1, Math.sqrt(view.scale / view.fit)));
  };

  // the strongest of the edges on show that pass a point
  function edgeAt(x, y) {
    return edges.slice(0, shown).findIndex(([i, j]) => {
      const [[a, b], [c, d]] = [at(places[i]), at(places[j])];
      const long = (c - a) ** 2 + (d - b) ** 2 || 1;
      const along = Math.min(1, Math.max(0, ((x - a) * (c - a) + (y - b) * (d - b)) / long));
      return Math.hypot(a + along * (c - a) - x, b + along * (d - b) - y) < 5;
    });
  }

  function nodeAt(x, y) {
    let best = -1;
    let nearest = Math.max(14, size() + 4) ** 2;
    places.forEach((place, k) => {
      const [a, b] = at(place);
      const distance = (a - x) ** 2 + (b - y) ** 2;
      if (distance < nearest) [best, nearest] = [k, distance];
    });
    return best;
  }

  // ---- drawing ---------------------------------------------------------------------------
  let waiting = false;
  function draw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      paint();
    });
  }

  function paint() {
    // colors are those of the style sheet, which differ by night
    const css = getComputedStyle(document.documentElement);
    const tone = (name) => css.getPropertyValue(name).trim();
    const ratio = window.devicePixelRatio || 1;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, view.width, view.height);
    if (data.map) drawFrame(tone("--line"), tone("--quiet"));
    const focus = hovered >= 0 ? hovered : chosen;
    const near = new Set(focus < 0 ? [] : neighbors[focus].filter((n) => n[1] >= least).map((n) => n[0]));
    const where = places.map(at);
    const line = (i, j, color, width, sign) => {
      pen.setLineDash(sign < 0 ? [6, 4] : []);
      pen.strokeStyle = color;
      pen.lineWidth = width;
      pen.beginPath();
      pen.moveTo(...where[i]);
      pen.lineTo(...where[j]);
      pen.stroke();
    };
    const [dark, against, accent, halo, card] =
      ["--edge", "--against", "--accent", "--halo", "--card"].map(tone);
    const faint = focus >= 0 ? 0.35 : 1;
    for (let k = shown - 1; k >= 0; k -= 1) {
      const [i, j, strength, sign] = edges[k];
      const share = shade(strength);
      const tint = sign < 0 ? against : dark;
      line(i, j, `rgba(${tint}, ${faint * (0.1 + 0.6 * share)})`, 0.5 + 4.5 * share, sign);
    }
    if (focus >= 0) {
      neighbors[focus].forEach(([j, strength, sign]) => {
        if (strength >= least) line(focus, j, accent, 1 + 4.5 * shade(strength), sign);
      });
    }
    pen.setLineDash([]);
    const radius = size();
    places.forEach((_, k) => {
      const dim = focus >= 0 && k !== focus && !near.has(k);
      pen.beginPath();
      pen.arc(...where[k], k === focus ? radius + 2 : radius, 0, 2 * Math.PI);
      pen.globalAlpha = 1;
      pen.fillStyle = card; // edges must not shine through a dim node
      pen.fill();
      pen.globalAlpha = dim ? 0.35 : 1;
      pen.fillStyle = colors[k];
      pen.fill();
      const ring = k === focus || k === chosen || matched.has(k);
      pen.lineWidth = ring ? 3 : 1.2;
      pen.strokeStyle = ring ? accent : halo;
      pen.stroke();
    });
    pen.globalAlpha = 1;
    drawLabels(where, radius, focus, near, tone("--ink"), card);
  }

  function drawFrame(color, text) {
    const [[west, east], [south, north]] = bounds;
    const [left, top] = at([west, north]);
    const [right, bottom] = at([east, south]);
    const gap = 22;
    pen.strokeStyle = color;
    pen.lineWidth = 1;
    pen.strokeRect(left - gap, top - gap, right - left + 2 * gap, bottom - top + 2 * gap);
    pen.fillStyle = text;
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.fillText(cut(data.map[0], 24) + " \u2192", right + gap, bottom + gap + 14);
    pen.textAlign = "left";
    pen.fillText("\u2191 " + cut(data.map[1], 24), left - gap, top - gap - 6);
  }

  // Labels of the focus and its neighbors, then of others by degree, where there is room.
  function drawLabels(where, radius, focus, near, ink, paper) {
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.lineJoin = "round";
    const taken = [];
    const first = [focus, chosen, ...matched, ...near].filter((k) => k >= 0);
    const rest = focus >= 0 ? [] : byDegree;
    new Set([...first, ...rest]).forEach((k) => {
      const [x, y] = where[k];
      if (x < 0 || y < 0 || x > view.width || y > view.height || taken.length > 300) return;
      const text = cut(names[k], 24);
      const half = pen.measureText(text).width / 2 + 2;
      const middle = Math.min(Math.max(x, half), Math.max(half, view.width - half));
      const base = y - radius - 5;
      const box = [middle - half, base - 12, middle + half, base + 3];
      const free = taken.every((o) => box[2] < o[0] || o[2] < box[0] || box[3] < o[1] || o[3] < box[1]);
      if (!free && k !== focus) return;
      taken.push(box);
      pen.strokeStyle = paper;
      pen.lineWidth = 3;
      pen.strokeText(text, middle, base);
      pen.fillStyle = ink;
      pen.fillText(text, middle, base);
    });
  }

  // ---- colors and legend -----------------------------------------------------------------
  const part = (hex, k) => parseInt(hex.slice(1 + 2 * k, 3 + 2 * k), 16);
  function ramp(share) {
    const steps = data.sequential;
    const place = Math.min(1, Math.max(0, share)) * (steps.length - 1);
    const k = Math.min(steps.length - 2, Math.floor(place));
    const mix = [0, 1, 2].map((c) =>
      Math.round(part(steps[k], c) + (place - k) * (part(steps[k + 1], c) - part(steps[k], c))));
    return `rgb(${mix.join(", ")})`;
  }

  function colorBy(position) {
    column = columns[position];
    const legend = $("legend");
    legend.replaceChildren(make("p", column.name, "title"));
    const entry = (label, color) => {
      const item = make("li");
      const swatch = make("span", undefined, "swatch");
      swatch.style.background = color;
      item.append(swatch, make("span", label));
      return item;
    };
    const list = make("ul");
    if (column.numeric) {
      const known = column.values.filter((value) => value !== null);
      const low = known.reduce((a, b) => Math.min(a, b), Infinity);
      const high = known.reduce((a, b) => Math.max(a, b), -Infinity);
      colors = column.values.map((value) =>
        value === null ? data.other : ramp(high > low ? (value - low) / (high - low) : 0.5));
      const bar = make("div", undefined, "ramp");
      bar.style.background = `linear-gradient(to right, ${data.sequential.join(", ")})`;
      const ends = make("div", undefined, "ends");
      ends.append(make("span", digits(low)), make("span", digits(high)));
      legend.append(bar, ends);
      if (known.length < names.length) list.append(entry("missing", data.other));
    } else {
      const places = new Map(column.categories.map((value, k) => [value, k]));
      colors = column.values.map((value) =>
        places.has(value) ? data.categorical[places.get(value)] : data.other);
      column.categories.forEach((value, k) => list.append(entry(value, data.categorical[k])));
      if (column.values.some((value) => !places.has(value))) list.append(entry("other", data.other));
    }
    if (list.children.length) legend.append(list);
    draw();
  }

  // ---- one node --------------------------------------------------------------------------
  function describe() {
    const k = hovered >= 0 ? hovered : chosen;
    const about = $("about");
    if (k < 0) {
      about.replaceChildren(make("p", "No node chosen.", "quiet"));
      return;
    }
    const list = make("dl");
    columns.forEach((one) => {
      const value = one.values[k];
      const text = value === null ? "missing" : one.numeric ? digits(value) : value;
      list.append(make("dt", one.name), make("dd", text));
    });
    const linked = neighbors[k].filter((n) => n[1] >= least);
    const items = make("ul");
    linked.slice(0, 100).forEach(([j, strength, sign]) => {
      const button = make("button");
      button.type = "button";
      button.append(make("span", cut(names[j], 60)), make("span", signed(strength, sign), "weight"));
      button.addEventListener("click", () => choose(j, true));
      const item = make("li");
      item.append(button);
      items.append(item);
    });
    const heading = linked.length === 1 ? "1 neighbor" : `${linked.length} neighbors`;
    about.replaceChildren(make("h3", names[k]), list, make("h4", heading), items);
  }

  function choose(k, center) {
    chosen = k;
    hovered = -1;
    if (k >= 0 && center) {
      const [x, y] = at(places[k]);
      const inside = x > 30 && y > 30 && x < view.width - 30 && y < view.height - 30;
      if (!inside) {
        view.left += view.width / 2 - x;
        view.top += view.height / 2 - y;
      }
    }
    describe();
    listFilled();
    draw();
  }

  function hover(k, x, y) {
    const tip = $("tip");
    const edge = k < 0 && x !== undefined ? edgeAt(x, y) : -1;
    tip.hidden = k < 0 && edge < 0;
    canvas.classList.toggle("node", k >= 0);
    if (!tip.hidden) {
      const [i, j] = edge < 0 ? [] : edges[edge];
      tip.textContent = edge < 0
        ? cut(names[k], 120)
        : `${cut(names[i], 40)} \u2013 ${cut(names[j], 40)}: ${detail(edges[edge])}`;
      const left = Math.max(4, Math.min(x + 14, view.width - tip.offsetWidth - 4));
      const below = y + 18 + tip.offsetHeight < view.height;
      tip.style.transform = `translate(${left}px, ${below ? y + 14 : y - tip.offsetHeight - 12}px)`;
    }
    if (k === hovered) return;
    hovered = k;
    describe();
    draw();
  }

  function search() {
    const text = $("search").value.trim().toLowerCase();
    const found = text === "" ? [] : names.map((_, k) => k).filter((k) => names[k].toLowerCase().includes(text));
    const exact = found.find((k) => names[k].toLowerCase() === text);
    matched = new Set(found);
    $("matches").textContent = text === "" ? "" : found.length === 1 ? "1 node found." : `${found.length} nodes found.`;
    if (exact !== undefined) choose(exact, true);
    else choose(found.length === 1 ? found[0] : -1, true);
  }

  // ---- filter and table ------------------------------------------------------------------
  function filter(from) {
    least = from;
    shown = edges.findIndex((edge) => edge[2] < least);
    if (shown < 0) shown = edges.length;
    const limit = least > 0 ? `, ${data.probability ? "probability" : "weight"} at least ${digits(least)}` : "";
    const text = `${shown} of ${edges.length} ${data.probability ? "pairs" : "edges"} shown${limit}.`;
    $("shown").textContent = text;
    $("least").setAttribute("aria-valuetext", text);
    describe();
    list();
    draw();
  }

  function list() {
    const sign = order.up ? 1 : -1;
    const number = order.by === 3 ? 4 : 2;
    const key = order.by >= 2
      ? (a, b) => a[number] - b[number]
      : (a, b) => compare(names[a[order.by]], names[b[order.by]]);
    const sorted = edges.slice(0, shown).sort((a, b) => sign * key(a, b) || b[2] - a[2]);
    const body = document.querySelector("#edges tbody");
    body.replaceChildren(...sorted.slice(0, rows).map((edge) => {
      const [i, j, strength, sign] = edge;
      const row = make("tr");
      const last = make("td", signed(strength, sign), "number");
      row.append(make("td", names[i]), make("td", names[j]), last);
      if (data.probability) row.append(make("td", interval(edge), "number"));
      return row;
    }));
    $("more").hidden = shown <= rows;
    document.querySelectorAll("#edges thead th").forEach((head, k) => {
      head.setAttribute("aria-sort", k !== order.by ? "none" : order.up ? "ascending" : "descending");
    });
  }

  // ---- filled-in values ------------------------------------------------------------------
  let cells = 200;
  function listFilled() {
    if (!data.filled) return;
    const own = chosen < 0 ? data.filled.cells : data.filled.cells.filter((cell) => cell[0] === chosen);
    const body = document.querySelector("#filled tbody");
    body.replaceChildren(...own.slice(0, cells).map(([k, when, value, low, high]) => {
      const row = make("tr");
      row.append(make("td", names[k]), make("td", when), make("td", digits(value), "number"));
      row.append(make("td", `${digits(low)} to ${digits(high)}`, "number"));
      return row;
    }));
    const whose = chosen < 0 ? "" : ` of ${cut(names[chosen], 60)}`;
    $("which").textContent = own.length === 1 ? `1 value${whose}.` : `${own.length} values${whose}.`;
    $("more-filled").hidden = own.length <= cells;
    $("filled").hidden = own.length === 0;
  }

  // ---- what the user does ----------------------------------------------------------------
  const pointers = new Map();
  let dragged = 0;
  const local = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const spread = () => {
    const [a, b] = [...pointers.values()];
    return Math.hypot(a[0] - b[0], a[1] - b[1]);
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, local(event));
    dragged = pointers.size > 1 ? 99 : 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = local(event);
    const before = pointers.get(event.pointerId);
    if (!before) {
      hover(nodeAt(x, y), x, y);
      return;
    }
    const apart = pointers.size === 2 ? spread() : 0;
    pointers.set(event.pointerId, [x, y]);
    dragged += Math.hypot(x - before[0], y - before[1]);
    if (pointers.size === 2) {
      const [a, b] = [...pointers.values()];
      zoom(spread() / Math.max(1, apart), (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
    } else if (dragged > 4) {
      hover(-1);
      move(x - before[0], y - before[1]);
    }
  });
  const release = (event) => {
    if (pointers.delete(event.pointerId) && dragged <= 4 && event.type === "pointerup") {
      choose(nodeAt(...local(event)), false);
    }
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => hover(-1));
  canvas.addEventListener("wheel", (event) => {
    // a page that is scrolled past the graph must not stop there
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
    event.preventDefault();
    zoom(Math.exp(-0.002 * event.deltaY), ...local(event));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (moves[event.key]) move(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") showAll();
    else if (event.key === "Escape") choose(-1);
    else return;
    event.preventDefault();
  });
  $("closer").addEventListener("click", () => zoom(1.4));
  $("farther").addEventListener("click", () => zoom(1 / 1.4));
  $("whole").addEventListener("click", showAll);
  $("search").addEventListener("input", search);
  $("least").addEventListener("input", () => filter((Number($("least").value) / 200) * strongest));
  $("color").addEventListener("change", () => colorBy(Number($("color").value)));
  $("controls").addEventListener("submit", (event) => {
    event.preventDefault();
    if (chosen < 0 && matched.size) choose([...matched][0], true);
  });
  $("more").addEventListener("click", () => {
    rows += 500;
    list();
  });
  $("more-filled").addEventListener("click", () => {
    cells += 500;
    listFilled();
  });
  document.querySelectorAll("#edges thead button").forEach((button, k) => {
    button.addEventListener("click", () => {
      order = { by: k, up: order.by === k ? !order.up : k < 2 };
      list();
    });
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

  // ---- start -----------------------------------------------------------------------------
  columns.forEach((one, k) => {
    const option = make("option", cut(one.name, 60));
    option.value = k;
    $("color").append(option);
  });
  $("color").value = data.color;
  names.forEach((name) => {
    const option = make("option");
    option.value = name;
    $("all-names").append(option);
  });
  new ResizeObserver(() => {
    const ratio = window.devicePixelRatio || 1;
    const before = [view.width, view.height];
    [view.width, view.height] = [canvas.clientWidth, canvas.clientHeight];
    canvas.width = Math.round(view.width * ratio);
    canvas.height = Math.round(view.height * ratio);
    // the bars of a phone's browser come and go: that must not undo a zoom
    if (canvas.classList.contains("near")) move((view.width - before[0]) / 2, (view.height - before[1]) / 2);
    else showAll();
  }).observe(canvas);
  if (data.filled) $("filled-rows").textContent = data.filled.rows;
  $("least").value = Math.round((200 * data.least) / strongest);
  colorBy(data.color);
  filter(data.least);
  listFilled();
  // for tests: where a node is in the window, and how far the view is zoomed in
  window.graphView = {
    place: (name) => {
      const box = canvas.getBoundingClientRect();
      const [x, y] = at(places[names.indexOf(name)]);
      return [box.left + x, box.top + y];
    },
    zoomed: () => view.scale / view.fit,
  };
})();
