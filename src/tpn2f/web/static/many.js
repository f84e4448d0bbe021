// A file of questions: read here, answered by the server a few at a time, given back as CSV.
import { call, pause } from './api.js';
import { find, make } from './draw.js';

const MOST = 20_000;
const SHOWN = 8;
const COLUMNS = ['question', 'answer', 'state', 'confidence', 'option', 'why', 'nearest', 'program'];
const STATES = { sure: 'sure', guess: 'a guess', none: 'no answer', open: 'needs values' };

// The questions of a file: JSON lines, CSV with a column `question`, or one question a line.
export function readFile(name, text) {
  const plain = text.replace(/^\ufeff/, '');
  const lines = plain.split(/\r?\n/).filter((line) => line.trim());
  if (/\.(jsonl|ndjson)$/i.test(name) || (lines[0] ?? '').trim().startsWith('{"')) return lines.map(readObject);
  const table = /\.(csv|tsv)$/i.test(name) ? readTable(plain, /\.tsv$/i.test(name) ? '\t' : ',') : null;
  if (!table) return lines.map((line) => ({ question: line.trim() }));
  const header = table[0].map((cell) => cell.trim().toLowerCase());
  const place = Math.max(header.indexOf('question'), header.indexOf('text'));
  if (place < 0) return table.map((cells) => ({ question: cells[0] })).filter((one) => one.question.trim());
  const options = header.indexOf('options');
  return table.slice(1).map((cells) => ({ question: cells[place] ?? '', ...(options >= 0 && cells[options] ? { options: cells[options] } : {}) }))
    .filter((one) => one.question.trim());
}

function readObject(line) {
  try {
    const found = JSON.parse(line);
    const question = found.question ?? found.text;
    if (typeof question !== 'string') return { question: line, broken: 'there is no text `question` in this line' };
    const options = Array.isArray(found.options) ? found.options.map((one, place) => `${'abcdefghij'[place]} ) ${one}`).join(' , ') : found.options;
    return { question, ...(typeof options === 'string' ? { options } : {}), ...(found.inputs && typeof found.inputs === 'object' ? { values: found.inputs } : {}) };
  } catch {
    return { question: line, broken: 'this line is not valid JSON' };
  }
}

// The cells of a table, quotes and line breaks inside of them included.
function readTable(text, comma) {
  const rows = [];
  let row = [], cell = '', quoted = false;
  for (let place = 0; place < text.length; place += 1) {
    const sign = text[place];
    if (quoted) {
      if (sign !== '"') cell += sign;
      else if (text[place + 1] === '"') { cell += '"'; place += 1; } else quoted = false;
    } else if (sign === '"' && !cell) quoted = true;
    else if (sign === comma) { row.push(cell); cell = ''; } else if (sign === '\n' || sign === '\r') {
      if (sign === '\r' && text[place + 1] === '\n') place += 1;
      row.push(cell);
      if (row.some((one) => one.trim())) rows.push(row);
      row = []; cell = '';
    } else cell += sign;
  }
  row.push(cell);
  if (row.some((one) => one.trim())) rows.push(row);
  return rows.length ? rows : null;
}

