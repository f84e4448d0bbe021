// The page: asks the API and shows what it says. It computes nothing about language or models itself.
import { drawMap, hue, indent, make, percent } from './draw.js';

const find = (id) => document.getElementById(id);

// Below this similarity the nearest known question tells nothing.
const TOLD = 0.15;
const NARROW = matchMedia('(max-width: 52rem)');

const view = {
  models: [], model: null, colour: 'roles', pick: 0, clusters: '4',
  solved: null, explained: null, held: null, map: null,
};
let asked = 0; // The number of the last request: answers to earlier ones come too late.

async function call(path, body) {
  const options = body === undefined ? {} : {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body),
  };
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error('The server does not answer. Is tpn2f serve still running?');
  }
  const answer = await response.json().catch(() => ({ error: `The server answered with status ${response.status}.` }));
  if (!response.ok) {
    const error = new Error(answer.error ?? `The server answered with status ${response.status}.`);
    throw Object.assign(error, { status: response.status });
  }
  return answer;
}

function say(text) { find('status').textContent = text; }

function showError(text) {
  const place = find('error');
  place.textContent = text ?? '';
  place.hidden = !text;
  find('question').setAttribute('aria-invalid', text ? 'true' : 'false');
}

// Models and examples

function showModels() {
  const place = find('models');
  const perDomain = {};
  for (const model of view.models) perDomain[model.domain] = (perDomain[model.domain] ?? 0) + 1;
  for (const model of view.models) {
    const name = perDomain[model.domain] > 1 ? `${model.title} · ${model.name}` : model.title;
    const button = make('input', { type: 'radio', name: 'model', value: model.name });
    button.addEventListener('change', () => { chooseModel(model.name); forget(); remember(); });
    place.append(make('label', {}, button, make('span', { text: name })));
  }
  // One model is no choice.
  place.hidden = view.models.length < 2;
  find('only').hidden = !place.hidden;
  find('only').textContent = view.models[0].title;
}

function chooseModel(name) {
  view.model = view.models.find((model) => model.name === name) ?? view.models[0];
  const model = view.model;
  for (const button of document.getElementsByName('model')) button.checked = button.value === model.name;
  const examples = model.examples.map((example) => {
    const button = make('button', { type: 'button', text: example.question, title: example.question });
    button.addEventListener('click', () => {
      find('question').value = example.question;
      showValues(Object.entries(example.values).map(([key, value]) => ({ name: key, kind: '', value: JSON.stringify(value) })));
      solve();
    });
    return make('li', {}, button);
  });
  find('examples').replaceChildren(...examples);
  find('try').hidden = !examples.length;
  find('try').open = true;
  find('question').placeholder = model.examples[0]?.question ?? 'A question in plain words';
  const million = (model.parameters / 1e6).toFixed(1);
  find('model-facts').textContent =
    `${model.name}: ${model.domain}, ${model.encoder} encoder, ${model.decoder} decoder, ${million} million weights, ` +
    `${model.words.toLocaleString('en')} words, ${model.relations} relations.`;
  showMap(null);
  loadMap(model.name);
}

function forget() {
  asked += 1;
  view.solved = view.explained = view.held = null;
  view.pick = 0;
  find('result').hidden = true;
  find('question').value = '';
  showError();
  showValues([]);
  busy(false);
}

function showValues(inputs) {
  const place = find('values');
  place.replaceChildren(...inputs.map((input) => {
    const field = make('input', { type: 'text', 'data-name': input.name, placeholder: placeholder(input.kind), spellcheck: 'false', autocomplete: 'off' });
    field.value = input.value ?? '';
    field.addEventListener('keydown', (event) => { if (event.key === 'Enter') { event.preventDefault(); solve(); } });
    return make('label', {}, make('span', {}, `${input.name} `, make('code', { text: input.kind })), field);
  }));
  place.hidden = !inputs.length;
}

function placeholder(kind) {
  if (kind.endsWith('[]')) return kind.startsWith('string') ? '["ab", "c"]' : '[3, 1, 2]';
  return kind === 'string' ? '"text"' : kind === 'bool' ? 'true' : '5';
}

