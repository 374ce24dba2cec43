// Cards that wait for a person, what they fold to, and the timeline of tools.

export const cards = `
.card, .settled, .tools { overflow-wrap: anywhere; }

.card {
  padding: 0.9em 1em 1em;
  border: 1px solid var(--_warn-line);
  border-inline-start-width: 4px;
  border-radius: calc(var(--_radius) * 0.75);
  background: var(--_warn);
  color: var(--_ink);
}
.card.question { border-color: var(--_line); border-inline-start-color: var(--_accent); background: var(--_sheet); }
.card.elsewhere { border-color: var(--_line); background: var(--_sheet); }
.card p, .settled p, .tools p { margin: 0; }
.card-title { margin: 0; font-size: 1em; font-weight: 650; line-height: 1.4; }
.elsewhere .card-title { font-weight: 400; }
.question .card-title { color: var(--_soft); font-size: 0.875em; font-weight: 400; }
.card-reason { padding-block-start: 0.25em; }
.card-time { padding-block-start: 0.5em; color: var(--_soft); font-size: 0.875em; }
.card-problem { padding-block-start: 0.5em; color: var(--_bad); font-size: 0.9375em; }
.card-problem:empty { display: none; }
.tool-name { font: 0.9375em/1.4 var(--_mono); }

.box {
  max-block-size: 14em;
  overflow: auto;
  margin: 0.6em 0 0;
  padding: 0.6em 0.75em;
  border: 1px solid var(--_line);
  border-radius: calc(var(--_radius) * 0.5);
  background: var(--_page);
  color: var(--_ink);
  font: 0.8125em/1.5 var(--_mono);
  white-space: pre-wrap;
  overflow-wrap: anywhere;
  text-align: start;
  unicode-bidi: plaintext;
}
.settled .box, .tools .box { font-size: 0.93em; }
.box.args { unicode-bidi: normal; }
.box.bad { color: var(--_bad); }

.actions { display: flex; flex-wrap: wrap; gap: 0.5em; padding-block-start: 0.75em; }
.actions button {
  min-block-size: 2.5em;
  padding: 0.35em 0.9em;
  border: 1px solid var(--_edge);
  border-radius: calc(var(--_radius) * 0.6);
  background: var(--_page);
  color: var(--_ink);
  font: inherit;
  font-size: 0.9375em;
  font-weight: 550;
  cursor: pointer;
}
.actions button.primary { border-color: var(--_accent); background: var(--_accent); color: var(--_on-accent); }
.actions button:hover { border-color: var(--_ink); }
.actions button.primary:hover { border-color: var(--_accent); filter: brightness(1.1); }
.actions button[aria-disabled="true"] { opacity: 0.55; cursor: default; }
.card button:focus-visible, .card :is(input, textarea):focus-visible, .box:focus-visible, .tools :focus-visible, .settled :focus-visible {
  outline: 2px solid var(--_accent);
  outline-offset: 2px;
}

fieldset { min-inline-size: 0; margin: 0.25em 0 0; padding: 0; border: 0; }
fieldset + fieldset { margin-block-start: 0.9em; }
legend { padding: 0; font-weight: 600; }
.choice { display: flex; align-items: baseline; gap: 0.6em; min-block-size: 24px; padding-block: 0.3em; cursor: pointer; }
.choice input { flex: none; inline-size: 1.1em; block-size: 1.1em; margin: 0; translate: 0 0.15em; accent-color: var(--_accent); cursor: pointer; }
.choice small { display: block; color: var(--_soft); font-size: 0.875em; }
fieldset textarea {
  box-sizing: border-box;
  inline-size: 100%;
  min-block-size: 2.5em;
  max-block-size: 10em;
  margin-block-start: 0.35em;
  padding: 0.5em 0.7em;
  border: 1px solid var(--_edge);
  border-radius: calc(var(--_radius) * 0.6);
  background: var(--_page);
  color: var(--_ink);
  font: inherit;
  resize: none;
  field-sizing: content;
}
fieldset textarea::placeholder { color: var(--_soft); opacity: 1; }

.settled, .tools { color: var(--_soft); font-size: 0.875em; line-height: 1.5; }
p.settled { margin: 0; }
.settled strong { color: var(--_ink); font-weight: 550; }
.mark { color: var(--_accent); font-weight: 700; }
.mark.no { color: var(--_bad); }

.settled summary, .tools summary { inline-size: fit-content; max-inline-size: 100%; min-block-size: 24px; cursor: pointer; list-style: none; }
.settled summary::-webkit-details-marker, .tools summary::-webkit-details-marker { display: none; }
.settled summary::after, .tools summary::after {
  content: "";
  display: inline-block;
  inline-size: 0.4em;
  block-size: 0.4em;
  margin-inline: 0.5em 0.2em;
  border: solid currentColor;
  border-width: 0 1.5px 1.5px 0;
  vertical-align: 0.2em;
  rotate: 45deg;
}
.settled[open] > summary::after, .tools[open] > summary::after, .step > details[open] > summary::after { rotate: 225deg; vertical-align: 0; }

.tools > summary::before, .step::before {
  content: "";
  display: inline-block;
  inline-size: 0.5em;
  block-size: 0.5em;
  margin-inline-end: 0.55em;
  border-radius: 50%;
  background: var(--_accent);
  vertical-align: 0.1em;
}
.tools[data-state="failed"] > summary::before, .step:not([data-state="ok"], [data-state="running"])::before { background: var(--_bad); }
.tools[data-state="running"] > summary::before, .step[data-state="running"]::before { animation: portico-pulse 1.4s ease-in-out infinite; }
@keyframes portico-pulse { 50% { opacity: 0.25; } }
.tools .tool-name { color: var(--_ink); }
.time { font-variant-numeric: tabular-nums; }
.tools :is(.failures, .time:not(:empty))::before { content: "· "; color: var(--_soft); }
.failures, .step:not([data-state="ok"], [data-state="running"]) .state { color: var(--_bad); }

.steps { display: grid; gap: 0.35em; margin: 0.4em 0 0; padding: 0; padding-inline-start: 0.2em; list-style: none; }
.step { display: grid; grid-template-columns: auto minmax(0, 1fr); align-items: baseline; min-block-size: 24px; }
.step:not(:has(details)) { display: block; }
/* the group's line has said it already */
.step[data-state="ok"]:only-child:has(details)::before, .step[data-state="ok"]:only-child > details > summary { display: none; }
.step:only-child .label:first-of-type { padding-block-start: 0; }
.tools .label { padding-block-start: 0.6em; font-size: 0.9375em; }
.tools .label + .box { margin-block-start: 0.2em; }

@media (prefers-reduced-motion: reduce) {
  .tools[data-state="running"] > summary::before, .step[data-state="running"]::before { animation: none; }
}
@media (forced-colors: active) {
  .tools > summary::before, .step::before { forced-color-adjust: none; }
}
`;
