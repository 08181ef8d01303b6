// Finds the forms of a page: enough HTML for login and consent pages.

/** A form as a person could submit it. */
export interface HtmlForm {
  readonly action: string;
  readonly method: 'GET' | 'POST';
  /** Names and values as the page has them; buttons are not among them. */
  readonly fields: Readonly<Record<string, string>>;
  /** Boxes that are not ticked. */
  readonly checkboxes: readonly { readonly name: string; readonly value: string }[];
  readonly buttons: readonly { readonly name: string; readonly value: string; readonly text: string }[];
}

/** All forms, in order. */
export function readForms(html: string): HtmlForm[] {
  return [...html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/gi)].map(([, head = '', content = '']) => {
    const attributes = readAttributes(head);
    const inputs = [...content.matchAll(/<input\b([^>]*)>/gi)].map(([, text = '']) => readAttributes(text));
    const isButton = (input: Map<string, string>): boolean => input.get('type')?.toLowerCase() === 'submit';
    const isUnchecked = (input: Map<string, string>): boolean =>
      ['checkbox', 'radio'].includes(input.get('type')?.toLowerCase() ?? '') && !input.has('checked');
    const buttons = [...content.matchAll(/<button\b([^>]*)>([\s\S]*?)<\/button>/gi)].map(
      ([, text = '', label = '']) => {
        const button = readAttributes(text);
        const visible = decodeEntities(label.replace(/<[^>]*>/g, ' ')).trim();
        return { name: button.get('name') ?? '', value: button.get('value') ?? '', text: visible };
      },
    );
    return {
      action: attributes.get('action') ?? '',
      method: attributes.get('method')?.toUpperCase() === 'POST' ? 'POST' : 'GET',
      fields: Object.fromEntries(
        inputs
          .filter((input) => input.has('name') && !isButton(input) && !isUnchecked(input))
          .map((input) => [input.get('name')!, input.get('value') ?? '']),
      ),
      checkboxes: inputs
        .filter((input) => input.has('name') && input.get('type')?.toLowerCase() === 'checkbox' && isUnchecked(input))
        .map((input) => ({ name: input.get('name')!, value: input.get('value') ?? 'on' })),
      buttons: [
        ...buttons,
        ...inputs.filter(isButton).map((input) => {
          const value = input.get('value') ?? '';
          return { name: input.get('name') ?? '', value, text: value };
        }),
      ],
    };
  });
}

function readAttributes(text: string): Map<string, string> {
  const pattern = /([^\s"'>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g;
  return new Map(
    [...text.matchAll(pattern)].map(([, name = '', double, single, bare]) => [
      name.toLowerCase(),
      decodeEntities(double ?? single ?? bare ?? ''),
    ]),
  );
}

const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decodeEntities(text: string): string {
  return text.replace(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (whole, hex?: string, decimal?: string, name?: string) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    return named[name ?? ''] ?? whole;
  });
}
