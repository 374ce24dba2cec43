//! A page's tree to Markdown: its article where it has one, all of it where not.

use std::rc::Rc;

use dom_query::Document;
use dom_smoothie::{Article, Config, Readability};
use htmd::options::{BulletListMarker, HrStyle, Options};
use htmd::{HtmlToMarkdown, Node};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::html::{self, MAX_DEPTH, Parsed, Unreadable};

/// Elements up to which an article is looked for: finding one costs nodes times depth, several times over.
const ARTICLE_ELEMENTS: usize = 50_000;
/// Levels that an article has around it beyond those of its page.
const WRAPPING: usize = 16;
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
    /// The page has more elements than are read.
    pub(super) cut: bool,
}

/// Reads a page. CPU work, as [`html::parse`].
///
/// # Errors
/// When the page is hostile, or `stop` fired.
pub(super) fn read(html: &str, address: &Url, stop: &CancellationToken) -> Result<Page, Unreadable> {
    let Parsed { document, cut } = html::parse(html, address, stop)?;
    let page = match article(&document) {
        Some(article) => Page {
            title: fact(Some(&article.title)),
            byline: fact(article.byline.as_deref()),
            published: fact(article.published_time.as_deref()),
            markdown: markdown(&article.content)?,
            cut,
        },
        None => Page { title: fact(title(&document).as_deref()), markdown: whole(&document)?, cut, ..Page::default() },
    };
    if stop.is_cancelled() { Err(Unreadable::Stopped) } else { Ok(page) }
}

/// The article, where the page looks as if it had one. A front page with nothing but links has none, and is wanted for its links.
fn article(document: &Document) -> Option<Article> {
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

fn whole(document: &Document) -> Result<String, Unreadable> {
    document.body().map_or_else(|| Ok(String::new()), |body| markdown(&body.html()))
}

fn markdown(html: &str) -> Result<String, Unreadable> {
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        hr_style: HrStyle::Dashes,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let converter = HtmlToMarkdown::builder().options(options).scripting_enabled(false).build();
    // it reads from memory, and cannot fail
    let Ok(tree) = converter.html_to_tree(html) else { return Ok(String::new()) };
    shallow(&tree)?;
    Ok(converter.tree_to_markdown(&tree).trim().to_owned())
}

/// The same text need not parse to the same tree again, and what follows walks it by recursion.
fn shallow(tree: &Rc<Node>) -> Result<(), Unreadable> {
    let mut open = vec![(tree.clone(), 0)];
    while let Some((node, depth)) = open.pop() {
        if depth > MAX_DEPTH + WRAPPING {
            return Err(Unreadable::TooDeep);
        }
        open.extend(node.children.borrow().iter().map(|child| (child.clone(), depth + 1)));
    }
    Ok(())
}

/// One line, not too long: what a page says of itself stands above the text, and must not look like more.
fn fact(text: Option<&str>) -> Option<String> {
    let line = text?.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|c| !c.is_control()).take(MAX_FACT).collect();
    if line.is_empty() { None } else { Some(line) }
}
