//! A page's tree to Markdown: its article where it has one, all of it where not.

use dom_query::{Document, NodeData};
use dom_smoothie::{Article, Config, Readability};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::MAX_CHARS;
use super::charset::plain;
use super::html::{self, Parsed, Unreadable};
use super::markdown::{Markdown, markdown};

/// Elements up to which an article is looked for.
const ARTICLE_ELEMENTS: usize = 50_000;
/// What looking for one may cost: the depths of all nodes together, and the bytes of text times the depth at which they stand. It cannot be
/// stopped, asks each node about those around it, and reads their texts, several times over.
const ARTICLE_DEPTHS: usize = 2_000_000;
const ARTICLE_TEXT: usize = 32 * 1024 * 1024;
/// The most bytes of Markdown: no more than this many characters are shown.
const MAX_MARKDOWN: usize = 4 * MAX_CHARS;
/// The most characters of a title, an author, a date.
const MAX_FACT: usize = 300;

/// What a page says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) title: Option<String>,
    pub(super) byline: Option<String>,
    /// As the page writes it.
    pub(super) published: Option<String>,
    /// May be empty.
    pub(super) markdown: String,
    /// There is more on the page than was read.
    pub(super) cut: bool,
}

/// Reads a page. CPU work, as [`html::parse`].
///
/// # Errors
/// When the page is hostile, or `stop` fired.
pub(super) fn read(html: &str, address: &Url, stop: &CancellationToken) -> Result<Page, Unreadable> {
    let Parsed { document, cut } = html::parse(html, address, stop)?;
    let Some(article) = article(&document) else {
        let whole = whole(&document, stop)?;
        return Ok(Page { title: fact(title(&document).as_deref()), markdown: whole.text, cut: cut || whole.cut, ..Page::default() });
    };
    let content = html::parse_again(&article.content, stop)?;
    let whole = whole(&content.document, stop)?;
    Ok(Page {
        title: fact(Some(&article.title)),
        byline: fact(article.byline.as_deref()),
        published: fact(article.published_time.as_deref()),
        markdown: whole.text,
        cut: cut || content.cut || whole.cut,
    })
}

/// The article, where the page looks as if it had one. A front page with nothing but links has none, and is wanted for its links.
fn article(document: &Document) -> Option<Article> {
    if !is_cheap(document) {
        return None;
    }
    let config = Config {
        keep_classes: true, // a code block's language is one
        disable_json_ld: true,
        max_elements_to_parse: ARTICLE_ELEMENTS,
        ..Config::default()
    };
    // it takes the tree apart; a copy shares the texts
    let mut reader = Readability::with_document(document.clone(), None, Some(config)).ok()?;
    if !reader.is_probably_readable() {
        return None;
    }
    reader.parse().ok().filter(|article| !article.text_content.trim().is_empty())
}

fn title(document: &Document) -> Option<String> {
    document.head()?.descendants_it().find(|node| node.node_name().as_deref() == Some("title")).map(|node| node.text().to_string())
}

/// Whether looking for an article in it ends soon.
fn is_cheap(document: &Document) -> bool {
    let (mut depths, mut text) = (0, 0);
    let mut open = vec![(document.root(), 0)];
    while let Some((node, depth)) = open.pop() {
        let bytes = node.query(|node| if let NodeData::Text { contents } = &node.data { contents.len() } else { 0 });
        depths += depth;
        text += bytes.unwrap_or_default() * depth;
        if depths > ARTICLE_DEPTHS || text > ARTICLE_TEXT {
            return false;
        }
        open.extend(node.children_it(false).map(|child| (child, depth + 1)));
    }
    true
}

fn whole(document: &Document, stop: &CancellationToken) -> Result<Markdown, Unreadable> {
    document.body().map_or_else(|| Ok(Markdown::default()), |body| markdown(body, MAX_MARKDOWN, stop))
}

/// One line, not too long: what a page says of itself stands above the text, and must not look like more.
pub(super) fn fact(text: Option<&str>) -> Option<String> {
    let line = plain(text?).split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().take(MAX_FACT).collect();
    if line.is_empty() { None } else { Some(line) }
}
