// The script of the live page: a text, because the gateway is one file in its images. It writes text only, never markup: names come from clients.

/** Served as /live/script.js. */
export const liveScript = `'use strict';
const shown = 200;
const find = (id) => document.getElementById(id);
const list = find('requests');
const pause = find('pause');
const clear = find('clear');
let source;
let isPaused = false;
let skipped = 0;

function say(text) {
  if (find('state').textContent !== text) find('state').textContent = text;
}

function make(name, className, text) {
  const element = document.createElement(name);
  if (className !== '') element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function cell(row, label, ...parts) {
  const made = make('td', '');
  made.dataset.label = label;
  const content = make('div', '');
  content.append(...parts);
  made.append(content);
  row.append(made);
  return made;
}

function formatTime(iso) {
  return iso.slice(11, 23) + 'Z';
}

function formatDuration(milliseconds) {
  return milliseconds < 10000 ? milliseconds + ' ms' : (milliseconds / 1000).toFixed(1) + ' s';
}

function judge(status) {
  return status >= 500 ? 'bad' : status >= 400 ? 'wait' : 'good';
}

function describeMessage(message) {
  if (message === null) return [make('span', 'soft', 'not read')];
  const parts = [make('span', '', message.method)];
  if (message.item !== null) parts.push(' ', make('code', '', message.item));
  if (message.count > 1) parts.push(make('span', 'soft', ' in a batch of ' + message.count));
  return parts;
}

function addRow(request) {
  const row = make('tr', '');
  const time = make('time', '', formatTime(request.time));
  time.dateTime = request.time;
  cell(row, 'Time', time);
  const status = make('strong', judge(request.status), String(request.status));
  cell(row, 'Outcome', ...(request.reason === null ? [status] : [status, ' ', make('code', '', request.reason)]));
  const name = make('code', '', request.method + ' ' + request.path);
  if (request.isJudged) {
    const link = make('a', '');
    link.href = '/requests/' + encodeURIComponent(request.id);
    link.append(name);
    cell(row, 'Request', link);
  } else cell(row, 'Request', name);
  cell(row, 'MCP message', ...describeMessage(request.message));
  cell(row, 'Route', request.route === null ? make('span', 'soft', 'none') : request.route);
  cell(row, 'Took', formatDuration(request.milliseconds)).className = 'number';
  list.prepend(row);
}

function take(event) {
  const batch = JSON.parse(event.data);
  for (const request of batch.requests) addRow(request);
  while (list.children.length > shown) list.lastElementChild.remove();
  skipped += batch.skipped;
  find('skipped').textContent = skipped === 0 ? '' : skipped + ' more were skipped: there are too many to show.';
  find('empty').hidden = true;
}

function connect() {
  say('connecting');
  source = new EventSource('/live/events');
  source.addEventListener('hello', () => say('watching'));
  source.addEventListener('requests', take);
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED) return say('the gateway is gone; trying again');
    say('refused: too many pages watch already, or you are not logged in any more');
    isPaused = true;
    pause.textContent = 'Try again';
  };
}

pause.addEventListener('click', () => {
  isPaused = !isPaused;
  pause.textContent = isPaused ? 'Resume' : 'Pause';
  if (!isPaused) return connect();
  source.close();
  say('paused');
});

clear.addEventListener('click', () => {
  list.replaceChildren();
  skipped = 0;
  find('skipped').textContent = '';
  find('empty').hidden = false;
});

pause.disabled = false;
clear.disabled = false;
connect();
`;
