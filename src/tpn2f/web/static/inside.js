// Look inside: the program, the question as the model reads it, what else it considered, and the map of its relations.
// Nothing of it is asked for before it is opened.
import { call, pause } from './api.js';
import { drawMap, hue, make, percent, touch } from './draw.js';

const maps = new Map();
let cards = 0;

export function insideOf(solved, model, onToggle, open) {
  const body = make('div', { class: 'inside-body' });
  const part = make('details', { class: 'inside' }, make('summary', { text: 'Look inside' }), body);
  const name = `card${++cards}`;
  let filled = false;
  part.addEventListener('toggle', () => {
    onToggle(part.open);
    if (!part.open || filled) return;
    filled = true;
    new Inside(body, solved, model, name).fill();
  });
  part.open = open;
  return part;
}

class Inside {
  constructor(body, solved, model, name) {
    Object.assign(this, { body, solved, model, name, pick: 0, colour: 'roles', held: null, explained: null, map: null, clusters: '4' });
    this.words = make('p', { class: 'words' });
    this.caption = make('p', { class: 'note', 'aria-live': 'polite' });
    this.tuples = make('ol', { class: 'tuples' });
    this.mapPart = make('div', { class: 'map' });
    this.mapPart.hidden = true;
  }

  get chosen() { return this.pick === 0 ? this.solved : this.solved.alternatives[this.pick - 1]; }

  fill() {
    this.colours = this.choices('colour', 'Colour the words by', [['none', 'plain'], ['roles', 'roles'], ['fillers', 'fillers']], 'roles', (colour) => {
      this.colour = colour;
      this.paint();
    });
    this.colours.hidden = true;
    const point = touch ? 'Tap a line' : 'Point at a line, or move to it with Tab,';
    this.body.append(
      make('h3', { text: 'The program' }),
      make('p', { class: 'note', text: `${point} to see the words that it attends to.` }),
      this.tuples,
      make('div', { class: 'heading' }, make('h3', { text: 'The question, as the model reads it' }), this.colours),
      this.words, this.caption,
    );
    if (this.solved.alternatives.length) this.body.append(make('h3', { text: 'What the model considered' }), this.candidates());
    this.body.append(this.mapPart);
    this.showWords();
    this.showProgram();
    this.explain();
    this.loadMap();
  }

  choices(kind, legend, values, chosen, choose) {
    const name = `${this.name}-${kind}`;
    return make('fieldset', { class: 'tabs small' }, make('legend', { class: 'unseen', text: legend }), ...values.map(([value, text]) => {
      const button = make('input', { type: 'radio', name, value });
      button.checked = value === chosen;
      button.addEventListener('change', () => choose(value));
      return make('label', {}, button, make('span', { text }));
    }));
  }

  showWords() {
    const pieces = [];
    for (const [place, word] of this.solved.words.entries()) {
      if (word.space && place && word.text) pieces.push(' ');
      pieces.push(make('span', { class: `word${word.name ? ' named' : ''}${word.known ? '' : ' strange'}`, title: word.known ? null : 'training did not have this word', text: word.text }));
    }
    this.words.replaceChildren(...pieces, this.solved.rest);
  }

  showProgram() {
    const { tuples } = this.chosen;
    this.held = null;
    this.tuples.replaceChildren(...tuples.map((tuple, place) => {
      const button = make('button', { type: 'button', class: 'tuple', 'aria-pressed': 'false' },
        make('span', { class: 'mark', text: `#${place}` }), make('code', { text: `${tuple.relation}(${tuple.arguments.join(', ')})` }), make('span', { class: 'attends' }));
      for (const event of ['mouseenter', 'focus']) button.addEventListener(event, () => this.attend(place));
      for (const event of ['mouseleave', 'blur']) button.addEventListener(event, () => this.attend(this.held));
      button.addEventListener('click', () => this.hold(this.held === place ? null : place));
      button.addEventListener('keydown', (event) => { if (event.key === 'Escape') this.hold(null); });
      return make('li', {}, button);
    }));
    if (!tuples.length) this.tuples.append(make('li', { class: 'note', text: 'The model wrote no program.' }));
  }

  hold(place) {
    this.held = place;
    for (const [other, button] of [...this.tuples.querySelectorAll('button')].entries()) button.setAttribute('aria-pressed', String(other === place));
    this.attend(place);
  }

  candidates() {
    const all = [this.solved, ...this.solved.alternatives];
    const buttons = all.map((candidate, place) => {
      const button = make('button', { type: 'button', class: 'choice', 'aria-pressed': String(place === 0) },
        make('span', { class: 'line' }, make('b', { text: candidate.reply ?? 'no answer' }), make('span', { text: percent(candidate.confidence) })),
        make('code', { text: (this.model.worked ? candidate.program : candidate.tree ?? candidate.program) ?? 'no program' }));
      button.addEventListener('click', () => {
        this.pick = place;
        for (const [other, element] of buttons.entries()) element.setAttribute('aria-pressed', String(other === place));
        this.showProgram();
        this.explain();
        this.showMap();
      });
      return button;
    });
    return make('ol', { class: 'choices' }, ...buttons.map((button) => make('li', {}, button)));
  }