function readValues() {
  const values = {};
  for (const field of find('values').querySelectorAll('input')) {
    const text = field.value.trim();
    if (!text) continue;
    try {
      values[field.dataset.name] = JSON.parse(text);
    } catch {
      field.focus();
      throw new Error(`The value of ${field.dataset.name} is not JSON: write 5, [3, 1, 2] or "text".`);
    }
  }
  return values;
}

// Asking

async function solve(pick = 0) {
  const question = find('question').value.trim();
  showError();
  if (!question) {
    showError('Please type a question first.');
    find('question').focus();
    return;
  }
  const number = ++asked;
  busy(true);
  try {
    const ask = { model: view.model.name, question, beam: Number(find('beam').value), values: readValues() };
    let solved;
    try {
      solved = await call('api/solve', ask);
    } catch (error) {
      // The fields may be those of an earlier question, whose arguments had other names.
      if (!Object.keys(ask.values).length || !error.message.startsWith('values:')) throw error;
      solved = await call('api/solve', { ...ask, values: {} });
    }
    if (number !== asked) return;
    view.solved = solved;
    view.pick = Math.min(pick, solved.alternatives.length);
    view.explained = view.held = null;
    showSolved();
    remember();
    await explain(number);
  } catch (error) {
    if (number === asked) { showError(error.message); find('result').hidden = true; }
  } finally {
    if (number === asked) busy(false);
  }
}

async function explain(number = ++asked) {
  const program = chosen().program;
  if (!program) return;
  const ask = { model: view.solved.model, question: find('question').value.trim(), program };
  const explained = await call('api/explain', ask);
  if (number !== asked) return;
  view.explained = explained;
  find('colouring').hidden = !explained.structured;
  paint();
  showAttention();
}

function busy(yes) {
  find('solve').setAttribute('aria-busy', yes ? 'true' : 'false');
  find('result').setAttribute('aria-busy', yes ? 'true' : 'false');
  if (yes) say('Solving.');
}

const chosen = () => (view.pick === 0 ? view.solved : view.solved.alternatives[view.pick - 1]);

// Showing

function showSolved() {
  const solved = view.solved;
  find('result').hidden = false;
  if (NARROW.matches) {
    find('try').open = false;
    find('result').scrollIntoView({ block: 'start' });
  }
  const needed = solved.inputs.filter((input) => input.needed);
  const kept = Object.fromEntries([...find('values').querySelectorAll('input')].map((field) => [field.dataset.name, field.value]));
  showValues(needed.map((input) => ({ ...input, value: kept[input.name] ?? input.value })));
  const notes = [...solved.notes, ...solved.doubts];
  find('notes').replaceChildren(...notes.map((note) => make('li', { text: note })));
  find('notes').hidden = !notes.length;
  const known = solved.nearest && solved.nearest.similarity >= TOLD ? solved.nearest : null;
  find('nearest').hidden = !known;
  find('nearest').textContent = known ? `The nearest question that it learned from (${percent(known.similarity)} alike): ${known.text}` : '';
  find('timing').textContent = `solved in ${Math.round(solved.milliseconds)} ms`;
  showWords();
  showChosen();
  showAlternatives();
}

function showChosen() {
  const one = chosen();
  const missing = view.solved.inputs.filter((input) => input.needed && input.value === null);
  const answer = find('answer');
  answer.textContent = one.reply ?? '';
  answer.hidden = one.reply === null;
  answer.classList.toggle('long', (one.reply ?? '').length > 14);
  const failure = find('failure');
  failure.hidden = !one.error;
  const names = missing.map((input) => input.name).join(' and ');
  failure.textContent = missing.length ? `Give ${names} a value above to run the program.` : one.error;
  find('meter').value = one.confidence;
  find('confidence').textContent = `${view.solved.guess && !view.pick ? 'a guess, ' : ''}confidence ${percent(one.confidence)}${view.solved.calibrated ? '' : ', not calibrated'}${view.pick ? ', an alternative' : ''}`;
  say(one.error ? `No answer: ${failure.textContent}` : `The answer is ${one.reply}, ${view.solved.guess && !view.pick ? 'a guess, ' : ''}confidence ${percent(one.confidence)}.`);
  showSteps();
  find('lisp-part').hidden = view.model.worked || !one.tree;
  find('lisp').textContent = one.tree ? indent(one.tree) : '';
  showMap(view.map);
}

