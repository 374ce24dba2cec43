//! HTML within Markdown: tags and comments go, text stays. What only looks like a tag, such as `<your-key>`, is text.

use std::borrow::Cow;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Text(Cow<'a, str>),
    Space,
    Line,
}

/// Elements that a line ends before and after.
const LINES: [&str; 34] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "br",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tr",
];
const CELLS: [&str; 2] = ["td", "th"];
const OTHERS: [&str; 66] = [
    "a", "abbr", "audio", "b", "base", "bdi", "bdo", "big", "body", "button", "canvas", "cite", "code", "col", "colgroup", "data",
    "datalist", "del", "dfn", "em", "embed", "font", "head", "html", "i", "iframe", "img", "input", "ins", "kbd", "label", "legend",
    "link", "map", "mark", "meta", "meter", "nav", "noscript", "object", "ol", "option", "output", "picture", "progress", "q", "ruby", "s",
    "samp", "script", "select", "small", "source", "span", "strike", "strong", "style", "sub", "sup", "svg", "tbody", "textarea", "tt",
    "u", "ul", "video",
];
const ENTITIES: [(&str, &str); 7] =
    [("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#39;", "'"), ("&nbsp;", "\u{A0}")];

/// One tag or comment, as the parser found it.
pub(super) fn inline(tag: &str) -> Option<Part<'_>> {
    if tag.starts_with("<!--") { None } else { element(tag).unwrap_or(Some(Part::Text(tag.into()))) }
}

/// Whole lines of HTML.
pub(super) fn block(html: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let last_end = html.rfind("-->").unwrap_or(0);
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        text(&mut parts, before);
        let here = html.len() - from.len();
        if from.starts_with("<!--") && here < last_end {
            let end = from[4..].find("-->").map_or(from.len(), |end| end + 7);
            rest = &from[end..];
            continue;
        }
        // up to the next `<`, so that each byte is looked at once
        let end = from[1..].find(['<', '>']).map_or(from.len(), |end| end + 1);
        match from[..end].strip_prefix('<').filter(|_| from[end..].starts_with('>')).and_then(|_| element(&from[..=end])) {
            Some(part) => {
                parts.extend(part);
                rest = &from[end + 1..];
            }
            None => {
                text(&mut parts, &from[..end]);
                rest = &from[end..];
            }
        }
    }
    text(&mut parts, rest);
    parts
}

/// What stands for the tag of an element of HTML; `None` if it is none.
fn element(tag: &str) -> Option<Option<Part<'static>>> {
    let name = tag.trim_start_matches('<').trim_start_matches('/');
    let name = name.split(|char: char| !char.is_ascii_alphanumeric() && char != '-').next()?.to_ascii_lowercase();
    let name = name.as_str();
    if LINES.contains(&name) {
        return Some(Some(Part::Line));
    }
    if CELLS.contains(&name) {
        return Some(Some(Part::Space));
    }
    OTHERS.contains(&name).then_some(None)
}

fn text<'a>(parts: &mut Vec<Part<'a>>, text: &'a str) {
    for (nth, line) in text.split('\n').enumerate() {
        if nth > 0 {
            parts.push(Part::Line);
        }
        if !line.is_empty() {
            parts.push(Part::Text(decoded(line)));
        }
    }
}

fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        let (name, char) = ENTITIES.into_iter().find(|(name, _)| rest[at..].starts_with(name)).unwrap_or(("&", "&"));
        decoded.push_str(char);
        rest = &rest[at + name.len()..];
    }
    decoded.push_str(rest);
    decoded.into()
}
