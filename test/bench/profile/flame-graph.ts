// A flame graph in one HTML file: what is wide took long. A click goes into a function, a click on what is above it back; words are searched for.
import type { CallNode } from './call-tree.ts';

export interface FlameGraphOptions {
  readonly title: string;
  /** Writes a weight out, for the tooltip. */
  readonly format: (weight: number) => string;
}

interface Frame {
  readonly name: string;
  readonly place: string;
  readonly depth: number;
  /** As parts of the whole. */
  readonly left: number;
  readonly width: number;
  readonly text: string;
}

/** What is narrower than that is not drawn: nobody could see it. */
const narrowest = 0.000_5;

/** The frames of a tree, outermost first. Heavy children come first, so that two graphs of the same program look alike. */
export function layOutFrames(root: CallNode, format: FlameGraphOptions['format']): readonly Frame[] {
  const frames: Frame[] = [];
  const visit = ({ name, place, self, total, children }: CallNode, depth: number, left: number): void => {
    const width = total / root.total;
    if (width < narrowest) return;
    const share = `${(100 * width).toFixed(1)} %`;
    const text = `${name} ${place}\n${format(total)} (${share}), of its own ${format(self)}`;
    frames.push({ name, place, depth, left, width, text });
    let at = left;
    for (const child of children.toSorted((a, b) => b.total - a.total)) {
      visit(child, depth + 1, at);
      at += child.total / root.total;
    }
  };
  if (root.total > 0) visit(root, 0, 0);
  return frames;
}

/** The whole page. */
export function renderFlameGraph(root: CallNode, { title, format }: FlameGraphOptions): string {
  const frames = layOutFrames(root, format);
  const depth = Math.max(0, ...frames.map((frame) => frame.depth)) + 1;
  const boxes = frames.map(
    ({ name, place, depth: row, left, width, text }) =>
      `<div class="${chooseColor(place)}" data-l="${left.toFixed(6)}" data-w="${width.toFixed(6)}" style="top:${row * 18}px" title="${escapeHtml(text)}">${escapeHtml(name)}</div>`,
  );
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>${escapeHtml(title)}</title>
<style>
  :root { color-scheme: light dark; }
  body { font: 13px system-ui, sans-serif; margin: 12px; }
  #graph { position: relative; height: ${depth * 18}px; margin-top: 8px; }
  #graph div { position: absolute; height: 17px; overflow: hidden; white-space: nowrap; font: 11px/17px ui-monospace, monospace; color: #111; cursor: pointer; text-indent: 2px; border-radius: 2px; }
  .ours { background: #f2a65a; } .package { background: #8fc1e3; } .node { background: #a8d5a2; } .v8 { background: #c9c3d8; }
  #graph div.hit { background: #e03e8c; color: #fff; }
  span { padding: 1px 6px; border-radius: 2px; color: #111; }
</style>
<b>${escapeHtml(title)}</b> <span class="ours">gateway</span> <span class="package">packages</span> <span class="node">node</span> <span class="v8">V8</span>
<input id="search" placeholder="search" aria-label="search"> <output id="found"></output>
<div id="graph">
${boxes.join('\n')}
</div>
<script>
const boxes = [...document.querySelectorAll('#graph div')].map((box) => ({ box, left: +box.dataset.l, width: +box.dataset.w }));
function show(from, width) {
  for (const each of boxes) {
    const start = Math.max(0, (each.left - from) / width), end = Math.min(1, (each.left + each.width - from) / width);
    each.box.style.display = end - start > 0.0005 ? '' : 'none';
    each.box.style.left = 100 * start + '%';
    each.box.style.width = 'calc(' + 100 * (end - start) + '% - 1px)';
  }
}
for (const { box, left, width } of boxes) box.addEventListener('click', () => show(left, width));
document.querySelector('#search').addEventListener('input', ({ target }) => {
  let found = 0, upTo = -1;
  for (const { box, left, width } of boxes) {
    const hit = target.value !== '' && box.title.toLowerCase().includes(target.value.toLowerCase());
    box.classList.toggle('hit', hit);
    if (hit && left >= upTo - 1e-9) { found += width; upTo = left + width; }
  }
  document.querySelector('#found').textContent = target.value === '' ? '' : (100 * found).toFixed(1) + ' %';
});
show(0, 1);
</script>
`;
}

/** By who wrote it. */
function chooseColor(place: string): string {
  if (place === '') return 'v8';
  if (place.startsWith('node:')) return 'node';
  return place.startsWith('src/') ? 'ours' : 'package';
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