function showWords() {
  const used = new Map();
  for (const word of view.solved.words) if (word.name) used.set(word.name, word.text);
  const pieces = [];
  for (const [place, word] of view.solved.words.entries()) {
    if (word.space && place) pieces.push(' ');
    const element = make(word.name ? 'button' : 'span', {
      class: `word${word.name ? ' named' : ''}${word.known ? '' : ' strange'}`,
      type: word.name ? 'button' : null, 'data-name': word.name, text: word.text,
      title: word.known ? null : 'training did not have this word',
    });
    if (word.name) linkBothWays(element, word.name);
    pieces.push(element);
  }
  if (view.solved.rest) pieces.push(view.solved.rest);
  find('words').replaceChildren(...pieces);
}

function linkBothWays(element, name) {
  const mark = (on) => {
    for (const other of document.querySelectorAll('[data-name]')) {
      if (other.dataset.name === name && other.tagName !== 'INPUT') other.classList.toggle('linked', on);
    }
  };
  element.addEventListener('mouseenter', () => mark(true));
  element.addEventListener('mouseleave', () => mark(false));
  element.addEventListener('focus', () => mark(true));
  element.addEventListener('blur', () => mark(false));
}

function showSteps() {
  const one = chosen();
  const items = one.tuples.map((tuple, place) => {
    const step = one.steps[place];
    const formula = make('span', { class: 'formula' }, `${tuple.relation}(`);
    tuple.arguments.forEach((argument, position) => {
      if (position) formula.append(', ');
      const part = make('span', { class: 'argument', text: argument });
      if (isName(argument) || argument.startsWith('#')) {
        part.dataset.name = argument;
        linkBothWays(part, argument);
      }
      formula.append(part);
    });
    formula.append(')');
    const number = make('span', { class: 'number', text: step ? String(place + 1) : `#${place}`, 'data-name': `#${place}` });
    const button = make('button', {
      type: 'button', class: `step${place === one.tuples.length - 1 ? ' last' : ''}`, 'aria-pressed': 'false', 'data-place': String(place),
    }, number);
    if (step) button.append(work(step), make('span', { class: 'words-of', text: step.words }));
    button.append(formula);
    button.append(make('span', { class: 'attends' }));
    button.addEventListener('mouseenter', () => attend(place));
    button.addEventListener('mouseleave', () => attend(view.held));
    button.addEventListener('focus', () => attend(place));
    button.addEventListener('blur', () => attend(view.held));
    button.addEventListener('click', () => {
      view.held = view.held === place ? null : place;
      for (const other of document.querySelectorAll('.step')) {
        other.setAttribute('aria-pressed', String(Number(other.dataset.place) === view.held));
      }
      attend(view.held);
    });
    return make('li', {}, button);
  });
  find('steps').replaceChildren(...items);
  // Who reads the steps does not need the tuples: they are one click away.
  find('program-part').hidden = !one.steps.length;
  find('steps').classList.toggle('told', one.steps.length > 0 && !find('program-part').open);
  find('program').textContent = one.tuples.map((tuple, place) => `#${place}  ${tuple.relation}(${tuple.arguments.join(', ')})`).join('\n');
  find('program-title').textContent = view.model.worked ? 'Step by step' : 'The program, tuple by tuple';
}

function isName(argument) { return view.solved.inputs.some((input) => input.name === argument); }

// `60 / 100 = 0.6`, with the result in bold.
function work(step) {
  const end = step.text.lastIndexOf(' = ') + 3;
  return make('span', { class: 'worked' }, step.text.slice(0, end), make('b', { text: step.text.slice(end) }));
}

