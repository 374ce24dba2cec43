//! A clean tree to Markdown, in one pass that can be stopped and never writes more than its limit.
//!
//! One of our own, because what a converter makes of a page must be bounded before it is made: marks before each line of a quote, columns as
//! wide as their widest cell and links written out whole can make gigabytes of a small page. Tables are not padded, quotes and lists are
//! nested 16 deep, and emphasis that is empty or within itself is left out. It goes without recursion.

use dom_query::NodeRef;
use tokio_util::sync::CancellationToken;

use super::html::Unreadable;

mod out;
mod table;
#[cfg(test)]
mod tests;

use out::{Gap, Out};
use table::is_grid;

/// Steps between two looks at `stop`.
const LOOK_EVERY: usize = 1_024;

/// Elements that stand on lines of their own, with an empty one between.
const BLOCKS: [&str; 31] = [
    "p",
    "div",
    "section",
    "article",
    "main",
    "header",
    "footer",
    "nav",
    "aside",
    "address",
    "figure",
    "figcaption",
    "form",
    "fieldset",
    "details",
    "summary",
    "dialog",
    "dl",
    "table",
    "caption",
    "center",
    "hgroup",
    "search",
    "legend",
    "menu",
    "noscript",
    "body",
    "optgroup",
    "noframes",
    "frameset",
    "html",
];
/// Elements that begin a new line.
const LINES: [&str; 4] = ["dt", "dd", "tr", "option"];

/// Markdown, and whether there was more than the limit has room for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Markdown {
    pub(super) text: String,
    pub(super) cut: bool,
}

/// Writes at most `limit` bytes.
///
/// # Errors
/// When `stop` fired.
pub(super) fn markdown(node: NodeRef<'_>, limit: usize, stop: &CancellationToken) -> Result<Markdown, Unreadable> {
    let mut writer = Writer { out: Out::new(limit), steps: vec![Step::Visit(node)] };
    let mut taken = 0_usize;
    while let Some(step) = writer.steps.pop() {
        taken += 1;
        if taken.is_multiple_of(LOOK_EVERY) && stop.is_cancelled() {
            return Err(Unreadable::Stopped);
        }
        writer.take(step);
        if writer.out.is_full() {
            break;
        }
    }
    let cut = writer.out.is_full();
    Ok(Markdown { text: writer.out.finish(), cut })
}

/// What is still to be done, the next one last.
#[derive(Debug)]
enum Step<'a> {
    Visit(NodeRef<'a>),
    /// An item of a list, with its mark.
    Item(NodeRef<'a>, String),
    /// A row of a grid begins, after the gap.
    Row(Gap),
    Cell,
    CellEnd,
    /// The line below the first row, of so many columns.
    Rule(usize),
    Gap(Gap),
    /// The end of a quote or an item.
    Leave(Gap),
    Unmark,
    HeadingEnd,
    LinkEnd(String),
}

struct Writer<'a> {
    out: Out,
    steps: Vec<Step<'a>>,
}

impl<'a> Writer<'a> {
    fn take(&mut self, step: Step<'a>) {
        match step {
            Step::Visit(node) => self.visit(node),
            Step::Item(node, mark) => self.item(&node, &mark),
            Step::Row(gap) => {
                self.out.gap(gap);
                self.out.bare("|");
            }
            Step::Cell => {
                self.out.flatten();
                self.out.gap(Gap::Line);
            }
            Step::CellEnd => {
                self.out.suspend();
                self.out.bare(" |");
                self.out.unflatten();
            }
            Step::Rule(columns) => {
                self.out.gap(Gap::Line);
                self.out.bare("|");
                for _ in 0..columns {
                    self.out.bare(" --- |");
                }
            }
            Step::Gap(gap) => self.out.gap(gap),
            Step::Leave(gap) => {
                self.out.gap(gap);
                self.out.leave();
            }
            Step::Unmark => self.out.unmark(""),
            Step::HeadingEnd => {
                self.out.end_heading();
                self.out.gap(Gap::Blank);
            }
            Step::LinkEnd(href) => {
                self.out.unflatten();
                self.out.unmark(&href);
            }
        }
    }

    fn visit(&mut self, node: NodeRef<'a>) {
        if node.is_text() {
            return self.out.words(&node.text());
        }
        let Some(name) = node.node_name() else { return self.children(&node) };
        match name.as_ref() {
            "head" | "title" | "base" | "link" | "meta" => {}
            "br" => self.out.line_break(),
            "hr" if !self.out.is_flat() => {
                self.out.gap(Gap::Blank);
                self.out.bare("---");
                self.out.gap(Gap::Blank);
            }
            "img" => self.image(&node),
            "a" => self.link(&node),
            "strong" | "b" => self.marked(&node, "**"),
            "em" | "i" => self.marked(&node, "*"),
            "del" | "s" | "strike" => self.marked(&node, "~~"),
            "code" | "kbd" | "samp" | "tt" => self.code(&collected(&node)),
            "pre" | "listing" | "xmp" | "plaintext" => self.preformatted(&node),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading(&node, &name),
            "blockquote" if !self.out.is_flat() => {
                self.out.gap(Gap::Blank);
                self.out.enter("> ", "> ");
                self.around(&node, [Step::Leave(Gap::Blank)]);
            }
            "ul" | "ol" => self.list(&node, &name),
            "li" => self.item(&node, "- "),
            "table" if !self.out.is_flat() && is_grid(&node) => self.grid(&node),
            name if LINES.contains(&name) => self.block(&node, Gap::Line),
            "td" | "th" => self.block(&node, Gap::Line),
            name if BLOCKS.contains(&name) => self.block(&node, Gap::Blank),
            _ => self.children(&node),
        }
    }

