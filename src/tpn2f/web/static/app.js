// The page: asks the API and shows what it says. It computes nothing about language or models itself.
import { answerCard, refusalCard, spoken } from './answer.js';
import { call } from './api.js';
import { find, make, percent } from './draw.js';
import { copyLink, readLink, writeLink } from './link.js';
import { startMany } from './many.js';
import { forgetPast, remember, showPast } from './past.js';

const SLOW = 4000;
const view = { models: [], limits: {}, model: null, values: {}, tests: [], inside: false, shown: '' };
let asked = 0; // The number of the last request: answers to earlier ones come too late.

const say = (text) => { find('status').textContent = text; };

function showError(text) {
  find('error').textContent = text ?? '';
  find('error').hidden = !text;
  find('question').setAttribute('aria-invalid', text ? 'true' : 'false');
}

// Models

const byName = (name) => view.models.find((model) => model.name === name);
const title = (model) => (view.models.filter((other) => other.domain === model.domain).length > 1 ? `${model.title} · ${model.name}` : model.title);

function showDomains() {
  const place = find('domains');
  const firsts = view.models.filter((model, index) => view.models.findIndex((other) => other.domain === model.domain) === index);
  for (const model of firsts) {
    const button = make('input', { type: 'radio', name: 'domain', value: model.domain });
    button.addEventListener('change', () => { forget(); chooseModel(model.name); setAddress(); });
    place.append(make('label', {}, button, make('span', { text: model.title })));
  }
  // One kind is no choice.
  place.hidden = firsts.length < 2;
  find('only').hidden = !place.hidden;
  find('only').textContent = view.models[0].title;
}

function chooseModel(name) {
  const model = byName(name) ?? view.models[0];
  const changed = view.model?.domain !== model.domain;
  view.model = model;
  for (const button of document.getElementsByName('domain')) button.checked = button.value === model.domain;
  const rivals = view.models.filter((other) => other.domain === model.domain);
  find('model').replaceChildren(...rivals.map((other) => make('option', { value: other.name, text: other.name })));
  find('model').value = model.name;
  find('model-part').hidden = rivals.length < 2;
  const second = find('second').value;
  const others = view.models.filter((other) => other !== model);
  find('second').replaceChildren(make('option', { value: '', text: 'none' }), ...others.map((other) => make('option', { value: other.name, text: title(other) })));
  find('second').value = others.some((other) => other.name === second) ? second : '';
  find('second-part').hidden = !others.length;
  find('options-part').hidden = !model.options;
  const below = find('below').value;
  const steps = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95];
  find('below').replaceChildren(make('option', { value: '', text: `${percent(model.guess_below)}, as measured` }), ...steps.map((step) => make('option', { value: String(step), text: percent(step) })));
  find('below').value = below;
  const million = (model.parameters / 1e6).toFixed(1);
  find('model-facts').textContent = `${model.name}: ${model.domain}, ${model.encoder} encoder, ${model.decoder} decoder, ${million} million weights, `
    + `${model.words.toLocaleString('en')} words, ${model.relations} relations.`;
  if (changed) {
    showValues(model.inputs);
    showExamples(model);
  }
  showSettings();
}

async function showExamples(model) {
  find('question').placeholder = model.examples[0]?.question ?? 'A question in plain words';
  find('try').hidden = !model.examples.length;
  if (!model.examples.length) {
    // Those of a domain of your own come from the domain, which may take a moment.
    try { model.examples = await call(`api/models/${encodeURIComponent(model.name)}/examples`); } catch { return; }
    if (view.model.domain !== model.domain || !model.examples.length) return;
    showExamples(model);
    return;
  }
  const kinds = [...new Set(model.examples.map((example) => example.kind))];
  find('examples').replaceChildren(...kinds.map((kind) => make('section', { 'aria-label': kind || 'Questions' }, ...(kind ? [make('h2', { text: kind })] : []),
    make('ul', {}, ...model.examples.filter((example) => example.kind === kind).map((example) => {
      const button = make('button', { type: 'button', text: example.question });
      button.addEventListener('click', () => {
        setQuestion(example.question);
        view.values = example.values;
        view.tests = example.tests;
        showValues(model.inputs.map((input) => ({ ...input, value: input.name in example.values ? JSON.stringify(example.values[input.name]) : '' })));
        solve();
        scrollTo({ top: 0 });
      });
      return make('li', {}, button);
    })))));
}

