// Asks the server behind the page. Every answer is JSON, and so is every error.

export async function call(path, body, signal) {
  const options = body === undefined ? { signal } : {
    signal, method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body),
  };
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Error('The server does not answer. Is tpn2f serve still running?');
  }
  const answer = await response.json().catch(() => ({ error: `The server answered with status ${response.status}.` }));
  if (!response.ok) {
    const error = new Error(answer.error ?? `The server answered with status ${response.status}.`);
    throw Object.assign(error, { status: response.status });
  }
  return answer;
}

export const pause = (milliseconds) => new Promise((done) => { setTimeout(done, milliseconds); });