function showAlternatives() {
  const all = [view.solved, ...view.solved.alternatives];
  find('others').hidden = all.length < 2;
  const items = all.map((candidate, place) => {
    const line = make('span', { class: 'line' },
      make('b', { text: candidate.reply ?? 'no answer' }), make('span', { text: percent(candidate.confidence) }));
    const button = make('button', { type: 'button', class: 'choice', 'aria-pressed': String(place === view.pick) },
      line, make('code', { text: (view.model.worked ? candidate.program : candidate.tree ?? candidate.program) ?? 'no program' }));
    button.addEventListener('click', async () => {
      view.pick = place;
      view.held = view.explained = null;
      for (const [other, element] of [...find('alternatives').querySelectorAll('button')].entries()) {
        element.setAttribute('aria-pressed', String(other === place));
      }
      showChosen();
      paint();
      remember();
      try { await explain(); } catch (error) { showError(error.message); }
    });
    return make('li', {}, button);
  });
  find('alternatives').replaceChildren(...items);
}

// Colours

function wordElements() { return [...find('words').querySelectorAll('.word')]; }

// By roles or fillers: the heaviest choice of each word gives the colour, its weight the strength, its number the label.
function paint() {
  const explained = view.explained;
  const kind = view.colour === 'none' || !explained?.structured ? null : view.colour;
  const order = new Map();
  for (const [place, element] of wordElements().entries()) {
    element.classList.remove('seen', 'tinted');
    element.removeAttribute('data-label');
    const best = kind ? explained[kind][place]?.[0] : undefined;
    if (!best) continue;
    if (!order.has(best.number)) order.set(best.number, order.size);
    element.classList.add('tinted');
    element.style.setProperty('--hue', hue(order.get(best.number)));
    element.style.setProperty('--weight', best.weight);
    element.dataset.label = `${kind[0]}${best.number}`;
  }
  const one = kind === 'roles' ? 'role' : 'filler';
  find('caption').textContent = kind
    ? `Equal colours are words with the same ${one}; ${order.size} ${one}s are used. Pale: a weak choice. Plain: no ${one} above 0.1.`
    : explained?.structured ? 'Colour the words to see which roles and fillers they take.' : '';
}

function attend(place) {
  if (place === null || !view.explained?.attention[place]) {
    for (const part of document.querySelectorAll('.step .argument.linked, .word.linked, .number.linked')) part.classList.remove('linked');
    paint();
    return;
  }
  const weights = view.explained.attention[place];
  // Attention that is spread over everything stays pale.
  const most = Math.max(0.25, ...weights);
  const names = new Set(chosen().tuples[place].arguments);
  for (const [number, element] of wordElements().entries()) {
    element.classList.remove('tinted');
    element.removeAttribute('data-label');
    element.classList.toggle('seen', weights[number] > 0.005);
    element.style.setProperty('--weight', (weights[number] / most) ** 0.75 * 0.9);
    if (weights[number] >= 0.05) element.dataset.label = percent(weights[number]);
    if (element.dataset.name) element.classList.toggle('linked', names.has(element.dataset.name));
  }
  for (const part of document.querySelectorAll('.step .number')) part.classList.toggle('linked', names.has(part.dataset.name));
  find('caption').textContent = `Step ${place + 1} attends to the marked words; the numbers it uses are framed.`;
}

function showAttention() {
  const { attention, words } = view.explained;
  for (const element of document.querySelectorAll('.step')) {
    const weights = attention[Number(element.dataset.place)];
    if (!weights) continue;
    const top = weights.map((weight, place) => [weight, place]).sort((a, b) => b[0] - a[0]).slice(0, 3)
      .filter(([weight]) => weight >= 0.05);
    element.querySelector('.attends').textContent =
      top.length ? `attends to ${top.map(([weight, place]) => `${words[place].text} ${percent(weight)}`).join(', ')}` : '';
  }
}

// The map of relations

async function loadMap(name, tries = 5) {
  try {
    const map = await call(`api/models/${encodeURIComponent(name)}/relations`);
    if (view.model.name === name) showMap(map);
  } catch (error) {
    // Drawing continues in the server when a request for it took too long. Whatever else it is, there is nothing to show:
    // a model without tuples, or no data to draw the map from.
    if (error.status === 504 && tries && view.model.name === name) setTimeout(() => loadMap(name, tries - 1), 1000);
  }
}

