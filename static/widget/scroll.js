// The end of the conversation stays in view while it grows, unless the person went up. Then what is seen stays where it is, whatever comes
// in front of it, below it, or takes its real height only now: by hand, since not every browser does it, and none at the very top.

/** So near to the end, in px, is at the end: browsers round. */
const NEAR = 8;

/** How long after a person did something it may still be that by which the box scrolls, in ms: a movement may be smooth, and a page slow. */
const SINCE_MS = 1_000;
/** What a person goes up by: what is pressed in a row is no such thing, and a scrollbar is the box itself. */
const MOVES = {
  wheel: ({ deltaY }) => deltaY < 0,
  touchmove: () => true,
  keydown: ({ key, shiftKey }) => /^(ArrowUp|PageUp|Home)$/.test(key) || (key === " " && shiftKey),
  pointerdown: ({ target, currentTarget }) => target === currentTarget,
};

/** `content` grows in `box`, and the rows of `list` in it; `changed` hears when the person leaves the end or comes back. */
export function keepEnd(box, content, list, changed) {
  let following = true;
  let lastTop = 0;
  /** How high the content and the box were then. */
  let lastSize = "";
  let movedAt = -Infinity;
  /** The rows that are seen, and how far each is from the top of the box. */
  let places = [];

  function follow(now) {
    if (following === now) return;
    following = now;
    changed();
  }
  function note() {
    lastTop = box.scrollTop;
    lastSize = `${box.scrollHeight} ${box.clientHeight}`;
  }
  function toEnd() {
    box.scrollTop = box.scrollHeight;
    note();
    places = [];
    follow(true);
  }
  function hold() {
    if (following) return toEnd();
    places = places.filter(([one]) => one.isConnected);
    if (places.length === 0) return;
    const { top } = box.getBoundingClientRect();
    const topOf = (one) => one.getBoundingClientRect().top - top;
    const [row, place] = places[0];
    box.scrollTop += topOf(row) - place;
    note();
    // those below it are where they are now, should this one go
    places = places.map(([one]) => [one, topOf(one)]);
  }
  function remember() {
    const { top, bottom } = box.getBoundingClientRect();
    const rects = [...list.children].map((one) => [one, one.getBoundingClientRect()]);
    places = rects.filter(([, rect]) => rect.bottom > top && rect.top < bottom).map(([one, rect]) => [one, rect.top - top]);
    // a row that is cut at the top may still grow downwards
    if (places[0]?.[1] < 0) places.push(places.shift());
  }
  for (const [name, isUp] of Object.entries(MOVES)) {
    box.addEventListener(name, (event) => isUp(event) && (movedAt = event.timeStamp), { passive: true });
  }
  box.onscroll = ({ timeStamp }) => {
    const by = box.scrollTop - lastTop;
    const size = lastSize;
    note();
    if (box.scrollHeight - box.scrollTop - box.clientHeight < NEAR) follow(true);
    // a distance alone is no sign that the person went up: text may have come since the last scrolling. Nor is a movement alone: where a
    // card folds the browser moves what is seen, and by the time it tells, more may have come
    else if (by < 0 && (timeStamp - movedAt < SINCE_MS || size === lastSize)) follow(false);
    else if (following) toEnd();
    // a row that came in front may still grow: only where the person moves are others looked for
    if (following || by === 0) return;
    // rows may have come since they were looked at
    places = places.map(([one, place]) => [one, place - by]);
    hold();
    remember();
  };
  // `box` shrinks where an alert appears, the draft grows over several lines, or a phone's keyboard comes up
  const sizes = new ResizeObserver(hold);
  sizes.observe(box);
  sizes.observe(content);

  return {
    get following() {
      return following;
    },
    toEnd,
    end: () => sizes.disconnect(),
  };
}
