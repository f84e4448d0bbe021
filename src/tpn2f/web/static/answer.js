// The card of an answer: how sure it is, the answer, the steps, and what it rests on. Built from what the API said.
import { link, list, make, percent } from './draw.js';
import { insideOf } from './inside.js';
import { programOf } from './lisp.js';

// Below this similarity the nearest known question tells nothing.
const TOLD = 0.15;

// A card for an answer. `model` is the card of the model, `title` is shown where there are two cards.
export function answerCard(solved, model, { title = '', tests = [], onInside = () => {}, open = false } = {}) {
  const { verdict } = solved;
  const card = make('section', { class: 'card answer', 'data-state': verdict.state, 'aria-label': title ? `Answer of ${title}` : 'Answer' });
  const chip = make('span', { class: 'chip', text: verdict.words });
  const chance = make('span', { class: 'chance', text: verdict.state === 'open' ? '' : verdict.chance });
  const value = make('output', { class: 'value', text: solved.reply ?? '' });
  const why = make('div', { class: 'why' });
  const shown = verdict.state === 'sure' || verdict.state === 'guess';
  value.hidden = !shown || solved.reply === null;
  value.classList.toggle('long', (solved.reply ?? '').length > 14);
  card.append(
    heading(title), value, make('p', { class: 'verdict' }, chip, chance), bar(solved),
  );
  if (solved.option && shown) card.append(optionLine(solved.option));
  showWhy(why, solved);
  card.append(why);

  const how = make('div', { class: 'how' });
  if (model.traced && solved.tree) {
    // What a run on other values gives takes the place of the answer.
    programOf(how, solved, model, tests, (ran, failed, tested) => {
      const now = stateOfRun(solved, ran, failed, tested);
      card.dataset.state = now.state;
      chip.textContent = now.words;
      chance.textContent = failed || ran.error ? '' : verdict.chance;
      value.textContent = ran.answer ?? '';
      value.hidden = ran.answer === null;
      value.classList.toggle('long', (ran.answer ?? '').length > 14);
      why.replaceChildren(...(ran.error ? [make('p', { text: sentence(ran.error) })] : []));
      if (!ran.error && verdict.state !== 'open') showWhy(why, solved);
    });
  } else {
    how.append(...stepsOf(solved, card));
  }
  if (verdict.state === 'none' && solved.reply !== null && !model.traced) {
    const anyway = make('details', { class: 'anyway' }, make('summary', { text: 'Show the guess anyway' }),
      make('p', { class: 'value small', text: solved.reply }), how);
    card.append(anyway);
  } else {
    card.append(how);
  }
  card.append(...evidence(solved));
  card.append(insideOf(solved, model, onInside, open));
  card.append(make('p', { class: 'facts', text: factsOf(solved) }));
  return card;
}

// How far to trust a run on the inputs of a person: one that fails, or a program that fails a test, is never sure.
function stateOfRun(solved, ran, failed, tested) {
  if (ran.error) return { state: 'none', words: 'It does not run on this input' };
  if (failed) return { state: 'guess', words: `It fails ${failed} of ${tested} tests` };
  if (solved.verdict.state !== 'open') return solved.verdict;
  return solved.guess || !solved.calibrated ? { state: 'guess', words: 'A guess' } : { state: 'sure', words: 'Sure' };
}

// A card for a text that gets no answer at all.
export function refusalCard(error, { title = '', others = [] } = {}) {
  const card = make('section', { class: 'card answer', 'data-state': 'none', 'aria-label': title ? `Answer of ${title}` : 'Answer' },
    heading(title), make('p', { class: 'verdict' }, make('span', { class: 'chip', text: 'I cannot answer this' })),
    make('div', { class: 'why' }, make('p', { text: sentence(error) })));
  if (others.length) card.append(make('p', { class: 'others' }, 'Ask another model: ', ...others));
  return card;
}

const heading = (title) => make('h2', { class: title ? 'by' : 'unseen', text: title || 'Answer' });

// What the answer is, for those who hear the page.
export function spoken(solved) {
  const { verdict } = solved;
  if (verdict.state === 'open') return `${verdict.words}: ${list(verdict.why)}.`;
  if (verdict.state === 'none') return `${verdict.words}: ${list(verdict.why)}.`;
  return `The answer is ${solved.reply}. ${verdict.words}. ${verdict.chance}`;
}