    fn children(&mut self, node: &NodeRef<'a>) {
        self.steps.extend(node.children_it(true).map(Step::Visit));
    }

    /// What is within it, and then this.
    fn around(&mut self, node: &NodeRef<'a>, then: impl IntoIterator<Item = Step<'a>>) {
        self.steps.extend(then);
        self.children(node);
    }

    fn block(&mut self, node: &NodeRef<'a>, gap: Gap) {
        self.out.gap(gap);
        self.around(node, [Step::Gap(gap)]);
    }

    fn marked(&mut self, node: &NodeRef<'a>, mark: &'static str) {
        let new = self.out.mark(mark, mark);
        self.around(node, new.then_some(Step::Unmark));
    }

    fn heading(&mut self, node: &NodeRef<'a>, name: &str) {
        if self.out.is_flat() {
            return self.block(node, Gap::Blank);
        }
        let marks = ["# ", "## ", "### ", "#### ", "##### ", "###### "];
        let level = name.bytes().last().map_or(0, |digit| usize::from(digit.saturating_sub(b'1')));
        self.out.gap(Gap::Blank);
        self.out.heading(marks[level.min(marks.len() - 1)]);
        self.around(node, [Step::HeadingEnd]);
    }

    fn link(&mut self, node: &NodeRef<'a>) {
        let Some(href) = node.attr("href").filter(|_| self.out.mark("[", "]")) else { return self.children(node) };
        self.out.flatten();
        let href = format!("({})", href.replace('(', "%28").replace(')', "%29"));
        self.around(node, [Step::LinkEnd(href)]);
    }

    fn image(&mut self, node: &NodeRef<'a>) {
        let alt = node.attr("alt").unwrap_or_default();
        match node.attr("src") {
            Some(src) => {
                self.out.raw("![");
                self.out.words(alt.trim());
                self.out.bare(&format!("]({})", src.replace('(', "%28").replace(')', "%29")));
            }
            None => self.out.words(&alt),
        }
    }

    fn list(&mut self, node: &NodeRef<'a>, name: &str) {
        let gap = if self.out.is_in_item() { Gap::Line } else { Gap::Blank };
        self.out.gap(gap);
        self.steps.push(Step::Gap(gap));
        let mut number = node.attr("start").and_then(|start| start.trim().parse::<u32>().ok()).unwrap_or(1);
        let mut items = Vec::new();
        for child in node.children_it(false) {
            if child.has_name("li") {
                let mark = if name == "ol" { format!("{number}. ") } else { "- ".to_owned() };
                number = number.saturating_add(1);
                items.push(Step::Item(child, mark));
            } else {
                items.push(Step::Visit(child));
            }
        }
        self.steps.extend(items.into_iter().rev());
    }

    fn item(&mut self, node: &NodeRef<'a>, mark: &str) {
        if self.out.is_flat() {
            return self.block(node, Gap::Line);
        }
        self.out.gap(Gap::Line);
        self.out.enter(mark, &" ".repeat(mark.len()));
        self.around(node, [Step::Leave(Gap::Line)]);
    }

    /// Code within a line.
    fn code(&mut self, code: &str) {
        let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
        if code.is_empty() {
            return;
        }
        let fence = "`".repeat(longest_run(&code) + 1);
        let room = if code.starts_with('`') || code.ends_with('`') { " " } else { "" };
        let code = if self.out.is_flat() { code.replace('|', "\\|") } else { code };
        self.out.raw(&format!("{fence}{room}{code}{room}{fence}"));
    }

    fn preformatted(&mut self, node: &NodeRef<'a>) {
        let text = collected(node);
        if self.out.is_flat() || text.trim().is_empty() {
            return self.code(&text);
        }
        let fence = "`".repeat((longest_run(&text) + 1).max(3));
        self.out.gap(Gap::Blank);
        self.out.bare(&format!("{fence}{}", language(node).unwrap_or_default()));
        for line in text.strip_suffix('\n').unwrap_or(&text).split('\n') {
            if self.out.is_full() {
                return;
            }
            self.out.line(line);
        }
        self.out.line(&fence);
        self.out.gap(Gap::Blank);
    }

    fn grid(&mut self, table: &NodeRef<'a>) {
        self.out.gap(Gap::Blank);
        let mut steps = Vec::new();
        for (i, row) in table::rows(table).into_iter().enumerate() {
            let columns = row.len();
            steps.push(Step::Row(if i == 0 { Gap::Blank } else { Gap::Line }));
            for cell in row {
                steps.extend([Step::Cell, Step::Visit(cell), Step::CellEnd]);
            }
            if i == 0 {
                steps.push(Step::Rule(columns));
            }
        }
        steps.push(Step::Gap(Gap::Blank));
        self.steps.extend(steps.into_iter().rev());
        self.steps.extend(table.children_it(true).filter(|child| child.has_name("caption")).map(Step::Visit));
    }
}

/// All text within it, as it stands there.
fn collected(node: &NodeRef<'_>) -> String {
    let mut text = String::new();
    for node in node.descendants_it() {
        if node.is_text() {
            text.push_str(&node.text());
        } else if node.has_name("br") {
            text.push('\n');
        }
    }
    text
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// What a code block says that it is in.
fn language(node: &NodeRef<'_>) -> Option<String> {
    let code = node.children_it(false).find(|child| child.has_name("code"));
    let class = code.and_then(|code| code.class()).or_else(|| node.class())?;
    let language = class.split_whitespace().find_map(|class| class.strip_prefix("language-").or_else(|| class.strip_prefix("lang-")))?;
    language.chars().all(|c| c.is_ascii_alphanumeric() || "+-#._".contains(c)).then(|| language.to_owned())
}
