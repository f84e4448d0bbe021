// A program of nested calls for people: printed over several lines, the value of every call in a run, tests as a table.
// Other inputs are run by the server without asking the model again.
import { call } from './api.js';
import { make, touch } from './draw.js';

const WIDTH = innerWidth < 640 ? 34 : 60;
const WAIT = 350;

// The tree of a text. Every call has a number, in the order of writing: that of the trace.
export function parse(text) {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[()]|[^\s()]+/g) ?? [];
  let place = 0, number = 0;
  const read = () => {
    const token = tokens[place++];
    if (token !== '(') return token;
    const node = { number: number++, parts: [] };
    while (place < tokens.length && tokens[place] !== ')') node.parts.push(read());
    place += 1;
    return node;
  };
  return tokens.length ? read() : '';
}

export const flat = (node) => (typeof node === 'string' ? node : `(${node.parts.map(flat).join(' ')})`);

function allCalls(node, found = []) {
  if (typeof node === 'string') return found;
  // As they are computed: what is inside comes first.
  for (const part of node.parts) allCalls(part, found);
  found.push(node);
  return found;
}

// What fits into a line stays in one.
function print(node, margin = 0) {
  if (typeof node === 'string') return make('span', { text: node });
  const element = make('span', { class: 'call', 'data-call': node.number }, '(');
  const long = margin + flat(node).length > WIDTH && node.parts.length > 1;
  node.parts.forEach((part, place) => {
    if (place) element.append(long ? `\n${' '.repeat(margin + 2)}` : ' ');
    element.append(place ? print(part, margin + 2) : make('span', { class: 'head', text: flat(part) }));
  });
  element.append(')');
  return element;
}