function forget() {
  asked += 1;
  view.values = {};
  view.tests = [];
  view.shown = '';
  find('result').hidden = find('share').hidden = true;
  setQuestion('');
  showError();
  busy(false);
  find('try').open = true;
}

// The form

function setQuestion(text) {
  find('question').value = text;
  grow();
}

function grow() {
  const field = find('question');
  field.style.height = 'auto';
  field.style.height = `${Math.min(field.scrollHeight + 2, innerHeight * 0.4)}px`;
}

function showValues(inputs) {
  const place = find('values');
  place.replaceChildren(...inputs.map((input) => {
    const field = make('input', { type: 'text', 'data-name': input.name, placeholder: '[3, 1, 2]', spellcheck: 'false', autocomplete: 'off' });
    field.value = input.value ?? '';
    field.addEventListener('keydown', (event) => { if (event.key === 'Enter') { event.preventDefault(); solve(); } });
    return make('label', {}, make('span', {}, `${input.name} `, make('span', { class: 'note', text: input.kind })), field);
  }));
  place.hidden = !inputs.length;
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
  return find('values').hidden ? view.values : values;
}

const manner = () => ({
  model: view.model.name, beam: Number(find('beam').value), abstain: find('abstain').checked,
  guess_below: find('below').value ? Number(find('below').value) : null,
});

// What differs from the usual is said while the settings are folded.
function showSettings() {
  const set = [];
  if (find('options').value.trim() && view.model.options) set.push('options');
  if (find('second').value) set.push('side by side');
  if (find('below').value || find('abstain').checked) set.push('guesses');
  if (find('beam').value !== '0') set.push('search');
  find('settings-set').textContent = set.length ? ` · set: ${set.join(', ')}` : '';
}

function currentLink() {
  const { model, beam, abstain, guess_below: below } = manner();
  return writeLink({ model, beam, abstain, below, question: view.shown, second: find('second').value, options: view.model.options ? find('options').value.trim() : '', values: view.values, inside: view.inside });
}

function setAddress() { history.replaceState(null, '', currentLink()); }

// Asking

async function solve({ keep = false } = {}) {
  const question = find('question').value.trim();
  showError();
  if (!question) {
    find('result').hidden = find('share').hidden = true;
    showError('Please type a question first.');
    find('question').focus();
    return;
  }
  let values;
  try { values = readValues(); } catch (error) { showError(error.message); return; }
  const number = ++asked;
  // The values and tests of an example are not those of another question.
  const example = view.model.examples.find((one) => one.question === question);
  if (question !== view.shown && !example && find('values').hidden) { if (!view.linked) view.values = values = {}; view.tests = []; }
  if (example) view.tests = example.tests;
  view.linked = false;
  busy(true);
  const models = [view.model, byName(find('second').value)].filter(Boolean);
  const results = await Promise.all(models.map((model) => askOne(model, question, values)));
  if (number !== asked) return;
  busy(false);
  const broken = results.find((result) => result.error && result.error.status !== 422);
  if (broken) { showError(broken.error.message); say(broken.error.message); return; }
  view.shown = question;
  view.values = values;
  showResults(results, keep);
}

async function askOne(model, question, values) {
  const options = model.options ? find('options').value.trim() || null : null;
  const ask = { ...manner(), model: model.name, question, options, values };
  try {
    const solved = await call('api/solve', ask);
    return { model, solved: { ...solved, question } };
  } catch (error) {
    // The values may be those of an earlier question, whose arguments had other names, or of the other model.
    if (error.status !== 422 || !Object.keys(values).length) return { model, error };
    return askOne(model, question, {});
  }
}

