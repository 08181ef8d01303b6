// The panel with the rule in force: its text with the lines that the last change added, and the buttons that choose another prepared variant.
import { createElement, describeError, setText } from './elements.js';

/** A line whose continuation, where it is too long for the screen, is indented below it. */
function showLine(line, isNew) {
  const element = createElement(isNew ? 'mark' : 'span', 'line', `${line}\n`);
  const indent = line.length - line.trimStart().length + 2;
  element.style.setProperty('--indent', `${indent}ch`);
  return element;
}

/** Makes the panel work. `onRule(rule)` hears of every rule that comes into force. */
export function createRulePanel(onRule) {
  const code = document.querySelector('#rule code');
  const buttons = document.querySelector('#rule-buttons');
  const state = document.querySelector('#rule-state');
  let shown;

  function show(rule) {
    if (rule.variant === shown?.variant) return;
    const before = shown?.yaml.split('\n');
    const lines = rule.yaml.trimEnd().split('\n');
    code.replaceChildren(...lines.map((line) => showLine(line, before !== undefined && !before.includes(line))));
    const hadFocus = buttons.contains(document.activeElement);
    buttons.replaceChildren(
      ...rule.choices.map(({ variant, button }) => {
        const element = createElement('button', '', button);
        element.type = 'button';
        element.addEventListener('click', () => void choose(variant, button));
        return element;
      }),
    );
    if (hadFocus) buttons.querySelector('button')?.focus();
    shown = rule;
    onRule(rule);
  }

  async function choose(variant, button) {
    for (const each of buttons.querySelectorAll('button')) each.disabled = true;
    try {
      const response = await fetch('/demo/rule', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ variant }),
      });
      const answer = await response.json();
      if (!response.ok) throw new Error(answer.problem);
      show(answer);
      setText(state, `“${button}”: the changed rule is in force since ${new Date().toLocaleTimeString()}.`);
    } catch (error) {
      setText(state, `The rule was not changed. ${describeError(error)}`);
    }
    for (const each of buttons.querySelectorAll('button')) each.disabled = false;
  }

  async function refresh() {
    const response = await fetch('/demo/rule').catch(() => undefined);
    if (response?.ok) show(await response.json());
  }

  return {
    refresh,
    /** Somebody else may have changed the rule, in another tab. */
    notice: (variant) => (variant !== shown?.variant ? refresh() : undefined),
  };
}