// Fills `how`. `tell` is called with what the program gives for the inputs that are looked at.
export function programOf(how, solved, model, tests, tell) {
  const tree = parse(solved.tree);
  const names = solved.inputs.filter((input) => input.needed).map((input) => input.name);
  const program = make('pre', { class: 'lisp', tabindex: '0', 'aria-label': 'The program' }, print(tree));
  const readout = make('p', { class: 'readout note', 'aria-live': 'polite' });
  const values = make('tbody');
  const rows = make('tbody');
  const state = { rows: firstRows(solved, names, tests), look: 0, calls: [], asked: 0 };

  const rest = `${touch ? 'Tap a part' : 'Point at a part'} of the program to see what it gives for the inputs.`;
  const show = (number) => {
    for (const part of how.querySelectorAll('[data-call]')) part.classList.toggle('seen', Number(part.dataset.call) === number);
    const traced = state.calls[number];
    const node = allCalls(tree).find((one) => one.number === number);
    readout.textContent = number === null || !node ? rest : `${flat(node)}  →  ${told(traced)}`;
  };
  const callAt = (event) => { const part = event.target.closest?.('[data-call]'); return part ? Number(part.dataset.call) : null; };
  program.addEventListener('mouseover', (event) => show(callAt(event)));
  program.addEventListener('mouseleave', () => show(null));
  program.addEventListener('click', (event) => show(callAt(event)));

  const showValues = () => {
    values.replaceChildren(...allCalls(tree).map((node, place) => {
      const traced = state.calls[node.number];
      const button = make('button', { type: 'button', class: 'plain', text: flat(node) });
      for (const event of ['focus', 'mouseenter', 'click']) button.addEventListener(event, () => show(node.number));
      for (const event of ['blur', 'mouseleave']) button.addEventListener(event, () => show(null));
      return make('tr', { 'data-call': node.number, class: traced?.failed ? 'failed' : null },
        make('td', { text: String(place + 1) }), make('td', {}, button), make('td', { text: told(traced) }));
    }));
    for (const part of program.querySelectorAll('.call')) part.classList.toggle('failed', Boolean(state.calls[Number(part.dataset.call)]?.failed));
  };

  const run = async () => {
    const cases = [];
    const places = [];
    for (const [place, row] of state.rows.entries()) {
      row.error = '';
      try {
        const given = Object.fromEntries(names.filter((name) => row.values[name].trim()).map((name) => [name, read(row.values[name], name)]));
        if (Object.keys(given).length < names.length) { row.answer = null; row.passed = null; continue; }
        const expected = row.expected.trim() ? read(row.expected, 'what it should give') : null;
        cases.push({ values: given, expected });
        places.push(place);
      } catch (error) {
        Object.assign(row, { answer: null, passed: null, error: error.message });
      }
    }
    if (!cases.length) { showResults(); return; }
    const number = ++state.asked;
    const look = places.indexOf(state.look);
    try {
      const ran = await call('api/run', { model: model.name, question: solved.question, program: solved.program, cases, trace: Math.max(look, 0) });
      if (number !== state.asked) return;
      ran.cases.forEach((one, place) => Object.assign(state.rows[places[place]], one));
      state.calls = look >= 0 ? ran.calls : [];
      const tested = ran.cases.filter((one) => one.passed !== null);
      if (look >= 0) tell(ran.cases[look], tested.filter((one) => !one.passed).length, tested.length);
    } catch (error) {
      if (number !== state.asked) return;
      for (const place of places) Object.assign(state.rows[place], { answer: null, passed: null, error: error.message });
    }
    showResults();
    showValues();
    show(null);
  };

  let timer;
  const soon = () => { clearTimeout(timer); timer = setTimeout(run, WAIT); };

  const showResults = () => {
    for (const [place, row] of state.rows.entries()) {
      const line = rows.children[place];
      line.querySelector('.gives').textContent = row.error || (row.answer ?? '');
      line.querySelector('.gives').classList.toggle('bad', Boolean(row.error));
      const passed = line.querySelector('.passed');
      passed.textContent = row.passed === true ? 'pass' : row.passed === false ? 'fail' : '';
      passed.dataset.passed = String(row.passed);
    }
  };

  const showRows = () => {
    rows.replaceChildren(...state.rows.map((row, place) => {
      const field = (text, label, write, kind) => {
        const input = make('input', { type: 'text', 'aria-label': `${label}, row ${place + 1}`, placeholder: placeholder(kind), spellcheck: 'false', autocomplete: 'off' });
        input.value = text;
        input.addEventListener('input', () => { write(input.value); state.look = place; mark(); soon(); });
        input.addEventListener('keydown', (event) => { if (event.key === 'Enter') { event.preventDefault(); run(); } });
        return make('td', {}, input);
      };
      const look = make('button', { type: 'button', class: 'quiet', text: 'show', 'aria-label': `Show the run of row ${place + 1}` });
      look.addEventListener('click', () => { state.look = place; mark(); run(); });
      const kinds = Object.fromEntries(solved.inputs.map((input) => [input.name, input.kind]));
      return make('tr', {}, ...names.map((name) => field(row.values[name], name, (text) => { row.values[name] = text; }, kinds[name])),
        make('td', { class: 'gives' }), field(row.expected, 'should give', (text) => { row.expected = text; }, ''),
        make('td', { class: 'passed' }), make('td', {}, look));
    }));
    mark();
    showResults();
  };
  const mark = () => { for (const [place, line] of [...rows.children].entries()) line.classList.toggle('looked', place === state.look); };

  const more = make('button', { type: 'button', class: 'quiet', text: 'Try other inputs' });
  more.addEventListener('click', () => {
    if (state.rows.length >= 20) return;
    state.rows.push({ values: { ...state.rows.at(-1).values }, expected: '', answer: null, passed: null, error: '' });
    state.look = state.rows.length - 1;
    showRows();
    rows.lastChild.querySelector('input')?.focus();
    run();
  });

  how.append(make('h3', { text: 'The program' }), program, readout);
  if (names.length) {
    how.append(make('h3', { text: 'Tests and other inputs' }),
      make('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Tests' }, make('table', { class: 'tests' },
        make('thead', {}, make('tr', {}, ...[...names, 'gives', 'should give', 'test', 'run'].map((name) => make('th', { scope: 'col', text: name })))), rows)), more);
  }
  how.append(make('details', { class: 'all-values' }, make('summary', { text: 'What every part gives' }),
    make('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'What every part gives' }, make('table', {},
      make('thead', {}, make('tr', {}, ...['step', 'part', 'gives'].map((name) => make('th', { scope: 'col', text: name })))), values))));
  showRows();
  showValues();
  show(null);
  run();
}

function firstRows(solved, names, tests) {
  const write = (value) => JSON.stringify(value);
  const row = (values, expected) => ({ values, expected, answer: null, passed: null, error: '' });
  const given = Object.fromEntries(solved.inputs.filter((input) => input.needed).map((input) => [input.name, input.value ?? '']));
  const rows = tests.filter((test) => names.every((name) => name in test.values)).map((test) => row(
    Object.fromEntries(names.map((name) => [name, write(test.values[name])])), test.expected === null ? '' : write(test.expected)));
  const same = (values) => names.every((name) => values[name].replace(/\s/g, '') === given[name].replace(/\s/g, ''));
  const first = rows.findIndex((one) => same(one.values));
  if (first > 0) rows.unshift(...rows.splice(first, 1));
  return first >= 0 ? rows : [row(given, ''), ...rows];
}

function told(traced) {
  if (!traced) return '';
  if (traced.failed) return 'it fails here';
  if (!traced.count) return 'not reached';
  const more = traced.count - traced.values.length;
  return traced.values.join('; ') + (more > 0 ? `; and ${more.toLocaleString('en')} more` : '');
}

function read(text, name) {
  try { return JSON.parse(text); } catch { throw new Error(`${name} is not a value: write 5, [3, 1, 2] or "text"`); }
}

function placeholder(kind) {
  if (!kind) return '';
  if (kind.endsWith('[]')) return kind.startsWith('string') ? '["ab", "c"]' : '[3, 1, 2]';
  return kind === 'string' ? '"text"' : kind === 'bool' ? 'true' : '5';
}
