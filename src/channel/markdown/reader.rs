//! From the parser's events to lines.

use std::collections::HashSet;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd};

use super::html::{self, Part};
use super::line::{CodeSpan, Gap, Kind, Marks, Nth};
use super::literal::{self, Span};
use super::page::Page;
use super::rules::{Level, Link, Pair};
use super::table::Table;
use super::{Rendered, is_blank};

/// Documents within each other: fences that say they are Markdown. What is nested deeper is code.
const MOST_DOCUMENTS: usize = 3;

#[derive(Debug)]
pub(super) struct Reader {
    page: Page,
    bold: usize,
    italic: usize,
    strike: usize,
    /// Of each span of emphasis that is open the marker, if it is text.
    literal: Vec<Option<&'static str>>,
    links: Vec<OpenLink>,
    /// The next number of each list that is open, if it has any.
    lists: Vec<Option<u64>>,
    quotes: usize,
    table: Option<Table>,
    html: String,
    code: Option<CodeBlock>,
    documents: usize,
    /// The addresses that links had so far.
    addresses: HashSet<String>,
}

#[derive(Debug)]
struct OpenLink {
    address: String,
    /// Where its text begins.
    from: (usize, usize),
    shows: Shows,
}

#[derive(Clone, Copy, Debug)]
enum Shows {
    /// `text (address)`
    After(Pair),
    /// The text is it.
    Around(Nth),
    /// `alt: address`
    Image,
}

#[derive(Debug, Default)]
struct CodeBlock {
    is_markdown: bool,
    text: String,
}

impl Reader {
    pub(super) fn new(page: Page) -> Self {
        Self {
            page,
            bold: 0,
            italic: 0,
            strike: 0,
            literal: Vec::new(),
            links: Vec::new(),
            lists: Vec::new(),
            quotes: 0,
            table: None,
            html: String::new(),
            code: None,
            documents: 0,
            addresses: HashSet::new(),
        }
    }

    pub(super) fn finish(self) -> Rendered {
        self.page.finish()
    }

