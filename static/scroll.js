// The end of the log stays in view while it grows, unless the reader went up; then a button says that there is more below.

/** Keeps the end of `log` in view in `main`; gives what goes to the end and stays there. */
export function keepEnd(main, log, newest) {
  let following = true;
  let lastTop = 0;

  function toEnd() {
    following = true;
    main.scrollTop = main.scrollHeight;
    newest.hidden = true;
  }

  main.onscroll = () => {
    const up = main.scrollTop < lastTop;
    lastTop = main.scrollTop;
    if (main.scrollHeight - main.scrollTop - main.clientHeight < 80) following = true;
    // a distance alone is no sign that the reader went up: text may have come since the last scrolling
    else if (up) following = false;
    if (following) newest.hidden = true;
  };
  // `main` shrinks where an alert appears, a message grows over several lines, or a phone's keyboard comes up
  const sizes = new ResizeObserver((changes) => {
    if (following) toEnd();
    else if (changes.some(({ target }) => target === log)) newest.hidden = false;
  });
  sizes.observe(log);
  sizes.observe(main);
  return toEnd;
}
