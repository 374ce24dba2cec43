// The end of the conversation stays in view while it grows, unless the person went up; older messages come in front without a jump.

/** So near to the end, in px, is at the end: browsers round. */
const NEAR = 8;

/** `content` grows in `box`; `changed` hears when the person leaves the end or comes back. */
export function keepEnd(box, content, changed) {
  let following = true;
  let lastTop = 0;

  function set(now) {
    if (following === now) return;
    following = now;
    changed();
  }
  function toEnd() {
    box.scrollTop = lastTop = box.scrollHeight;
    set(true);
  }
  box.onscroll = () => {
    const isUp = box.scrollTop < lastTop;
    lastTop = box.scrollTop;
    if (box.scrollHeight - box.scrollTop - box.clientHeight < NEAR) set(true);
    // a distance alone is no sign that the person went up: text may have come since the last scrolling
    else if (isUp) set(false);
  };
  // `box` shrinks where an alert appears, the draft grows over several lines, or a phone's keyboard comes up
  const sizes = new ResizeObserver(() => following && toEnd());
  sizes.observe(box);
  sizes.observe(content);

  return {
    get following() {
      return following;
    },
    toEnd,
    /** What `change` puts in front leaves what is seen where it is. */
    inFront(change) {
      if (following) return change();
      const { top } = box.getBoundingClientRect();
      const seen = [...content.children].find((one) => one.getBoundingClientRect().bottom > top);
      const before = seen?.getBoundingClientRect().top;
      change();
      if (seen?.isConnected) box.scrollTop = lastTop = box.scrollTop + seen.getBoundingClientRect().top - before;
    },
    end: () => sizes.disconnect(),
  };
}