function bar(solved) {
  const line = make('div', { class: 'bar', 'aria-hidden': 'true' }, make('i'));
  line.firstChild.style.setProperty('--part', solved.confidence);
  // Where there is no answer, there is nothing to be sure of.
  line.hidden = !solved.calibrated || solved.verdict.state === 'none' || solved.verdict.state === 'open';
  return line;
}

function optionLine(option) {
  return make('p', { class: 'option' }, option.exact ? 'That is option ' : 'The nearest option is ', make('b', { text: `${option.label} ) ${option.text}` }),
    option.exact ? '.' : '; the answer itself is not among the options.');
}

function showWhy(place, solved) {
  const { state, why, chance } = solved.verdict;
  const said = { sure: 'Still, check:', guess: 'Why only a guess:', none: 'Why:', open: '' }[state];
  const reasons = why.map(sentence);
  place.replaceChildren();
  if (state === 'sure' && !solved.doubts.length) {
    if (reasons.length) place.append(make('p', { text: reasons.join(' ') }));
  } else if (reasons.length === 1) {
    place.append(make('p', { text: `${said} ${reasons[0]}`.trim() }));
  } else if (reasons.length) {
    place.append(make('p', { text: said }), make('ul', {}, ...reasons.map((reason) => make('li', { text: reason }))));
  }
  const notes = solved.notes.filter((note) => !why.includes(note));
  if (notes.length && chance) place.append(make('p', { class: 'note', text: notes.map(sentence).join(' ') }));
}

function sentence(text) {
  const whole = text.trim();
  return whole[0] === whole[0]?.toLowerCase() && /^[a-z]+ /.test(whole) ? `${whole[0].toUpperCase()}${whole.slice(1)}${/[.?!]"?$/.test(whole) ? '' : '.'}` : whole;
}

// Steps

function stepsOf(solved, card) {
  if (!solved.steps.length) return [];
  const numbers = new Map(solved.inputs.map((input, place) => [input.name, place]));
  const question = make('p', { class: 'asked' });
  for (const [place, word] of solved.words.entries()) {
    if (word.space && place && word.text) question.append(' ');
    question.append(word.name ? number(word.text, word.name, numbers, card, 'button') : make('span', { class: word.known ? null : 'strange', title: word.known ? null : 'training did not have this word', text: word.text }));
  }
  question.append(solved.rest);
  const steps = solved.steps.map((step, place) => {
    const sum = make('span', { class: 'sum' });
    for (const part of step.parts.slice(0, -1)) {
      sum.append(part.name ? number(part.text, part.name, numbers, card) : part.text);
    }
    sum.append(number(step.parts.at(-1).text, `#${place}`, numbers, card, 'b'));
    return make('li', {}, sum, make('span', { class: 'said', text: step.words }));
  });
  return [make('h3', { text: 'Step by step' }), question, make('ol', { class: 'steps' }, ...steps)];
}

// A number with the colour of its name; what has the same name is marked with it.
function number(text, name, numbers, card, tag = 'span') {
  const known = numbers.has(name) || name.startsWith('#');
  const element = make(tag, { class: known ? 'num' : null, type: tag === 'button' ? 'button' : null, 'data-name': known ? name : null, text });
  if (!known) return element;
  if (numbers.has(name)) element.dataset.colour = String(numbers.get(name) % 6);
  link(element, name, card);
  return element;
}

// Evidence

function evidence(solved) {
  const near = solved.nearest;
  if (!near || solved.verdict.state === 'open') return [];
  if (near.similarity < TOLD) return [make('p', { class: 'evidence', text: 'I know no question that is like this one.' })];
  return [make('p', { class: 'evidence' }, `The nearest question that I learned from (${percent(near.similarity)} alike): `, make('q', { text: near.text }))];
}

function factsOf(solved) {
  const sure = solved.calibrated && !solved.error && solved.verdict.chance ? `confidence ${solved.confidence > 0.99 ? 'over 99\u00a0%' : percent(solved.confidence)}; a guess below ${percent(solved.guess_below)} · ` : '';
  return `${sure}${solved.model} · ${Math.round(solved.milliseconds).toLocaleString('en')} ms`;
}
