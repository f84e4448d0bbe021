// The link that restores a view: everything is behind the # of the address, which browsers do not send anywhere.

export function writeLink(view) {
  const state = new URLSearchParams({ model: view.model });
  if (view.question) {
    state.set('q', view.question);
    if (view.second) state.set('with', view.second);
    if (view.options) state.set('options', view.options);
    if (view.beam) state.set('beam', String(view.beam));
    if (view.below !== null) state.set('below', String(view.below));
    if (view.abstain) state.set('abstain', '1');
    if (view.inside) state.set('inside', '1');
    if (Object.keys(view.values).length) state.set('values', JSON.stringify(view.values));
  }
  return `#${state}`;
}

// What a link says; what it says wrongly is left out.
export function readLink(hash) {
  const state = new URLSearchParams(hash.slice(1));
  const number = (name, least, most) => {
    const found = Number.parseFloat(state.get(name) ?? '');
    return found >= least && found <= most ? found : null;
  };
  let values = {};
  try { values = JSON.parse(state.get('values') ?? '{}') ?? {}; } catch { /* The rest is restored. */ }
  return {
    model: state.get('model'), question: state.get('q') ?? '', second: state.get('with') ?? '', options: state.get('options') ?? '',
    beam: number('beam', 0, 10) ?? 0, below: number('below', 0, 1), abstain: state.get('abstain') === '1', inside: state.get('inside') === '1',
    values: typeof values === 'object' && !Array.isArray(values) ? values : {},
  };
}

export async function copyLink(button, field) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = before; }, 2000);
  } catch {
    // Without the right to write to the clipboard, the person copies it.
    field.hidden = false;
    field.value = location.href;
    field.focus();
    field.select();
  }
}