function showMap(map) {
  view.map = map;
  const ks = map?.points.length > 3 ? Object.keys(map.points[0].clusters) : [];
  find('map-part').hidden = !ks.length;
  if (!ks.length) return;
  if (!ks.includes(view.clusters)) view.clusters = ks[0];
  const radios = ks.map((k) => {
    const button = make('input', { type: 'radio', name: 'clusters', value: k });
    button.checked = k === view.clusters;
    button.addEventListener('change', () => { view.clusters = k; drawCurrentMap(); });
    return make('label', {}, button, make('span', { text: k }));
  });
  find('clusters').replaceChildren(find('clusters').querySelector('legend'), ...radios);
  drawCurrentMap();
}

function drawCurrentMap() {
  const used = new Set(view.solved ? chosen().tuples.map((tuple) => tuple.relation) : []);
  const width = Math.max(300, Math.min(1120, find('map').clientWidth || 1120));
  find('map').replaceChildren(drawMap(view.map, view.clusters, used, width));
  const parts = view.map.explained.map((part) => percent(part)).join(' and ');
  find('map-note').textContent =
    `Relations whose unbinding vectors are alike lie close together. Mean vectors over ${view.map.source}; the two axes hold ` +
    `${parts} of the variance; colours are k-means clusters.${used.size ? ' Ringed: the relations of this program.' : ''}`;
  const groups = {};
  for (const point of view.map.points) (groups[point.clusters[view.clusters]] ??= []).push(point.relation);
  find('cluster-list').replaceChildren(...Object.keys(groups).sort().map((label) =>
    make('li', { text: `cluster ${Number(label) + 1}: ${groups[label].join(', ')}` })));
}

// The link that restores the view

function remember() {
  const state = new URLSearchParams({ model: view.model.name });
  if (view.solved) {
    state.set('q', find('question').value.trim());
    state.set('beam', find('beam').value);
    state.set('colour', view.colour);
    if (view.pick) state.set('pick', String(view.pick));
    try {
      const values = readValues();
      if (Object.keys(values).length) state.set('values', JSON.stringify(values));
    } catch { /* A half-typed value is not worth remembering. */ }
  }
  history.replaceState(null, '', `#${state}`);
}

function restore() {
  const state = new URLSearchParams(location.hash.slice(1));
  chooseModel(state.get('model'));
  const beam = state.get('beam');
  if ([...find('beam').options].some((option) => option.value === beam)) find('beam').value = beam;
  const colour = state.get('colour');
  if (['none', 'roles', 'fillers'].includes(colour)) setColour(colour);
  const question = state.get('q');
  if (!question) return;
  find('question').value = question;
  let values = {};
  try { values = JSON.parse(state.get('values') ?? '{}') ?? {}; } catch { /* A broken link restores the rest. */ }
  showValues(Object.entries(values).map(([name, value]) => ({ name, kind: '', value: JSON.stringify(value) })));
  solve(Number(state.get('pick')) || 0);
}

function setColour(colour) {
  view.colour = colour;
  for (const button of document.getElementsByName('colour')) button.checked = button.value === colour;
}

async function start() {
  find('form').addEventListener('submit', (event) => { event.preventDefault(); solve(); });
  find('question').addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) { event.preventDefault(); solve(); }
  });
  for (const button of document.getElementsByName('colour')) {
    button.addEventListener('change', () => { setColour(button.value); paint(); remember(); });
  }
  find('program-part').addEventListener('toggle', () => {
    find('steps').classList.toggle('told', chosen().steps.length > 0 && !find('program-part').open);
  });
  find('link').addEventListener('click', async () => {
    remember();
    try {
      await navigator.clipboard.writeText(location.href);
      find('link').textContent = 'Copied';
    } catch {
      find('link').textContent = 'Copy it from the address bar';
    }
    setTimeout(() => { find('link').textContent = 'Copy link to this view'; }, 2000);
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && view.held !== null) {
      view.held = null;
      for (const step of document.querySelectorAll('.step')) step.setAttribute('aria-pressed', 'false');
      attend(null);
    }
  });
  let resized;
  addEventListener('resize', () => { clearTimeout(resized); resized = setTimeout(() => { if (view.map) drawCurrentMap(); }, 150); });
  try {
    const { models, max_characters } = await call('api/models');
    view.models = models;
    find('question').maxLength = max_characters;
    showModels();
    restore();
    addEventListener('hashchange', restore);
  } catch (error) {
    showError(error.message);
  }
}

start();
