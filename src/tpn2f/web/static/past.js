// What was asked in this visit. It stays in this tab of the browser and goes when the tab is closed.
import { find, make } from './draw.js';

const KEY = 'tpn2f-past';
const MOST = 30;

function read() {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEY) ?? '[]');
    return Array.isArray(found) ? found.filter((one) => typeof one?.hash === 'string' && one.hash.startsWith('#')) : [];
  } catch {
    return [];
  }
}

function write(entries) {
  try { sessionStorage.setItem(KEY, JSON.stringify(entries)); } catch { /* A browser that keeps nothing is fine. */ }
}

export function remember(entry) {
  write([entry, ...read().filter((one) => one.hash !== entry.hash)].slice(0, MOST));
  showPast();
}

export function showPast() {
  const entries = read();
  find('past').hidden = !entries.length;
  find('past-count').textContent = String(entries.length);
  find('past-list').replaceChildren(...entries.map((entry) => make('li', {},
    make('a', { href: entry.hash }, make('span', { class: 'dot', 'data-state': entry.state, 'aria-hidden': 'true' }), String(entry.question)),
    make('span', { class: 'note', text: String(entry.answer) }))));
}

export function forgetPast() {
  write([]);
  showPast();
}
