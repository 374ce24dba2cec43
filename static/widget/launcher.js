// The round button at the corner of a page, and the panel that it opens: a dialog that leaves the page usable; on a phone, the whole
// screen.

import { element } from "./dom.js";
import { ICONS, icon, iconButton } from "./icons.js";

/** `focus()` puts the focus into the panel. */
export function launcher(t, { host, panel, head, signal, focus }) {
  const badge = element("span", "badge");
  badge.part = "badge";
  const opener = iconButton(t("open"), ICONS.chat, "launcher", () => (host.open ? close() : open()));
  opener.part = "launcher";
  opener.ariaHasPopup = "dialog";
  opener.append(badge);
  panel.role = "dialog";
  head.append(iconButton(t("close"), ICONS.close, "icon close", close));

  function open() {
    host.open = true;
    focus();
  }
  function close() {
    host.open = false;
    opener.focus();
  }
  function toggled() {
    panel.hidden = !host.open;
    opener.ariaExpanded = String(host.open);
    opener.querySelector("svg").replaceWith(icon(host.open ? ICONS.fold : ICONS.chat));
    fit();
  }
  /** A phone's keyboard covers the page and does not shrink it: only the visual viewport tells what is left. */
  function fit() {
    const { height, offsetTop, scale } = visualViewport;
    // who zooms in wants it larger
    if (scale > 1) return;
    panel.style.setProperty("--_seen", `${height}px`);
    panel.style.setProperty("--_above", `${offsetTop}px`);
  }
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing || event.defaultPrevented) return;
    event.stopPropagation();
    close();
  });
  for (const name of ["resize", "scroll"]) visualViewport.addEventListener(name, fit, { signal });
  toggled();

  return {
    button: opener,
    toggled,
    unread(count) {
      badge.textContent = count > 99 ? "99+" : count || "";
      opener.ariaLabel = count ? `${t("open")}. ${t("unread", { count })}` : t("open");
    },
  };
}
