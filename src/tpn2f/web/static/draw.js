// What is drawn: small builders of elements, links between numbers, and the map of relations.
// Everything that comes from a question or a program becomes text, never markup.

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === 'class') element.className = value ?? '';
    else if (name === 'text') element.textContent = value;
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children);
  return element;
}

export const percent = (part) => `${(100 * part).toFixed(part > 0 && part < 0.095 ? 1 : 0)}\u00a0%`;

// The golden angle keeps any number of neighbours apart.
export const hue = (place) => (215 + 137.508 * place) % 360;

export const find = (id) => document.getElementById(id);

// What a hand does: a mouse points, a finger taps.
export const touch = matchMedia('(hover: none)').matches;

export const list = (words) => (words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`);

// Marks everything in a card that has the same name, while one of it is pointed at or has the focus.
export function link(element, name, card) {
  const mark = (on) => {
    for (const other of card.querySelectorAll('[data-name]')) {
      if (other.dataset.name === name) other.classList.toggle('linked', on);
    }
  };
  for (const event of ['mouseenter', 'focus']) element.addEventListener(event, () => mark(true));
  for (const event of ['mouseleave', 'blur']) element.addEventListener(event, () => mark(false));
}

const SVG = 'http://www.w3.org/2000/svg';
function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// The relations in the plane of their two principal components. `used` are always labelled; of the others, the more
// frequent ones are labelled first, as long as no label covers another.
export function drawMap(data, k, used, width) {
  const height = Math.max(300, Math.min(480, width * 0.6));
  const margin = 24;
  const xs = data.points.map((point) => point.x);
  const ys = data.points.map((point) => point.y);
  const scale = (values, from, to) => {
    const low = Math.min(...values), high = Math.max(...values);
    return (value) => (high > low ? from + ((value - low) / (high - low)) * (to - from) : (from + to) / 2);
  };
  const x = scale(xs, margin, width - margin), y = scale(ys, height - margin, margin);
  const most = Math.max(...data.points.map((point) => point.count));
  const picture = svg('svg', {
    viewBox: `0 0 ${width} ${height}`, role: 'img',
    'aria-label': `Map of ${data.points.length} relations in ${k} clusters; the list below has the same clusters`,
  });
  picture.append(
    svg('line', { class: 'axis', x1: x(0), x2: x(0), y1: 0, y2: height }),
    svg('line', { class: 'axis', x1: 0, x2: width, y1: y(0), y2: y(0) }),
  );
  const radius = (point) => 3.5 + 6 * Math.sqrt(Math.log1p(point.count) / Math.log1p(most));
  const taken = data.points.map((point) => {
    const size = radius(point);
    return { relation: point.relation, left: x(point.x) - size, top: y(point.y) - size, width: 2 * size, height: 2 * size };
  });
  const free = (box, relation) => box.left >= 0 && box.left + box.width <= width && !taken.some((other) => other.relation !== relation
    && box.left < other.left + other.width && other.left < box.left + box.width
    && box.top < other.top + other.height && other.top < box.top + box.height);
  const order = [...data.points].sort((a, b) => used.has(b.relation) - used.has(a.relation) || b.count - a.count);
  const groups = [];
  for (const point of order) {
    const left = x(point.x), top = y(point.y), size = radius(point);
    const length = 7.4 * point.relation.length;
    const sides = [left + size + 3, left - size - 3 - length].map((start) => ({ left: start, top: top - 7, width: length, height: 14 }));
    const isUsed = used.has(point.relation);
    const fitting = sides.find((box) => free(box, point.relation));
    const box = fitting ?? (sides[0].left + length <= width ? sides[0] : sides[1]);
    if (fitting || isUsed) taken.push(box);
    const group = svg('g', { class: `point${fitting || isUsed ? ' labelled' : ''}${isUsed ? ' used' : ''}` });
    const title = svg('title', {});
    title.textContent = `${point.relation}: ${point.count} tuples, cluster ${(point.clusters[k] ?? 0) + 1}`;
    const label = svg('text', { x: box.left, y: top + 4 });
    label.textContent = point.relation;
    group.append(title, svg('circle', { cx: left, cy: top, r: size }), label);
    group.style.setProperty('--hue', hue(point.clusters[k] ?? 0));
    groups.push(group);
  }
  // The labels that matter most lie on top.
  picture.append(...groups.reverse());
  return picture;
}