    pub(super) fn document(&mut self, markdown: &str) {
        self.documents += 1;
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS | Options::ENABLE_FOOTNOTES;
        let mut parser = Parser::new_ext(markdown, options).into_offset_iter();
        for (event, range) in parser.by_ref() {
            match event {
                Event::Start(Tag::Emphasis) => self.span(markdown, &range, Span::Italic),
                Event::Start(Tag::Strong) => self.span(markdown, &range, Span::Bold),
                Event::Start(Tag::Strikethrough) => self.span(markdown, &range, Span::Strike),
                Event::End(TagEnd::Emphasis) => self.span_end(Span::Italic),
                Event::End(TagEnd::Strong) => self.span_end(Span::Bold),
                Event::End(TagEnd::Strikethrough) => self.span_end(Span::Strike),
                event => self.event(event),
            }
        }
        let mut unused: Vec<_> = parser
            .reference_definitions()
            .iter()
            .filter(|(_, definition)| !self.addresses.contains(&*definition.dest))
            .map(|(label, definition)| (definition.span.start, label, &definition.dest))
            .collect();
        unused.sort_unstable_by_key(|(at, ..)| *at);
        self.page.gap(Gap::Blank);
        for (_, label, address) in unused {
            self.words(&format!("{label}: "));
            self.page.text(address, Kind::Literal, Marks::default());
            self.page.gap(Gap::Line);
        }
        self.documents -= 1;
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.text.push_str(&text),
                None => self.words(&text),
            },
            Event::Code(code) => self.code(&code),
            Event::Html(text) => self.html.push_str(&text),
            Event::InlineHtml(tag) => self.parts(html::inline(&tag)),
            Event::FootnoteReference(label) => self.words(&format!("[{label}]")),
            Event::SoftBreak | Event::HardBreak => self.page.line_break(),
            Event::Rule => self.page.gap(Gap::Blank),
            Event::TaskListMarker(done) => {
                let mark = if done { self.page.rules.task_done } else { self.page.rules.task_open };
                self.page.box_of_task(mark);
            }
            // not asked for
            Event::InlineMath(text) | Event::DisplayMath(text) => self.words(&text),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.page.heading();
                self.bold += 1;
            }
            Tag::BlockQuote(_) => self.quote(),
            Tag::CodeBlock(kind) => self.code = Some(CodeBlock { is_markdown: self.is_markdown(&kind), text: String::new() }),
            Tag::List(first) => {
                self.gap();
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::FootnoteDefinition(label) => {
                self.gap();
                self.page.label(format!("[{label}] "));
            }
            Tag::Table(_) => {
                self.gap();
                self.table = Some(Table::default());
            }
            Tag::TableHead | Tag::TableRow => self.table.iter_mut().for_each(Table::row),
            Tag::TableCell => self.page.collect(),
            Tag::Link { dest_url, .. } => self.link(dest_url),
            Tag::Image { dest_url, .. } => self.open(dest_url, Shows::Image),
            Tag::Paragraph | Tag::HtmlBlock | Tag::DefinitionList | Tag::DefinitionListTitle | Tag::DefinitionListDefinition => self.gap(),
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Superscript | Tag::Subscript | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.page.heading_end();
                self.bold -= 1;
            }
            TagEnd::BlockQuote(_) => self.quote_end(),
            TagEnd::CodeBlock => self.code_block_end(),
            TagEnd::HtmlBlock => {
                let html = std::mem::take(&mut self.html);
                self.parts(html::block(&html));
                self.gap();
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.gap();
            }
            TagEnd::Item => {
                self.page.gap(Gap::Line);
                self.page.item_end(self.level(1).hang);
            }
            TagEnd::TableCell => {
                let cell = self.page.take();
                self.table.iter_mut().for_each(|table| table.cell(&cell));
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    table.write(&mut self.page);
                }
                self.gap();
            }
            TagEnd::Link | TagEnd::Image => self.close(),
            TagEnd::Paragraph | TagEnd::DefinitionList | TagEnd::DefinitionListTitle | TagEnd::DefinitionListDefinition => self.gap(),
            TagEnd::FootnoteDefinition => {
                self.page.put_label();
                self.gap();
            }
            TagEnd::TableHead | TagEnd::TableRow => {}
            TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn span(&mut self, source: &str, range: &Range<usize>, span: Span) {
        let marker = literal::marker(source, range, span, self.page.rules.edges);
        match marker {
            Some(marker) => self.words(marker),
            None => *self.depth(span) += 1,
        }
        self.literal.push(marker);
    }

    fn span_end(&mut self, span: Span) {
        match self.literal.pop().flatten() {
            Some(marker) => self.words(marker),
            None => *self.depth(span) -= 1,
        }
    }

    fn depth(&mut self, span: Span) -> &mut usize {
        match span {
            Span::Italic => &mut self.italic,
            Span::Bold => &mut self.bold,
            Span::Strike => &mut self.strike,
        }
    }

    /// Between two blocks; within a list no line is empty.
    fn gap(&mut self) {
        self.page.gap(if self.lists.is_empty() { Gap::Blank } else { Gap::Line });
    }

    fn words(&mut self, text: &str) {
        let marks = self.marks();
        self.page.text(text, Kind::Words, marks);
    }

    fn marks(&self) -> Marks {
        Marks { bold: self.bold > 0, italic: self.italic > 0, strike: self.strike > 0, code: None, link: self.around() }
    }

    fn parts<'a>(&mut self, parts: impl IntoIterator<Item = Part<'a>>) {
        for part in parts {
            match part {
                Part::Text(text) => self.words(&text),
                Part::Space => self.words(" "),
                Part::Line => self.page.line_break(),
            }
        }
    }

    fn quote(&mut self) {
        self.gap();
        self.quotes += 1;
        if self.quotes == 1 {
            self.page.quote(true);
        }
    }

    fn quote_end(&mut self) {
        self.gap();
        self.quotes -= 1;
        if self.quotes == 0 {
            self.page.quote(false);
        }
    }

    /// How items are written of the list that is so many lists further out than the innermost one.
    fn level(&self, outer: usize) -> Level {
        let levels = self.page.rules.levels;
        let none = Level { bullet: "", indent: "", hang: "" };
        let Some(depth) = self.lists.len().checked_sub(outer + 1) else { return none };
        levels.get(depth).or(levels.last()).copied().unwrap_or(none)
    }

    fn item(&mut self) {
        self.page.gap(Gap::Line);
        let level = self.level(0);
        let lead = match self.lists.last_mut() {
            Some(Some(number)) => {
                let lead = format!("{}{number}{}", level.indent, self.page.rules.after_number);
                *number = number.saturating_add(1);
                lead
            }
            Some(None) | None => level.bullet.to_owned(),
        };
        self.page.item(lead, level.hang);
    }

    fn is_markdown(&self, kind: &CodeBlockKind<'_>) -> bool {
        let CodeBlockKind::Fenced(info) = kind else { return false };
        let language = info.split_whitespace().next().unwrap_or_default();
        self.documents < MOST_DOCUMENTS && ["markdown", "md"].iter().any(|name| language.eq_ignore_ascii_case(name))
    }

    fn code_block_end(&mut self) {
        let Some(block) = self.code.take() else { return };
        let code = block.text.strip_suffix('\n').unwrap_or(&block.text);
        self.gap();
        if block.is_markdown {
            self.document(code);
        } else if !is_blank(code) {
            self.page.code(code);
        }
        self.gap();
    }

    fn code(&mut self, code: &str) {
        let pair = self.page.rules.code.iter().position(|one| one.holds(code));
        let nth = self.page.number();
        let marks = Marks { code: pair.map(|pair| CodeSpan { pair, nth }), link: self.around(), ..Marks::default() };
        self.page.text(code, Kind::Code, marks);
    }

    fn around(&self) -> Option<Nth> {
        self.links.iter().rev().find_map(|link| match link.shows {
            Shows::Around(nth) => Some(nth),
            Shows::After(_) | Shows::Image => None,
        })
    }

    fn link(&mut self, address: CowStr<'_>) {
        let shows = match self.page.rules.link {
            Link::After(pair) => Shows::After(pair),
            Link::Around { most, after, .. } if address.is_empty() || address.len() > most => Shows::After(after),
            Link::Around { .. } => Shows::Around(self.page.link(&address)),
        };
        self.open(address, shows);
    }

    fn open(&mut self, address: CowStr<'_>, shows: Shows) {
        self.addresses.insert(address.to_string());
        self.links.push(OpenLink { address: address.into_string(), from: self.page.mark(), shows });
    }

    fn close(&mut self) {
        let Some(link) = self.links.last() else { return };
        let (address, from, shows) = (link.address.clone(), link.from, link.shows);
        let text = self.page.since(from).trim();
        let bare = Marks { link: self.around(), ..Marks::default() };
        if text.is_empty() {
            self.page.text(&address, Kind::Literal, bare);
        } else if is_same(text, &address) {
            self.page.make_literal(from, bare);
        } else if !address.is_empty() {
            let (before, after) = match shows {
                Shows::After(pair) => (pair.open, pair.close),
                Shows::Image => (": ", ""),
                Shows::Around(_) => {
                    self.links.pop();
                    return;
                }
            };
            self.page.text(before, Kind::Words, Marks::default());
            self.page.text(&address, Kind::Literal, Marks::default());
            self.page.text(after, Kind::Words, Marks::default());
        }
        self.links.pop();
    }
}

/// The text says the address already.
fn is_same(text: &str, address: &str) -> bool {
    let bare = |all: &str| {
        let one = ["https://", "http://", "mailto:", "tel:"].iter().find_map(|scheme| all.strip_prefix(scheme)).unwrap_or(all).to_owned();
        one.strip_suffix('/').map(str::to_owned).unwrap_or(one)
    };
    bare(text) == bare(address)
}
