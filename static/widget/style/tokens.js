// The colours and measures of the widget. A page sets the public properties (`--portico-…`); everything else of the style reads those below.
//
// `light-dark()` follows the page's own `color-scheme`: on a page that is light on every system, so is the widget.

export const tokens = `
:host {
  --_page: var(--portico-background, light-dark(#ffffff, #16191d));
  --_sheet: var(--portico-surface, light-dark(#f3f4f2, #20252a));
  --_mine: var(--portico-user, light-dark(#e0eded, #1f3a3e));
  --_ink: var(--portico-text, light-dark(#1b1f24, #e9ebec));
  --_soft: var(--portico-muted, light-dark(#59626c, #a2acb5));
  --_line: var(--portico-border, light-dark(#dcdeda, #343b41));
  --_edge: var(--portico-control-border, light-dark(#767f88, #7e8993));
  --_accent: var(--portico-accent, light-dark(#14606b, #6fc3cc));
  --_on-accent: var(--portico-on-accent, light-dark(#ffffff, #0d2326));
  --_bad: var(--portico-danger, light-dark(#a3261f, #ff9d94));
  --_warn: var(--portico-warning, light-dark(#fff4dc, #352b15));
  --_warn-line: var(--portico-warning-border, light-dark(#b88519, #a8812d));
  --_radius: var(--portico-radius, 0.875rem);
  --_font: var(--portico-font, system-ui, sans-serif);
  --_size: var(--portico-font-size, 0.9375rem);
  --_mono: var(--portico-mono, ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace);
}
`;
