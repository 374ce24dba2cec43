// The frame: launcher, header, conversation, composer. What stands in a row has sheets of its own.

export const panel = `
:host { display: block; block-size: 36rem; min-block-size: 18rem; }
:host([hidden]) { display: none; }
:host([mode="launcher"]) { position: fixed; block-size: auto; min-block-size: 0; }
/* what a page's text inherits would change what is read here, and a rule of its own for all elements comes before those for :host */
.frame {
  all: initial;
  box-sizing: border-box;
  display: block;
  block-size: 100%;
  color: var(--_ink);
  color-scheme: inherit;
  font: var(--_size)/1.5 var(--_font);
  pointer-events: inherit;
  visibility: inherit;
}
:host([theme="light"]) .frame { color-scheme: light; }
:host([theme="dark"]) .frame { color-scheme: dark; }
:host([mode="launcher"]) .frame {
  position: fixed;
  inset-block-end: var(--portico-inset-block, max(1.25rem, env(safe-area-inset-bottom)));
  inset-inline-end: var(--portico-inset-inline, max(1.25rem, env(safe-area-inset-right)));
  z-index: var(--portico-z-index, 9999);
  block-size: auto;
}
*, ::before, ::after { box-sizing: border-box; }
[hidden] { display: none !important; }
button { font: inherit; color: inherit; cursor: pointer; }
:focus-visible { outline: 2px solid var(--_accent); outline-offset: 2px; }
svg {
  inline-size: 1.35rem;
  block-size: 1.35rem;
  fill: none;
  stroke: currentColor;
  stroke-width: 1.9;
  stroke-linecap: round;
  stroke-linejoin: round;
}
.unseen { position: absolute; inline-size: 1px; block-size: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

.panel {
  display: flex;
  flex-direction: column;
  block-size: 100%;
  min-block-size: 0;
  overflow: hidden;
  border: 1px solid var(--_line);
  border-radius: var(--_radius);
  background: var(--_page);
}
:host([mode="launcher"]) .panel {
  position: absolute;
  inset-block-end: 4.25rem;
  inset-inline-end: 0;
  inline-size: min(25rem, calc(100vw - 2.5rem));
  block-size: min(40rem, calc(100dvh - 7rem));
  box-shadow: 0 1.25rem 3rem -0.75rem rgb(0 0 0 / 0.28), 0 0.25rem 0.75rem rgb(0 0 0 / 0.1);
  animation: rise 0.16s ease-out;
}
@keyframes rise { from { opacity: 0; translate: 0 0.5rem; } }

.launcher {
  position: relative;
  display: grid;
  place-items: center;
  inline-size: 3.5rem;
  block-size: 3.5rem;
  border: 0;
  border-radius: 50%;
  background: var(--_accent);
  color: var(--_on-accent);
  box-shadow: 0 0.4rem 1.25rem rgb(0 0 0 / 0.25);
}
.launcher svg { inline-size: 1.6rem; block-size: 1.6rem; }
.badge {
  position: absolute;
  inset-block-start: -0.2rem;
  inset-inline-end: -0.2rem;
  min-inline-size: 1.4rem;
  padding-inline: 0.35rem;
  border-radius: 1rem;
  outline: 2px solid var(--_page);
  background: var(--_bad);
  color: var(--_page);
  font-size: 0.8125rem;
  font-weight: 650;
  line-height: 1.4rem;
}
.badge:empty { display: none; }

.head {
  display: flex;
  align-items: center;
  gap: 0.25rem;
  padding: 0.5rem 0.5rem 0.5rem 1rem;
  padding-inline: 1rem 0.5rem;
  border-block-end: 1px solid var(--_line);
}
.heading { margin: 0; overflow: hidden; font-size: 1em; font-weight: 650; text-overflow: ellipsis; white-space: nowrap; }
.head .state { flex: 1; margin: 0; padding-inline: 0.5rem; color: var(--_soft); font-size: 0.8125rem; text-align: end; }
/* a connection that is there at once needs no word */
.state[data-state="connecting"] { animation: late 1.2s; }
@keyframes late { 0%, 80% { opacity: 0; } }
.icon, .send, .stop {
  display: grid;
  flex: none;
  place-items: center;
  inline-size: 2.25rem;
  block-size: 2.25rem;
  padding: 0;
  border: 0;
  border-radius: 50%;
}
.icon { background: none; color: var(--_soft); }
.icon:hover { background: var(--_sheet); color: var(--_ink); }

.middle { position: relative; display: flex; flex: 1; min-block-size: 0; }
.log {
  flex: 1;
  min-inline-size: 0;
  padding: 0.75rem 0.75rem 1rem;
  overflow-y: auto;
  overflow-anchor: none;
  overscroll-behavior: contain;
  scrollbar-width: thin;
}
.content { display: flex; flex-direction: column; min-block-size: 100%; }
.log:focus-visible { outline-offset: -3px; }
.list, .empty, .typing, .foot > * { inline-size: 100%; max-inline-size: 46rem; margin-inline: auto; }
.list { display: flex; flex-direction: column; gap: 0.35rem; margin-block: 0; padding: 0; list-style: none; }
/* the padding keeps outlines, which this containment would cut */
.list > li { padding: 0.25rem; overflow-wrap: anywhere; content-visibility: auto; contain-intrinsic-size: auto 5rem; }
.list > li:nth-last-child(-n + 3) { content-visibility: visible; }
/* it stands in a list, and is none of that list's */
.list ul { list-style-type: disc; }
.earlier { display: block; margin: 0 auto 0.5rem; }
.empty { display: grid; gap: 1rem; margin-block-start: auto; padding: 1rem 0.25rem 0.25rem; }
.greeting { margin: 0; font-size: 1.25em; font-weight: 600; line-height: 1.35; text-wrap: balance; }
.chips { display: flex; flex-wrap: wrap; gap: 0.5rem; }
.chip {
  min-block-size: 2.25rem;
  padding: 0.3rem 0.9rem;
  border: 1px solid var(--_edge);
  border-radius: 1.25rem;
  background: none;
  text-align: start;
}
.chip:hover { border-color: var(--_accent); color: var(--_accent); }

.plain { white-space: pre-wrap; }
.message[data-role="user"] { display: flex; flex-direction: column; align-items: end; padding-inline-start: 14%; }
.message[data-role="user"] .plain {
  max-inline-size: 100%;
  padding: 0.5rem 0.85rem;
  border-radius: 1.1rem;
  border-end-end-radius: 0.3rem;
  background: var(--_mine);
}
.message[data-role="human"] { margin-inline-start: 0.25rem; padding-inline-start: 0.75rem; border-inline-start: 3px solid var(--_accent); }
.who { color: var(--_accent); font-size: 0.8125rem; font-weight: 650; }
.queued .plain, [data-kind="outgoing"] .plain { opacity: 0.75; }
[data-state="refused"] .plain { outline: 1px solid var(--_bad); opacity: 1; }
.under {
  display: flex;
  flex-wrap: wrap;
  align-items: baseline;
  justify-content: end;
  gap: 0 0.75rem;
  margin: 0.15rem 0 0;
  color: var(--_soft);
  font-size: 0.8125rem;
}
.under:empty { display: none; }
[data-role="assistant"] .under { justify-content: start; }
[data-state="refused"] .under { color: var(--_bad); }
/* what is sent at once needs no word */
[data-state="sending"] .under, [data-state="sent"] .under { animation: late 1.2s; }
.thought { color: var(--_soft); font-size: 0.875em; }
.thought p { margin: 0.25rem 0 0.5rem; }
summary { cursor: pointer; }
.link {
  min-block-size: 1.5rem;
  padding: 0 0.15rem;
  border: 0;
  background: none;
  color: var(--_accent);
  font-size: 0.8125rem;
  font-weight: 600;
  text-decoration: underline;
  text-underline-offset: 0.2em;
}
.notice { color: var(--_soft); font-size: 0.875em; white-space: pre-line; }
.notice.bad { color: var(--_bad); }
.day { color: var(--_soft); font-size: 0.8125rem; text-align: center; }
.typing {
  margin-block: 0.25rem 0;
  padding-inline: 0.25rem;
  color: var(--_soft);
  font-size: 0.875em;
  animation: breathe 1.8s ease-in-out infinite;
}
@keyframes breathe { 50% { opacity: 0.55; } }

.newest {
  position: absolute;
  inset-block-end: 0.75rem;
  inset-inline-start: 50%;
  display: flex;
  align-items: center;
  gap: 0.35rem;
  min-inline-size: 2.25rem;
  min-block-size: 2.25rem;
  padding: 0 0.45rem;
  border: 1px solid var(--_edge);
  border-radius: 1.2rem;
  background: var(--_page);
  box-shadow: 0 0.2rem 0.6rem rgb(0 0 0 / 0.18);
  translate: -50%;
}
.newest:dir(rtl) { translate: 50%; }
.newest svg { inline-size: 1.15rem; block-size: 1.15rem; }
.count { padding-inline-end: 0.25rem; font-size: 0.8125rem; font-weight: 650; }
.count:empty { display: none; }

.foot { padding: 0 0.75rem max(0.75rem, env(safe-area-inset-bottom)); }
.alert { margin-block: 0 0.5rem; padding-inline: 0.25rem; color: var(--_bad); font-size: 0.875em; }
.alert:empty { display: none; }
.anew { flex: none; }
.over {
  display: block;
  min-block-size: 2.75rem;
  border: 0;
  border-radius: var(--_radius);
  background: var(--_accent);
  color: var(--_on-accent);
  font-weight: 600;
}
.composer {
  display: flex;
  align-items: end;
  gap: 0.35rem;
  padding: 0.3rem;
  border: 1px solid var(--_edge);
  border-radius: 1.5rem;
  background: var(--_page);
}
.composer:focus-within { border-color: var(--_accent); outline: 1px solid var(--_accent); }
.input {
  flex: 1;
  min-inline-size: 0;
  min-block-size: 2.25rem;
  max-block-size: 10rem;
  padding: 0.4rem 0.35rem 0.4rem 0.75rem;
  padding-inline: 0.75rem 0.35rem;
  border: 0;
  outline: 0;
  background: none;
  color: inherit;
  /* smaller, and a phone zooms in */
  font: max(1rem, var(--_size))/1.4 var(--_font);
  resize: none;
}
.input::placeholder { color: var(--_soft); opacity: 1; }
.send { background: var(--_accent); color: var(--_on-accent); }
.stop { border: 1px solid var(--_edge); background: none; color: var(--_ink); }
.stop path { fill: currentColor; }

@media (max-width: 30rem) {
  :host([mode="launcher"]) .panel {
    position: fixed;
    inset: var(--_above, 0) 0 auto;
    inline-size: 100%;
    block-size: var(--_seen, 100dvh);
    padding-block-start: env(safe-area-inset-top);
    border: 0;
    border-radius: 0;
    box-shadow: none;
  }
}
@media (prefers-reduced-motion: reduce) { *, ::before, ::after { animation: none !important; transition: none !important; } }
@media (forced-colors: active) {
  .message[data-role="user"] .plain, .launcher, .send, .badge { border: 1px solid; }
}
`;
