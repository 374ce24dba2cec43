//! Lines as they are put down: where one ends, what is owed before the next, and what stands around it.

use std::mem;

use super::line::{Flow, Gap, Kind, Line, Marks, Nth, Place};
use super::rules::Rules;
use super::{Rendered, url};

#[derive(Debug)]
pub(super) struct Page {
    pub(super) rules: Rules,
    lines: Vec<Line>,
    links: Vec<String>,
    /// The line that is being written.
    flow: Flow,
    /// Owed before it.
    gap: Gap,
    quote: Option<Nth>,
    place: Place,
    /// Owed to the next line's front, as the rules have it.
    lead: String,
    /// As the document has it.
    label: String,
    /// Before lines that have no lead.
    hang: &'static str,
    /// Line breaks are spaces: within a cell or a heading.
    flat: bool,
    /// Blocks that were numbered.
    blocks: Nth,
}

impl Page {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            rules,
            lines: Vec::new(),
            links: Vec::new(),
            flow: Flow::default(),
            gap: Gap::Line,
            quote: None,
            place: Place::Text,
            lead: String::new(),
            label: String::new(),
            hang: "",
            flat: false,
            blocks: 0,
        }
    }

    pub(super) fn finish(mut self) -> Rendered {
        self.gap(Gap::Line);
        Rendered { lines: self.lines, links: self.links, rules: self.rules }
    }

    pub(super) fn text(&mut self, text: &str, kind: Kind, marks: Marks) {
        self.put_label();
        self.flow.push(text, kind, marks);
    }

    /// Also where nothing follows it.
    pub(super) fn put_label(&mut self) {
        let label = mem::take(&mut self.label);
        self.flow.push(&label, Kind::Words, Marks::default());
    }

    /// A line break of the document.
    pub(super) fn line_break(&mut self) {
        if self.flat {
            return self.flow.push(" ", Kind::Words, Marks::default());
        }
        self.gap(Gap::Line);
    }

    /// Ends the line; the next one stands below at least so much.
    pub(super) fn gap(&mut self, gap: Gap) {
        let flow = mem::take(&mut self.flow).tidy();
        if !flow.text.is_empty() {
            let lead = match mem::take(&mut self.lead) {
                lead if lead.is_empty() => self.hang.to_owned(),
                lead => lead,
            };
            self.put(lead, url::marked(flow));
        }
        self.gap = self.gap.max(gap);
    }

    fn put(&mut self, lead: String, flow: Flow) {
        let gap = mem::take(&mut self.gap);
        self.lines.push(Line { gap, quote: self.quote, place: self.place, lead, flow });
    }

    /// A block of code. It leaves quote and list: a mark before its lines would be a part of the code.
    pub(super) fn code(&mut self, code: &str) {
        self.put_label();
        self.gap(Gap::Line);
        if self.lead.contains(char::is_numeric) {
            let number = mem::take(&mut self.lead);
            self.put(String::new(), plain(number.trim()));
        }
        self.lead.clear();
        let quote = self.quote.take();
        let nth = self.number();
        self.place = if self.rules.fence.holds(code) { Place::Fence(nth) } else { Place::Bare(nth) };
        for line in code.split('\n') {
            let mut flow = Flow::default();
            flow.push(line, Kind::Code, Marks::default());
            self.put(String::new(), flow);
        }
        self.place = Place::Text;
        self.quote = quote;
    }

    /// Text that is no Markdown.
    pub(super) fn as_it_is(&mut self, source: &str) {
        for line in source.lines() {
            self.text(line, Kind::Literal, Marks::default());
            self.gap(if line.trim().is_empty() { Gap::Blank } else { Gap::Line });
        }
    }

    pub(super) fn heading(&mut self) {
        self.gap(Gap::Blank);
        self.place = Place::Heading;
        self.flat = true;
    }

    pub(super) fn heading_end(&mut self) {
        self.gap(Gap::Blank);
        self.place = Place::Text;
        self.flat = false;
    }

    /// Everything up to [`Page::take`] is one line's.
    pub(super) fn collect(&mut self) {
        self.gap(Gap::Line);
        self.flat = true;
    }

    pub(super) fn take(&mut self) -> Flow {
        self.flat = false;
        mem::take(&mut self.flow).tidy()
    }

    pub(super) fn append(&mut self, flow: &Flow, set: impl Fn(Marks) -> Marks) {
        self.flow.append(flow, set);
    }

    pub(super) fn quote(&mut self, quoted: bool) {
        self.quote = quoted.then(|| self.number());
    }

    /// Before the next line, and before those that follow it.
    pub(super) fn item(&mut self, lead: String, hang: &'static str) {
        self.lead = lead;
        self.hang = hang;
    }

    pub(super) fn box_of_task(&mut self, mark: &str) {
        self.lead.push_str(mark);
    }

    pub(super) fn item_end(&mut self, hang: &'static str) {
        self.lead.clear();
        self.hang = hang;
    }

    /// Before lines from here on, up to the next item.
    pub(super) fn hang(&mut self, hang: &'static str) {
        self.hang = hang;
    }

    /// Before the next text, such as a note's number.
    pub(super) fn label(&mut self, label: String) {
        self.label = label;
    }

    pub(super) fn link(&mut self, address: &str) -> Nth {
        let nth = self.links.len();
        self.links.push(address.to_owned());
        Nth::try_from(nth).unwrap_or(Nth::MAX)
    }

    pub(super) fn number(&mut self) -> Nth {
        self.blocks = self.blocks.wrapping_add(1);
        self.blocks
    }

    /// What was written since then is an address, if it is all on one line.
    pub(super) fn make_literal(&mut self, (lines, bytes): (usize, usize), marks: Marks) {
        if self.lines.len() != lines {
            return;
        }
        let address = self.flow.text[bytes..].to_owned();
        self.flow.truncate(bytes);
        self.flow.push(&address, Kind::Literal, marks);
    }

    /// Where text goes next, to ask [`Page::since`] later.
    pub(super) fn mark(&self) -> (usize, usize) {
        (self.lines.len(), self.flow.text.len())
    }

    /// What was written to the line since then, or all of the line, if it is another.
    pub(super) fn since(&self, (lines, bytes): (usize, usize)) -> &str {
        let from = if self.lines.len() == lines { bytes } else { 0 };
        self.flow.text.get(from..).unwrap_or_default()
    }

    /// The line so far does.
    pub(super) fn ends_with(&self, end: char) -> bool {
        self.flow.text.ends_with(end)
    }
}

fn plain(text: &str) -> Flow {
    let mut flow = Flow::default();
    flow.push(text, Kind::Words, Marks::default());
    flow
}