export function writeTable(rows) {
  const cell = (value) => {
    // A spreadsheet would compute a text that begins like a formula.
    const text = typeof value === 'string' && /^[=+@\t]/.test(value) ? `'${value}` : String(value ?? '');
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [COLUMNS.join(','), ...rows.map((row) => COLUMNS.map((name) => cell(row[name])).join(','))].join('\r\n') + '\r\n';
}

// `manner` says how to answer: model, beam and so on; `limits` are those of the server.
export function startMany(manner, limits) {
  const work = { stop: null, address: null };
  find('file').addEventListener('change', () => run(work, manner(), limits()));
  find('file-stop').addEventListener('click', () => work.stop?.abort());
}

async function run(work, manner, limits) {
  const file = find('file').files[0];
  if (!file) return;
  work.stop?.abort();
  const stop = new AbortController();
  work.stop = stop;
  if (work.address) URL.revokeObjectURL(work.address);
  for (const id of ['file-save', 'file-rows']) find(id).hidden = true;
  const say = (text) => { find('file-state').textContent = text; };
  find('file-work').hidden = false;
  const asked = readFile(file.name, await file.text());
  if (!asked.length || asked.length > MOST) {
    say(asked.length ? `The file has ${asked.length.toLocaleString('en')} questions; at most ${MOST.toLocaleString('en')} are read.` : 'There is no question in this file.');
    find('file-bar').hidden = find('file-stop').hidden = true;
    return;
  }
  find('file-bar').hidden = find('file-stop').hidden = false;
  find('file-bar').max = asked.length;
  find('file-bar').value = 0;
  const rows = [];
  const since = performance.now();
  const show = () => {
    find('file-bar').value = rows.length;
    const left = rows.length ? ((performance.now() - since) / rows.length) * (asked.length - rows.length) / 1000 : 0;
    const soon = rows.length && rows.length < asked.length ? `, about ${left < 90 ? `${Math.ceil(left)} s` : `${Math.round(left / 60)} min`} left` : '';
    say(`${rows.length.toLocaleString('en')} of ${asked.length.toLocaleString('en')} answered${soon}`);
  };
  show();
  try {
    await answerAll(asked, manner, limits, rows, show, stop.signal);
  } catch (error) {
    if (error.name !== 'AbortError') say(`${error.message} What was answered so far is kept.`);
  }
  if (work.stop === stop) finish(work, file.name, rows, asked.length, stop.signal.aborted);
}

async function answerAll(asked, manner, limits, rows, show, signal) {
  let size = limits.max_many;
  while (rows.length < asked.length) {
    const part = fitting(asked.slice(rows.length, rows.length + size), limits.max_body);
    const good = part.filter((one) => !one.broken && one.question.length <= limits.max_characters);
    let answered = [];
    try {
      if (good.length) answered = (await call('api/solve_many', { ...manner, questions: good }, signal)).rows;
    } catch (error) {
      if (error.status === 503) { await pause(1000); continue; }
      if ((error.status === 504 || error.status === 413) && part.length > 1) { size = Math.max(1, Math.floor(part.length / 2)); continue; }
      if (!error.status || error.status < 413) throw error;
      answered = good.map((one) => noAnswer(one, error.message));
    }
    for (const one of part) {
      rows.push(one.broken || one.question.length > limits.max_characters ? noAnswer(one, one.broken ?? 'the question is too long') : answered.shift());
    }
    show();
    if (signal.aborted) return;
  }
}

const noAnswer = (one, why) => ({ question: one.question.slice(0, 500), state: 'none', answer: '', confidence: 0, option: '', why, nearest: '', program: '' });

// As many questions as one request may hold.
function fitting(part, most) {
  let bytes = 500;
  const found = [];
  for (const one of part) {
    bytes += new TextEncoder().encode(JSON.stringify(one)).length + 2;
    if (found.length && bytes > most) break;
    found.push(one);
  }
  return found;
}

function finish(work, name, rows, total, stopped) {
  find('file-stop').hidden = true;
  const counts = Object.entries(STATES).map(([state, words]) => [rows.filter((row) => row.state === state).length, words]).filter(([count]) => count);
  const told = counts.map(([count, words]) => `${count.toLocaleString('en')} ${words}`).join(', ');
  if (rows.length === total) find('file-state').textContent = `${total.toLocaleString('en')} of ${total.toLocaleString('en')} answered: ${told}.`;
  else if (stopped) find('file-state').textContent = `Stopped after ${rows.length.toLocaleString('en')} of ${total.toLocaleString('en')}: ${told || 'none answered'}.`;
  if (!rows.length) return;
  work.address = URL.createObjectURL(new Blob([writeTable(rows)], { type: 'text/csv' }));
  const save = find('file-save');
  save.href = work.address;
  save.download = `${name.replace(/\.[^.]*$/, '')}-answers.csv`;
  save.hidden = false;
  find('file-rows').hidden = false;
  find('file-rows').querySelector('tbody').replaceChildren(...rows.slice(0, SHOWN).map((row) => make('tr', {}, make('td', { text: row.question }),
    make('td', { text: row.answer }), make('td', {}, make('span', { class: 'chip small', 'data-state': row.state, text: STATES[row.state] })))));
  find('file-rows').querySelector('caption').textContent = rows.length > SHOWN ? `The first ${SHOWN} of ${rows.length.toLocaleString('en')}; the file has all.` : 'The answers';
}
