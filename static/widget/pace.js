// When answers are drawn: in frames, all of them together for a slice of each, and one that grows at most a fifth of the time.

/** Well below the 50 that make a long task, and with what the browser lays out for it every time not worth less. */
const SLICE_MS = 24;
const SHARE = 5;

const jobs = new Set();
let asked = false;
let used = 0;

/** Has `job.draw(deadline)` called, again until it gives true. A job that is not `isLive` is begun at once where there is time left. */
export function pace(job) {
  jobs.add(job);
  if (!job.isLive && used < SLICE_MS) run(job, performance.now() + SLICE_MS - used);
  ask();
}

function ask() {
  if (asked || (jobs.size === 0 && used === 0)) return;
  asked = true;
  requestAnimationFrame(turn);
}

function turn() {
  asked = false;
  used = 0;
  const start = performance.now();
  for (const job of jobs) if (used < SLICE_MS && !(job.isLive && job.due > start)) run(job, start + SLICE_MS);
  ask();
}

function run(job, deadline) {
  const start = performance.now();
  if (job.draw(deadline)) jobs.delete(job);
  // the browser would do the layout right after; asked for here, its time counts
  if (job.isLive) void job.element.offsetHeight;
  const end = performance.now();
  used += end - start;
  job.due = end + (end - start) * (SHARE - 1);
}
