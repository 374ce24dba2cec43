// The page at "/": the widget at work on its own gateway, for who runs it.
//
// The address names the conversation, so that Back and Forward lead from one to another and a reload stays. It may also bring the credential
// (`#key=`), which goes to this tab's storage and out of sight: never in a query, which proxies and servers write to their logs.

const KEY = "portico.key";
const LOCAL_KEY = "This needs the local key: open the link that the server printed when it started.";

const $ = (id) => document.getElementById(id);
const chat = $("chat");
const isDemo = document.body.classList.contains("with-demo");
const tries = [...document.querySelectorAll(isDemo ? ".try li:not(.no-demo) button" : ".try li:not(.demo) button")];
const textOf = (button) => button.querySelector("strong").textContent;
/** Where there is no room for the list of things to try beside the chat, they stand in it. */
const isNarrow = matchMedia("(max-width: 60rem)");

let credential = kept;

// ---- the address

/** The session that the address names; its key goes to this tab. */
function readAddress() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const key = fragment.get("key");
  const id = fragment.get("session");
  if (key) {
    keep(key);
    write(id ?? shown(), "replaceState");
  }
  return { id, hasKey: Boolean(key) };
}

/** Where a browser forbids storage, the key lasts as long as the page. */
function keep(key) {
  credential = () => key;
  try {
    sessionStorage.setItem(KEY, key);
  } catch {}
}

function kept() {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

const write = (id, how) => history[how](null, "", id ? `#session=${encodeURIComponent(id)}` : location.pathname);
const shown = () => chat.session || chat.sessionId || null;

/** After Back, Forward, or an address typed in: a bare one is this browser's own conversation, one with only a key stays where it is. */
function revisit() {
  const { id, hasKey } = readAddress();
  if (hasKey) renewKey();
  if (id === shown() || (hasKey && !id)) return;
  if (id) chat.session = id;
  else chat.removeAttribute("session");
}

/** Another conversation is a place of its own to go back from; the id that a first message brought belongs to the place where it was written. */
function follow({ detail: { id } }) {
  const here = new URLSearchParams(location.hash.slice(1)).get("session");
  if (id !== here) write(id, id ? "replaceState" : "pushState");
}

// ---- who may

/** Asks for nothing but whether there could be a conversation: a fresh one sends no request by itself. */
async function knock() {
  const key = credential();
  const answer = await fetch("/v1/sessions?limit=1", { headers: key ? { authorization: `Bearer ${key}` } : {} }).catch(() => null);
  if (answer && key === credential()) say(answer.ok ? "" : await problemOf(answer));
}

/** A refusal as a sentence that says what to do. */
async function problemOf(answer) {
  const { code, detail, title } = await answer.json().catch(() => ({}));
  return wordsFor(code) ?? detail ?? title ?? `The server answered ${answer.status}.`;
}

function wordsFor(code) {
  if (code === "local_key_required") return LOCAL_KEY;
  if (code !== "unauthorized") return undefined;
  const what = credential() ? "This server does not take the key that this page was opened with." : "This tab has no key, and each tab needs one.";
  return `${what} Open ${location.origin}/#key=KEY with your key in place of KEY. Who runs the server gives you one.`;
}

function say(text) {
  $("problem").textContent = text;
}

function renewKey() {
  say("");
  // what was refused is tried again
  chat.credential = credential;
  knock();
}

// ---- the rest of the page

function suggest() {
  chat.suggestions = isNarrow.matches ? tries.map(textOf) : [];
}

/** Without the clipboard, which needs TLS, the text is selected. */
async function copy(button) {
  const source = $(button.dataset.of);
  try {
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(source);
    button.textContent = "Selected";
  }
  setTimeout(() => (button.textContent = "Copy"), 2000);
}

for (const button of tries) {
  button.onclick = () => {
    chat.send(textOf(button));
    chat.focus();
  };
}
for (const button of document.querySelectorAll(".copy")) button.onclick = () => copy(button);
$("more").onclick = () => $("about").scrollIntoView();
$("curl").textContent = $("curl").textContent.replace("/v1", `${location.origin}/v1`);
isNarrow.onchange = suggest;

readAddress();
if (isDemo) chat.greeting = "The built-in demo model answers here, offline.";
chat.strings = {
  problemLocalKeyRequired: LOCAL_KEY,
  problemUnauthorized: "This tab has no key that the server takes: open the link with the key again in this tab.",
  // who runs the server is helped by what it says
  problemOther: "That did not work: {reason}",
};
chat.credential = credential;
suggest();
knock();
// a new fragment in the same page may come with either event; the second finds nothing to do
addEventListener("popstate", revisit);
addEventListener("hashchange", revisit);
chat.addEventListener("portico-problem", ({ detail: { code } }) => wordsFor(code) && say(wordsFor(code)));
// what is set above is there before the first request
await import("/widget.js");
const { id } = readAddress();
if (id && id !== chat.sessionId) chat.session = id;
else if (chat.sessionId) write(chat.sessionId, "replaceState");
chat.addEventListener("portico-session", follow);
// on a phone that would raise the keyboard
if (matchMedia("(pointer: fine)").matches) chat.focus();
