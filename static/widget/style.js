// The one sheet of all widgets on a page: constructed, so that a policy without inline styles allows it.

import { cards } from "./style/cards.js";
import { markdown } from "./style/markdown.js";
import { panel } from "./style/panel.js";
import { tokens } from "./style/tokens.js";

export const style = new CSSStyleSheet();
style.replaceSync(tokens + panel + markdown + cards);
