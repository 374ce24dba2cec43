// Every word that the widget says, by language, and the numbers and times in it.
//
// A key is flat; `{name}` in a text is a value. Words that the wire chooses have a key of a stem and the wire's word (`end` + `max_tokens` is
// `endMaxTokens`), and `stem + "Other"` for words that are not known yet.

const en = {
  // the panel
  heading: "Chat",
  open: "Open the chat",
  close: "Close the chat",
  unread: "New messages: {count}",
  newConversation: "New conversation",
  conversation: "Conversation",
  earlier: "Show earlier messages",
  newest: "Newest below",
  message: "Message",
  placeholder: "Write a message",
  send: "Send",
  stop: "Stop",
  greeting: "Hello! How can we help?",
  // who speaks; read out in front of a message
  user: "You",
  assistant: "Assistant",
  human: "A person",
  says: "{who}:",
  newAnswer: "New answer: {text}",
  // messages
  queued: "Waits for its turn",
  interrupted: "Cut off",
  reasoning: "Reasoning",
  sending: "Sending…",
  waiting: "Is sent as soon as there is a connection",
  sent: "Sent",
  refused: "Not sent",
  tryAgain: "Try again",
  discard: "Discard",
  copy: "Copy",
  copied: "Copied",
  copyFailed: "Could not copy",
  code: "Code",
  table: "Table",
  image: "Image: {text}",
  imageLink: "Image",
  // what the agent does now
  modeRequesting: "Reading…",
  modeThinking: "Thinking…",
  modeResponding: "Writing…",
  modeToolInput: "Preparing a tool…",
  modeToolUse: "Using a tool…",
  modeOther: "Working…",
  answering: "An answer is being written.",
  // the connection
  connecting: "Connecting…",
  connected: "Connected",
  reconnecting: "Reconnecting…",
  offline: "Offline. What you write is sent once you are back.",
  closed: "Closed",
  closedDeleted: "This conversation was deleted.",
  closedEnded: "This conversation has ended.",
  closedMissing: "This conversation does not exist (any more).",
  closedRefused: "You have no access to this conversation.",
  closedUnauthorized: "You are signed out here. Load the page again.",
  problemQueueFull: "Many messages wait already. Try again in a moment.",
  problemRateLimited: "That was a lot at once. Try again in a moment.",
  problemBodyTooLarge: "This message is too long.",
  problemStoreUnavailable: "The server cannot store anything right now. Try again in a moment.",
  problemForbidden: "You may not do this.",
  problemUnauthorized: "You are signed out here. Load the page again.",
  problemNotFound: "That does not exist any more.",
  problemUnreachable: "The server cannot be reached.",
  problemInternal: "The server failed. Try again in a moment.",
  problemExpired: "Its time is over; the assistant was told.",
  problemAlreadyDecided: "Somebody else has answered already.",
  problemDigestMismatch: "What is asked has changed. Load the page again before you decide.",
  problemInvalidBase: "The chat on this page is set up wrongly: its server's address is none.",
  problemOther: "That did not work: {reason}",
  // notices
  endAborted: "This answer was stopped.",
  endAbortedUser: "You stopped this answer.",
  endBlocked: "This answer was blocked.",
  endBudget: "This answer ended because its budget is used up.",
  endError: "This answer failed.",
  endErrorDetail: "This answer failed: {detail}",
  endInterrupted: "This answer was interrupted.",
  endMaxSteps: "This answer ended after as many steps as it may take.",
  endMaxTokens: "This answer ended at the length that it may have.",
  endOther: "This answer ended: {reason}.",
  retry: "The model did not finish ({code}); trying again.",
  restart: "Starting again after a restart.",
  handoff: "A person has taken over.",
  handoffEnd: "The assistant answers again.",
  compacted: "The assistant keeps a summary of what is above.",
  // tools
  toolRunning: "Using {tool}…",
  toolRunningMany: "Using tools: {count}…",
  toolDone: "Used {tool}",
  toolDoneMany: "Tools used: {count}",
  toolOne: "{tool}: {state}",
  toolStateRunning: "running",
  toolStateOk: "done",
  toolStateError: "failed",
  toolStateDenied: "not allowed",
  toolStateAborted: "stopped",
  toolStateUnknown: "no result known",
  toolFailedMany: "not done: {count}",
  toolResult: "Result",
  toolResultBegin: "Result, its beginning",
  toolError: "Error",
  toolKept: "Open the whole result ({size})",
  // approvals
  allow: "Allow {tool}?",
  decideAllowOnce: "Allow once",
  decideAllowSession: "Allow for this conversation",
  decideAllowAlways: "Always allow, in all conversations",
  decideDeny: "Deny",
  decideOther: "{name}",
  elsewhere: "{tool} asks for a permission that somebody else decides.",
  args: "Arguments",
  outcomeAllowOnce: "{tool} allowed once",
  outcomeAllowSession: "{tool} allowed for this conversation",
  outcomeAllowAlways: "{tool} always allowed",
  outcomeDeny: "{tool} denied",
  outcomeExpired: "{tool} not allowed: nobody decided in time",
  outcomeCancelled: "{tool} cancelled",
  outcomeUnavailable: "{tool} not allowed: nobody could be asked",
  outcomeOther: "{tool}: {name}",
  withNote: "{what}: {note}",
  cardFailed: "That did not work. Please try again.",
  expires: "Expires {when}.",
  expired: "Expired: nobody answered in time.",
  // questions
  question: "A question for you",
  questions: "Questions for you",
  answer: "Answer",
  skip: "Skip",
  ownWords: "In your own words",
  ownWordsTo: "In your own words: {question}",
  noAnswer: "no answer",
  questionDeclined: "Question skipped",
  questionExpired: "Question expired",
  questionCancelled: "Question cancelled",
  questionOther: "Question closed",
  listJoin: ", ",
};

