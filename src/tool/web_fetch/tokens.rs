//! Between the tokenizer and the tree: what no reader of the text needs is dropped before it has a node, and a tag is counted while it is
//! still open.
//!
//! The tree builder copies a formatting element, with its attributes, into each paragraph that it was left open for, and the tokenizer
//! compares each attribute of a tag with all before it. Both make much of little.

use std::cell::Cell;

use html5ever::tokenizer::{Tag, Token, TokenSink, TokenSinkResult};
use html5ever::tree_builder::{TreeBuilder, TreeSink};

/// Attributes that say something about the text, or whether it is shown. The others go: some have megabytes of data.
const KEPT: [&str; 24] = [
    "href",
    "src",
    "alt",
    "title",
    "id",
    "class",
    "lang",
    "dir",
    "datetime",
    "start",
    "rel",
    "role",
    "itemprop",
    "itemtype",
    "name",
    "property",
    "content",
    "charset",
    "style",
    "hidden",
    "aria-hidden",
    "open",
    "encoding",
    "type",
];
/// Elements that the tree builder makes anew where they were left open (WHATWG HTML, "formatting"), and the attributes of them that count.
const FORMATTING: [&str; 14] = ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];
const KEPT_OF_FORMATTING: [&str; 5] = ["href", "class", "style", "hidden", "aria-hidden"];
/// The most bytes of an attribute's value: of a link, a description or a style, and of any other. Beyond it is data.
pub(super) const MAX_VALUE: usize = 2_000;
const MAX_NAME: usize = 300;

/// A tree builder that is given less, and counts what it is given.
pub(super) struct Lightened<Sink: TreeSink> {
    pub(super) tree: TreeBuilder<Sink::Handle, Sink>,
    tokens: Cell<u64>,
}

impl<Sink: TreeSink> Lightened<Sink> {
    pub(super) fn new(tree: TreeBuilder<Sink::Handle, Sink>) -> Self {
        Self { tree, tokens: Cell::new(0) }
    }

    /// How many tokens have come, errors left out.
    pub(super) fn tokens(&self) -> u64 {
        self.tokens.get()
    }
}

impl<Sink: TreeSink> TokenSink for Lightened<Sink> {
    type Handle = Sink::Handle;

    fn process_token(&self, mut token: Token, line: u64) -> TokenSinkResult<Self::Handle> {
        if let Token::TagToken(tag) = &mut token {
            lighten(tag);
        }
        if !matches!(token, Token::ParseError(_)) {
            self.tokens.set(self.tokens.get() + 1);
        }
        self.tree.process_token(token, line)
    }

    fn end(&self) {
        self.tree.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.tree.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

fn lighten(tag: &mut Tag) {
    let kept: &[&str] = if FORMATTING.contains(&tag.name.as_ref()) { &KEPT_OF_FORMATTING } else { &KEPT };
    tag.attrs.retain(|attribute| {
        let name = attribute.name.local.as_ref();
        let most = if matches!(name, "href" | "src" | "alt" | "title" | "content" | "style") { MAX_VALUE } else { MAX_NAME };
        kept.contains(&name) && attribute.value.len() <= most
    });
}

/// What the tokenizer has begun and not yet handed on. It is told each piece, and whether a token came of it; a `<` must be a piece of its
/// own, so that the start of a tag is where it seems to be.
#[derive(Debug, Default)]
pub(super) enum Pending {
    #[default]
    Nothing,
    /// The last piece was the `<` that may begin one.
    Opened,
    Tag(Attributes),
    /// A comment, a doctype.
    Other,
}

impl Pending {
    pub(super) fn read(&mut self, piece: &str, handed_on: bool) {
        *self = match (std::mem::take(self), piece) {
            (Self::Tag(mut attributes), piece) if !handed_on => {
                attributes.read(piece);
                Self::Tag(attributes)
            }
            (Self::Other, _) if !handed_on => Self::Other,
            // a character reference before it may be what was handed on
            (_, "<") => Self::Opened,
            (Self::Opened, piece) if !handed_on => match piece.bytes().next() {
                Some(b'/' | b'a'..=b'z' | b'A'..=b'Z') => {
                    let mut attributes = Attributes::default();
                    attributes.read(piece.trim_start_matches('/'));
                    Self::Tag(attributes)
                }
                _ => Self::Other,
            },
            _ => Self::Nothing,
        }
    }

    /// The attributes of the tag that is open; 0 where none is.
    pub(super) fn attributes(&self) -> usize {
        match self {
            Self::Tag(attributes) => attributes.count,
            Self::Nothing | Self::Opened | Self::Other => 0,
        }
    }
}

/// Counts attributes as the tokenizer does.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    count: usize,
    at: At,
}

#[derive(Clone, Copy, Debug, Default)]
enum At {
    /// Of the tag, or of an attribute.
    #[default]
    Name,
    AfterName,
    BeforeName,
    Equals,
    Unquoted,
    Quoted(u8),
}

impl Attributes {
    fn read(&mut self, piece: &str) {
        for byte in piece.bytes() {
            let space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c');
            self.at = match self.at {
                At::Quoted(quote) if byte == quote => At::BeforeName,
                At::Quoted(quote) => At::Quoted(quote),
                At::Equals if space => At::Equals,
                At::Equals if matches!(byte, b'"' | b'\'') => At::Quoted(byte),
                At::Equals => At::Unquoted,
                At::Unquoted if space => At::BeforeName,
                At::Unquoted => At::Unquoted,
                At::Name | At::AfterName if byte == b'=' && self.count > 0 => At::Equals,
                At::Name | At::AfterName if space => At::AfterName,
                At::BeforeName if space => At::BeforeName,
                At::Name | At::AfterName | At::BeforeName if byte == b'/' => At::BeforeName,
                At::Name => At::Name,
                At::AfterName | At::BeforeName => {
                    self.count += 1;
                    At::Name
                }
            };
        }
    }
}
