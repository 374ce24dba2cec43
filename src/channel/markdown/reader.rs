//! From the parser's events to lines.

use std::collections::HashSet;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::Rendered;
use super::html;
use super::line::{Gap, Kind, Marks};
use super::literal::Span;
use super::page::Page;
use super::table::Table;

mod blocks;
mod spans;

use spans::{OpenLink, Shows};

#[derive(Debug)]
pub(super) struct Reader {
    page: Page,
    bold: usize,
    italic: usize,
    strike: usize,
    /// Of each span of emphasis that is open the marker, if it is text.
    literal: Vec<Option<&'static str>>,
    links: Vec<OpenLink>,
    /// Which of them are HTML's: how many were open with each.
    html_links: Vec<usize>,
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
            html_links: Vec::new(),
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
            self.event(event, markdown, &range);
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

    /// `range` is where it stands in the source.
    fn event(&mut self, event: Event<'_>, source: &str, range: &Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, source, range),
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

    fn start(&mut self, tag: Tag<'_>, source: &str, range: &Range<usize>) {
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
            Tag::Emphasis => self.span(source, range, Span::Italic),
            Tag::Strong => self.span(source, range, Span::Bold),
            Tag::Strikethrough => self.span(source, range, Span::Strike),
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            Tag::Image { dest_url, .. } => self.open(&dest_url, Shows::Image),
            Tag::Paragraph | Tag::HtmlBlock | Tag::DefinitionList | Tag::DefinitionListTitle | Tag::DefinitionListDefinition => self.gap(),
            Tag::Superscript | Tag::Subscript | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        self.close_html();
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
                self.close_html();
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
            TagEnd::Emphasis => self.span_end(Span::Italic),
            TagEnd::Strong => self.span_end(Span::Bold),
            TagEnd::Strikethrough => self.span_end(Span::Strike),
            TagEnd::TableHead | TagEnd::TableRow | TagEnd::Superscript | TagEnd::Subscript | TagEnd::MetadataBlock(_) => {}
        }
    }
}