function showResults(results, keep) {
  const pair = results.length > 1;
  const cards = results.map(({ model, solved, error }, place) => {
    const about = { title: pair ? title(model) : '', tests: view.tests, open: view.inside && !place, onInside: (open) => { if (!place) { view.inside = open; setAddress(); } } };
    return solved ? answerCard(solved, model, about) : refusalCard(error.message, { ...about, others: pair ? [] : otherModels(model) });
  });
  find('result').replaceChildren(...cards);
  find('result').classList.toggle('pair', pair);
  find('result').hidden = find('share').hidden = false;
  find('try').open = false;
  // Who changes settings wants to change more of them.
  if (!keep) find('settings').open = find('many').open = false;
  find('link-text').hidden = true;
  const said = results.map(({ model, solved, error }) => `${pair ? `${title(model)}: ` : ''}${solved ? spoken(solved) : `I cannot answer this: ${error.message}`}`);
  say(said.join(' '));
  setAddress();
  const [{ solved }] = results;
  remember({ hash: currentLink(), question: view.shown, state: solved?.verdict.state ?? 'none', answer: solved && ['sure', 'guess'].includes(solved.verdict.state) ? solved.reply : 'no answer' });
  if (!keep) showAnswer(cards[0]);
}

// The answer is seen without scrolling, however long the question is.
function showAnswer(card) {
  const last = card.querySelector('.value:not([hidden])') ?? card.querySelector('.verdict');
  if (last.getBoundingClientRect().bottom > innerHeight || card.getBoundingClientRect().top < 0) card.scrollIntoView({ block: 'start' });
}

function otherModels(model) {
  const firsts = view.models.filter((other, index) => other.domain !== model.domain && view.models.findIndex((one) => one.domain === other.domain) === index);
  return firsts.map((other) => {
    const button = make('button', { type: 'button', class: 'quiet', text: other.title });
    button.addEventListener('click', () => { chooseModel(other.name); solve(); });
    return button;
  });
}

let slow;
function busy(yes) {
  clearTimeout(slow);
  find('solve').setAttribute('aria-busy', String(yes));
  find('solve-text').textContent = yes ? 'Solving …' : 'Solve';
  find('loading').hidden = !yes;
  find('loading-text').textContent = 'Solving …';
  find('result').setAttribute('aria-busy', String(yes));
  if (!yes) return;
  find('result').hidden = find('share').hidden = true;
  say('Solving.');
  slow = setTimeout(() => { find('loading-text').textContent = 'Still solving. The machine is busy …'; }, SLOW);
}

// Start

function restore() {
  const state = readLink(location.hash);
  chooseModel(state.model);
  if (location.hash === currentLink() && view.shown) return;
  find('beam').value = String([0, 1, 3, 5, 10].includes(state.beam) ? state.beam : 0);
  find('second').value = state.second !== view.model.name && byName(state.second) ? state.second : '';
  find('options').value = state.options;
  find('below').value = [...find('below').options].some((option) => option.value === String(state.below)) ? String(state.below) : '';
  find('abstain').checked = state.abstain;
  view.inside = state.inside;
  showSettings();
  if (!state.question) return;
  setQuestion(state.question);
  view.values = state.values;
  view.linked = true;
  if (!find('values').hidden) showValues(view.model.inputs.map((input) => ({ ...input, value: input.name in state.values ? JSON.stringify(state.values[input.name]) : '' })));
  solve();
}

async function start() {
  find('form').addEventListener('submit', (event) => { event.preventDefault(); solve(); });
  find('question').addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) { event.preventDefault(); solve(); }
  });
  find('question').addEventListener('input', () => { grow(); showError(); });
  find('model').addEventListener('change', () => { chooseModel(find('model').value); if (view.shown) solve({ keep: true }); else setAddress(); });
  for (const id of ['second', 'beam', 'below', 'abstain', 'options']) {
    find(id).addEventListener('change', () => { showSettings(); if (view.shown) solve({ keep: true }); });
  }
  find('options').addEventListener('keydown', (event) => { if (event.key === 'Enter') { event.preventDefault(); solve(); } });
  find('link').addEventListener('click', () => { setAddress(); copyLink(find('link'), find('link-text')); });
  find('past-clear').addEventListener('click', forgetPast);
  startMany(manner, () => view.limits);
  showPast();
  try {
    const { models, ...limits } = await call('api/models');
    Object.assign(view, { models, limits });
    find('question').maxLength = limits.max_characters;
    showDomains();
    restore();
    addEventListener('hashchange', restore);
  } catch (error) {
    showError(error.message);
  }
}

start();
