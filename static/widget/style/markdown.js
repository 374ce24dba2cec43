// An answer's text: paragraphs, lists, code, tables.

export const markdown = `
.markdown { overflow-wrap: anywhere; line-height: 1.5; }
.markdown.plain, .markdown .plain { white-space: pre-wrap; }
.markdown > * { margin-block: 0.75em; }
.markdown > :first-child { margin-block-start: 0; }
.markdown > :last-child { margin-block-end: 0; }
.markdown h4 { margin-block: 1.1em 0.5em; font: inherit; font-weight: 650; }
.markdown :is(ul, ol) { padding-inline-start: 1.5em; }
.markdown li :is(ul, ol, p) { margin-block: 0.25em; }
.markdown li + li { margin-block-start: 0.25em; }
.markdown a { color: var(--_accent); text-decoration: underline; text-underline-offset: 0.15em; unicode-bidi: isolate; }
.markdown a[data-host]::after { content: " (" attr(data-host) ")"; color: var(--_soft); }
.markdown blockquote { margin-inline: 0; padding-inline-start: 0.875em; border-inline-start: 0.1875rem solid var(--_line); color: var(--_soft); }
.markdown hr { border: 0; border-block-start: 1px solid var(--_line); }
.markdown :is(code, pre) { font-family: var(--_mono); font-size: 0.875em; }
.markdown :not(pre) > code { padding: 0.1em 0.3em; border-radius: 0.25rem; background: var(--_sheet); }
.markdown .code { overflow: hidden; border: 1px solid var(--_line); border-radius: calc(var(--_radius) * 0.6); background: var(--_sheet); }
.markdown .bar { display: flex; align-items: center; justify-content: space-between; gap: 1rem; padding: 0.125rem 0.375rem 0.125rem 0.75rem; border-block-end: 1px solid var(--_line); color: var(--_soft); font-size: 0.8125em; }
.markdown .copy { min-block-size: 1.5rem; padding: 0.125rem 0.5rem; border: 0; border-radius: 0.375rem; background: none; color: inherit; font: inherit; cursor: pointer; }
.markdown .copy:hover { background: var(--_line); color: var(--_ink); }
.markdown pre { margin: 0; padding: 0.625rem 0.75rem; overflow-x: auto; tab-size: 4; white-space: pre; overflow-wrap: normal; line-height: 1.45; }
.markdown pre code { font-size: inherit; }
.markdown .table { overflow-x: auto; }
.markdown table { border-collapse: collapse; overflow-wrap: normal; font-size: 0.9375em; font-variant-numeric: tabular-nums; }
.markdown :is(th, td) { padding: 0.375rem 0.75rem; border: 1px solid var(--_line); text-align: start; vertical-align: top; }
.markdown th { background: var(--_sheet); font-weight: 600; }
.markdown [data-side="center"] { text-align: center; }
.markdown [data-side="end"] { text-align: end; }
.markdown :is(a, .copy, pre, .table):focus-visible { outline: 2px solid var(--_accent); outline-offset: 1px; }
.markdown pre:focus-visible { outline-offset: -2px; }
`;