const zh = {
  heading: "聊天",
  open: "打开对话",
  close: "关闭对话",
  unread: "{count} 条新消息",
  newConversation: "新对话",
  conversation: "对话",
  earlier: "查看更早的消息",
  newest: "回到最新",
  message: "消息",
  placeholder: "输入消息",
  send: "发送",
  stop: "停止",
  greeting: "您好！有什么可以帮您？",
  user: "您",
  assistant: "助手",
  human: "人工客服",
  says: "{who}：",
  newAnswer: "新回复：{text}",
  queued: "排队中",
  interrupted: "已中断",
  reasoning: "思考过程",
  sending: "正在发送…",
  waiting: "连接恢复后自动发送",
  sent: "已发送",
  refused: "未发送",
  tryAgain: "重试",
  discard: "放弃",
  copy: "复制",
  copied: "已复制",
  copyFailed: "复制失败",
  code: "代码",
  table: "表格",
  image: "图片：{text}",
  imageLink: "图片",
  modeRequesting: "正在查看…",
  modeThinking: "正在思考…",
  modeResponding: "正在回复…",
  modeToolInput: "正在准备工具…",
  modeToolUse: "正在使用工具…",
  modeOther: "正在处理…",
  answering: "正在回复。",
  connecting: "正在连接…",
  connected: "已连接",
  reconnecting: "正在重新连接…",
  offline: "网络已断开，您写的内容会在恢复后发送。",
  closed: "已关闭",
  closedDeleted: "此对话已被删除。",
  closedEnded: "此对话已结束。",
  closedMissing: "此对话不存在，或已被删除。",
  closedRefused: "您无权访问此对话。",
  closedUnauthorized: "登录已失效，请刷新页面。",
  problemQueueFull: "等待处理的消息较多，请稍后再试。",
  problemRateLimited: "操作过于频繁，请稍后再试。",
  problemBodyTooLarge: "消息过长。",
  problemStoreUnavailable: "服务器暂时无法保存内容，请稍后再试。",
  problemForbidden: "您没有权限执行此操作。",
  problemUnauthorized: "登录已失效，请刷新页面。",
  problemNotFound: "内容已不存在。",
  problemUnreachable: "无法连接到服务器。",
  problemInternal: "服务器出错，请稍后再试。",
  problemExpired: "已超过时限，助手已得知。",
  problemAlreadyDecided: "其他人已先行处理。",
  problemDigestMismatch: "请求内容已变化，请刷新页面后再决定。",
  problemInvalidBase: "此页面的聊天设置有误：服务器地址无效。",
  problemOther: "操作未成功：{reason}",
  endAborted: "回复已停止。",
  endAbortedUser: "您已停止此回复。",
  endBlocked: "回复已被拦截。",
  endBudget: "额度已用完，回复到此为止。",
  endError: "回复失败。",
  endErrorDetail: "回复失败：{detail}",
  endInterrupted: "回复被中断。",
  endMaxSteps: "已达步骤上限，回复到此为止。",
  endMaxTokens: "已达长度上限，回复到此为止。",
  endOther: "回复已结束：{reason}。",
  retry: "模型未能完成（{code}），正在重试。",
  restart: "服务已重启，正在继续。",
  handoff: "人工客服已接手。",
  handoffEnd: "助手已恢复回复。",
  compacted: "助手已将以上内容整理为摘要。",
  toolRunning: "正在使用 {tool}…",
  toolRunningMany: "正在使用 {count} 个工具…",
  toolDone: "已使用 {tool}",
  toolDoneMany: "已使用工具 {count} 次",
  toolOne: "{tool}：{state}",
  toolStateRunning: "进行中",
  toolStateOk: "完成",
  toolStateError: "失败",
  toolStateDenied: "未获许可",
  toolStateAborted: "已停止",
  toolStateUnknown: "结果未知",
  toolFailedMany: "{count} 次未完成",
  toolResult: "结果",
  toolResultBegin: "结果（开头部分）",
  toolError: "错误",
  toolKept: "打开完整结果（{size}）",
  allow: "允许使用 {tool} 吗？",
  decideAllowOnce: "允许一次",
  decideAllowSession: "在本次对话中允许",
  decideAllowAlways: "始终允许（所有对话）",
  decideDeny: "拒绝",
  decideOther: "{name}",
  elsewhere: "使用 {tool} 需要许可，由其他人决定。",
  args: "参数",
  outcomeAllowOnce: "已允许 {tool} 一次",
  outcomeAllowSession: "本次对话中已允许 {tool}",
  outcomeAllowAlways: "已始终允许 {tool}",
  outcomeDeny: "已拒绝 {tool}",
  outcomeExpired: "未允许 {tool}：无人及时决定",
  outcomeCancelled: "{tool} 已取消",
  outcomeUnavailable: "未允许 {tool}：无人可以决定",
  outcomeOther: "{tool}：{name}",
  withNote: "{what}：{note}",
  cardFailed: "操作未成功，请重试。",
  expires: "将在{when}过期。",
  expired: "已过期：无人及时答复。",
  question: "想请您确认",
  questions: "有几个问题想请您确认",
  answer: "提交",
  skip: "跳过",
  ownWords: "用您自己的话说",
  ownWordsTo: "用您自己的话说：{question}",
  noAnswer: "未回答",
  questionDeclined: "已跳过问题",
  questionExpired: "问题已过期",
  questionCancelled: "问题已取消",
  questionOther: "问题已关闭",
  listJoin: "、",
};