  async explain() {
    const { program } = this.chosen;
    this.explained = null;
    this.caption.textContent = program ? 'Looking …' : '';
    if (!program) return;
    const pick = this.pick;
    try {
      const explained = await call('api/explain', { model: this.solved.model, question: this.solved.question, program });
      if (pick !== this.pick) return;
      this.explained = explained;
      this.colours.hidden = !explained.structured;
      this.showAttention();
      this.attend(this.held);
    } catch (error) {
      this.caption.textContent = error.message;
    }
  }

  // By roles or fillers: the heaviest choice of each word gives the colour, its weight the strength, its number the label.
  paint() {
    const { explained } = this;
    const kind = this.colour === 'none' || !explained?.structured ? null : this.colour;
    const order = new Map();
    for (const [place, element] of [...this.words.querySelectorAll('.word')].entries()) {
      element.classList.remove('seen', 'tinted', 'linked');
      element.removeAttribute('data-label');
      const best = kind ? explained[kind][place]?.[0] : undefined;
      if (!best || !element.textContent) continue;
      if (!order.has(best.number)) order.set(best.number, order.size);
      element.classList.add('tinted');
      element.style.setProperty('--hue', hue(order.get(best.number)));
      element.style.setProperty('--weight', best.weight);
      element.dataset.label = `${kind[0]}${best.number}`;
    }
    const one = kind === 'roles' ? 'role' : 'filler';
    this.caption.textContent = kind
      ? `Equal colours are words with the same ${one}; ${order.size} ${one}s are used. Pale: a weak choice. Plain: no ${one} above 0.1.`
      : explained?.structured ? 'Colour the words to see which roles and fillers they take.' : '';
  }

  attend(place) {
    const weights = place === null ? null : this.explained?.attention[place];
    if (!weights) { this.paint(); return; }
    // Attention that is spread over everything stays pale.
    const most = Math.max(0.25, ...weights);
    const used = new Set(this.chosen.tuples[place].arguments);
    for (const [number, element] of [...this.words.querySelectorAll('.word')].entries()) {
      element.classList.remove('tinted');
      element.removeAttribute('data-label');
      element.classList.toggle('seen', weights[number] > 0.005);
      element.style.setProperty('--weight', (weights[number] / most) ** 0.75 * 0.9);
      if (weights[number] >= 0.05 && element.textContent) element.dataset.label = percent(weights[number]);
      const { name } = this.solved.words[number];
      element.classList.toggle('linked', Boolean(name) && used.has(name));
    }
    this.caption.textContent = `#${place} attends to the marked words; the numbers that it uses are framed.`;
  }

  showAttention() {
    const { attention, words } = this.explained;
    for (const [place, button] of [...this.tuples.querySelectorAll('button')].entries()) {
      const weights = attention[place] ?? [];
      const top = weights.map((weight, number) => [weight, number]).sort((a, b) => b[0] - a[0]).slice(0, 3).filter(([weight]) => weight >= 0.05);
      button.querySelector('.attends').textContent = top.length ? `attends to ${top.map(([weight, number]) => `${words[number].text} ${percent(weight)}`).join(', ')}` : '';
    }
  }

  async loadMap() {
    try {
      this.map = await fetchMap(this.model.name);
    } catch {
      // A model without tuples, or no data to draw the map from: there is nothing to show.
      return;
    }
    const ks = this.map.points.length > 3 ? Object.keys(this.map.points[0].clusters) : [];
    if (!ks.length) { this.map = null; return; }
    if (!ks.includes(this.clusters)) this.clusters = ks[0];
    this.picture = make('div');
    this.mapNote = make('p', { class: 'note' });
    this.groups = make('ul');
    const radios = this.choices('clusters', 'Number of clusters', ks.map((k) => [k, k]), this.clusters, (k) => { this.clusters = k; this.showMap(); });
    this.mapPart.replaceChildren(
      make('div', { class: 'heading' }, make('h3', { text: 'Map of relations' }), make('span', { class: 'note' }, 'clusters'), radios),
      this.picture, this.mapNote, make('details', {}, make('summary', { text: 'The clusters as a list' }), this.groups));
    this.mapPart.hidden = false;
    this.showMap();
    let resized;
    addEventListener('resize', () => { clearTimeout(resized); resized = setTimeout(() => this.showMap(), 150); });
  }

  showMap() {
    if (!this.map || !this.body.isConnected) return;
    const used = new Set(this.chosen.tuples.map((tuple) => tuple.relation));
    const width = Math.max(300, Math.min(1120, this.mapPart.clientWidth || 900));
    this.picture.replaceChildren(drawMap(this.map, this.clusters, used, width));
    const parts = this.map.explained.map((part) => percent(part)).join(' and ');
    this.mapNote.textContent = `Relations whose unbinding vectors are alike lie close together. Mean vectors over ${this.map.source}; the two axes hold `
      + `${parts} of the variance; colours are k-means clusters. Ringed: the relations of this program.`;
    const groups = {};
    for (const point of this.map.points) (groups[point.clusters[this.clusters]] ??= []).push(point.relation);
    this.groups.replaceChildren(...Object.keys(groups).sort().map((label) => make('li', { text: `cluster ${Number(label) + 1}: ${groups[label].join(', ')}` })));
  }
}

// Drawing continues in the server when a request for it took too long.
async function fetchMap(name) {
  for (let tries = 5; !maps.has(name); tries -= 1) {
    try {
      maps.set(name, await call(`api/models/${encodeURIComponent(name)}/relations`));
    } catch (error) {
      if (error.status !== 504 || !tries) throw error;
      await pause(1000);
    }
  }
  return maps.get(name);
}
