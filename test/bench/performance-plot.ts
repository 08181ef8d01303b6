// The plot of docs/performance.md: a bar for what a request costs each proxy. Readable on light and dark pages, as it brings its own background.
import { formatNumber } from './bench-report.ts';
import type { Bar } from './bench-result.ts';

const width = 760;
const left = 150;
const right = 90;
const rowHeight = 24;
const groupHeight = 34;
const top = 56;
const bottom = 40;

const style = `
  svg { --page: #ffffff; --text: #1f2937; --quiet: #6b7280; --line: #e5e7eb; --ours: #2563eb; --peer: #9ca3af; }
  @media (prefers-color-scheme: dark) {
    svg { --page: #0d1117; --text: #e6edf3; --quiet: #9aa4b2; --line: #2a313c; --ours: #58a6ff; --peer: #6e7681; }
  }
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: var(--text); }
  .title { font-size: 16px; font-weight: 600; }
  .group { font-weight: 600; }
  .quiet { fill: var(--quiet); font-size: 12px; }
  .page { fill: var(--page); }
  .ours { fill: var(--ours); }
  .peer { fill: var(--peer); }
  .grid { stroke: var(--line); }
  .spread { stroke: var(--text); stroke-width: 1.5; }`;

/** A bar chart as SVG, in groups. */
export function renderPlot(bars: readonly Bar[]): string {
  const groups = Map.groupBy(bars, ({ group }) => group);
  const longest = Math.max(1, ...bars.map(({ value, spread }) => value * (1 + spread / 2)));
  const step = chooseStep(longest);
  const end = Math.ceil(longest / step) * step;
  const place = (value: number): number => left + (value / end) * (width - left - right);
  const height = top + groups.size * groupHeight + bars.length * rowHeight + bottom;
  const ticks = Array.from({ length: Math.round(end / step) + 1 }, (_, index) => index * step);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="plot-title plot-text">`,
    '<title id="plot-title">CPU per request</title>',
    `<desc id="plot-text">${escapeXml(describe(groups))}</desc>`,
    `<style>${style}\n</style>`,
    `<rect class="page" width="${width}" height="${height}" rx="8"/>`,
    '<text class="title" x="16" y="28">CPU per request, microseconds</text>',
    `<rect class="ours" x="${width - 232}" y="17" width="12" height="12" rx="2"/><text class="quiet" x="${width - 214}" y="27">this gateway</text>`,
    `<rect class="peer" x="${width - 116}" y="17" width="12" height="12" rx="2"/><text class="quiet" x="${width - 98}" y="27">other proxies</text>`,
    ...ticks.flatMap((value) => [
      `<line class="grid" x1="${round(place(value))}" x2="${round(place(value))}" y1="${top - 8}" y2="${height - bottom + 4}"/>`,
      `<text class="quiet" x="${round(place(value))}" y="${height - bottom + 22}" text-anchor="middle">${value}</text>`,
    ]),
  ];
  let y = top;
  for (const [group, members] of groups) {
    y += groupHeight;
    parts.push(`<text class="group" x="16" y="${y - 10}">${escapeXml(group)}</text>`);
    for (const bar of members) {
      parts.push(...renderBar(bar, y, place));
      y += rowHeight;
    }
  }
  return `${[...parts, '</svg>'].join('\n')}\n`;
}

function renderBar({ label, ours, value, spread }: Bar, y: number, place: (value: number) => number): string[] {
  const middle = y + rowHeight / 2;
  const [low, high] = [place(value * (1 - spread / 2)), place(value * (1 + spread / 2))];
  return [
    `<text x="${left - 10}" y="${middle + 4}" text-anchor="end">${escapeXml(label)}</text>`,
    `<rect class="${ours ? 'ours' : 'peer'}" x="${left}" y="${y + 4}" width="${round(place(value) - left)}" height="${rowHeight - 8}" rx="2"/>`,
    `<line class="spread" x1="${round(low)}" x2="${round(high)}" y1="${middle}" y2="${middle}"/>`,
    `<text x="${round(high + 8)}" y="${middle + 4}">${formatNumber(value)}</text>`,
  ];
}

/** The same in words, for who cannot see it. */
function describe(groups: ReadonlyMap<string, readonly Bar[]>): string {
  return [...groups]
    .map(
      ([group, bars]) => `${group}: ${bars.map(({ label, value }) => `${label} ${formatNumber(value)}`).join(', ')}.`,
    )
    .join(' ');
}

/** Some five lines, at numbers that people like. */
function chooseStep(longest: number): number {
  const rough = longest / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough)!;
}

function round(value: number): string {
  return value.toFixed(1).replace(/\.0$/, '');
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