export const languages = { en, zh };

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * The words of a language (a BCP 47 tag) with those of `overrides` in place of its own: `t(key, values)`. A language that is not there is
 * English. Numbers and times follow the tag itself where there are words for it.
 */
export function words(lang, overrides) {
  const known = languages[String(lang).toLowerCase().split("-")[0]];
  const own = { ...en, ...known, ...overrides };
  const locale = known || overrides ? supported(lang) : "en";
  const number = (value, options) => new Intl.NumberFormat(locale, options).format(value);
  const unit = (value, name, options) => number(value, { style: "unit", unit: name, unitDisplay: "narrow", ...options });
  const shown = (value) => (typeof value === "number" ? number(value) : (value ?? ""));

  /** As `t`, in pieces: values may be nodes. */
  const pieces = (key, values = {}) =>
    (own[key] ?? key).split(/\{(\w+)\}/).map((piece, at) => (at % 2 ? shown(values[piece]) : piece)).filter((piece) => piece !== "");
  const t = (key, values) => pieces(key, values).join("");
  const keyOf = (stem, name) => {
    const key = stem + String(name).replace(/(?:^|[_-])(\w)/g, (_, letter) => letter.toUpperCase());
    return own[key] === undefined ? `${stem}Other` : key;
  };
  return Object.assign(t, {
    /** For the `lang` attribute of what it says. */
    lang: locale,
    pieces,
    keyOf,
    /** The words of a stem for a word of the wire; `{name}` is that word. */
    of: (stem, name, values) => t(keyOf(stem, name), { name, ...values }),
    /** A `Problem` for a person: by its code, else in the server's words. */
    problem: ({ code, message }) => t(keyOf("problem", code), { reason: message }),
    number,
    bytes(count) {
      const [value, name] = count < 1e3 ? [count, "byte"] : count < 1e6 ? [count / 1e3, "kilobyte"] : [count / 1e6, "megabyte"];
      return number(value, { style: "unit", unit: name, unitDisplay: "short", maximumFractionDigits: value < 10 ? 1 : 0 });
    },
    duration(ms) {
      if (ms < SECOND_MS) return unit(Math.round(ms), "millisecond");
      if (ms < 10 * SECOND_MS) return unit(ms / SECOND_MS, "second", { maximumFractionDigits: 1 });
      if (ms < MINUTE_MS) return unit(Math.floor(ms / SECOND_MS), "second");
      const [large, small, per] = ms < HOUR_MS ? ["minute", "second", MINUTE_MS] : ["hour", "minute", HOUR_MS];
      const parts = [unit(Math.floor(ms / per), large), unit(Math.floor((ms % per) / (per / 60)), small)];
      return new Intl.ListFormat(locale, { type: "unit", style: "narrow" }).format(parts);
    },
    /** From now until then, in words: "in 5 minutes", "yesterday". */
    relative(ms) {
      const [size, name] = [[DAY_MS, "day"], [HOUR_MS, "hour"], [MINUTE_MS, "minute"]].find(([per]) => Math.abs(ms) > 1.5 * per) ?? [MINUTE_MS, "minute"];
      return new Intl.RelativeTimeFormat(locale, { numeric: "auto" }).format(ms < 0 ? Math.trunc(ms / size) : Math.ceil(ms / size), name);
    },
    clock: (date) => new Intl.DateTimeFormat(locale, { timeStyle: "short" }).format(date),
    day: (date) => new Intl.DateTimeFormat(locale, { dateStyle: "long" }).format(date),
    moment: (date) => new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" }).format(date),
  });
}

/** The tag where it is one. */
function supported(lang) {
  try {
    return Intl.getCanonicalLocales(lang)[0] ?? "en";
  } catch {
    return "en";
  }
}
