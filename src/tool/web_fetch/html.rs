//! HTML of unknown origin to a tree that is safe to walk: bounded in nodes and in depth, and without what no reader of the page sees.
//!
//! The parser's own cost grows with the square of the nesting, and what comes after it walks trees by recursion, so a page is parsed piece
//! by piece and given up as soon as it is too deep.

use dom_query::Document;
use html5ever::TokenizerResult;
use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{Tokenizer, TokenizerOpts};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts, TreeSink};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::clean::clean;
use super::tokens::{Lightened, Pending};

/// Bytes that are parsed between two looks at the tree, at most.
const PIECE: usize = 4 * 1024;
/// New nodes between two measurements of its depth, each of which visits the whole tree.
const MEASURE_EVERY: usize = 4_096;
/// Nodes at which parsing stops; the longest articles have a fifth of it.
pub(super) const MAX_NODES: usize = 200_000;
/// Nesting that no page needs: browsers themselves stop at 512, and pages that people write have less than 100. Recursion over as many levels
/// takes at most half of a blocking thread's 2 MiB of stack, in a debug build.
pub(super) const MAX_DEPTH: usize = 256;
/// Levels that an article has around it beyond those of its page.
const WRAPPING: usize = 16;
/// Attributes of one tag, whose cost grows with their square. Pages that people write have less than 50.
pub(super) const MAX_ATTRIBUTES: usize = 1_000;

/// Why a page is not read; a sentence for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("its elements are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    #[error("one of its tags has more than {MAX_ATTRIBUTES} attributes")]
    TooManyAttributes,
    #[error("reading it was stopped")]
    Stopped,
}

/// A page's tree.
pub(super) struct Parsed {
    pub(super) document: Document,
    /// The page has more elements, which are not in it.
    pub(super) cut: bool,
}

/// Parses a page and takes out what is not shown; links are absolute afterwards. CPU work: seconds for megabytes. Looks at `stop` often.
///
/// # Errors
/// When the page is hostile, or `stop` fired.
pub(super) fn parse(html: &str, address: &Url, stop: &CancellationToken) -> Result<Parsed, Unreadable> {
    let parsed = bounded(html, MAX_DEPTH, stop)?;
    clean(&parsed.document, address, stop)?;
    Ok(parsed)
}

/// Parses what was written from a tree that had been [`parse`]d.
///
/// # Errors
/// As [`parse`]: the same text need not become the same tree again.
pub(super) fn parse_again(html: &str, stop: &CancellationToken) -> Result<Parsed, Unreadable> {
    bounded(html, MAX_DEPTH + WRAPPING, stop)
}

fn bounded(html: &str, max_depth: usize, stop: &CancellationToken) -> Result<Parsed, Unreadable> {
    let options = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() }; // what stands in `noscript` is for us
    let sink = Lightened::new(TreeBuilder::new(Document::default(), options));
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let (input, mut pending) = (BufferQueue::default(), Pending::default());
    let (mut rest, mut measured, mut cut) = (html, 0, false);
    while !rest.is_empty() && !cut {
        if stop.is_cancelled() {
            return Err(Unreadable::Stopped);
        }
        let (piece, after) = rest.split_at(first_piece(rest));
        let before = tokenizer.sink.tokens();
        feed(&tokenizer, &input, piece);
        pending.read(piece, tokenizer.sink.tokens() > before);
        if pending.attributes() > MAX_ATTRIBUTES {
            return Err(Unreadable::TooManyAttributes);
        }
        rest = after;
        let document = &tokenizer.sink.tree.sink;
        document.errors.borrow_mut().clear(); // one for each bad byte otherwise
        let nodes = document.tree.len();
        if nodes >= measured + MEASURE_EVERY {
            measured = nodes;
            shallow(document, max_depth)?;
        }
        cut = nodes > MAX_NODES;
    }
    tokenizer.end();
    let document = tokenizer.sink.tree.sink.finish();
    shallow(&document, max_depth)?;
    Ok(Parsed { document, cut })
}

/// A `<` alone, or all up to the next one, as far as that is not too much.
fn first_piece(rest: &str) -> usize {
    if rest.starts_with('<') {
        return 1;
    }
    let most = rest.floor_char_boundary(PIECE);
    rest[..most].find('<').unwrap_or(most)
}

fn feed(tokenizer: &Tokenizer<Lightened<Document>>, input: &BufferQueue, piece: &str) {
    input.push_back(StrTendril::from(piece));
    // scripts and declared encodings interrupt it, and neither is for us
    while !matches!(tokenizer.feed(input), TokenizerResult::Done) {}
}

/// # Errors
/// When the tree is too deep.
fn shallow(document: &Document, max_depth: usize) -> Result<(), Unreadable> {
    let mut open = vec![(document.root(), 0)];
    while let Some((node, depth)) = open.pop() {
        if depth > max_depth {
            return Err(Unreadable::TooDeep);
        }
        open.extend(node.children_it(false).map(|child| (child, depth + 1)));
    }
    Ok(())
}
