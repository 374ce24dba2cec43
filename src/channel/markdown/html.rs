//! HTML within Markdown: tags and comments go, text stays, and so does where links and images lead. What only looks like a tag, such as `<your-key>`, is text.

use std::borrow::Cow;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Text(Cow<'a, str>),
    Space,
    Line,
    /// A link to there begins.
    Link(Cow<'a, str>),
    LinkEnd,
    Image {
        alt: Cow<'a, str>,
        address: Cow<'a, str>,
    },
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
fn element(tag: &str) -> Option<Option<Part<'_>>> {
    let inner = tag.strip_prefix('<')?;
    let (ends, inner) = inner.strip_prefix('/').map_or((false, inner), |inner| (true, inner));
    let length = inner.find(|char: char| !char.is_ascii_alphanumeric() && char != '-').unwrap_or(inner.len());
    let (name, attributes) = inner.split_at(length);
    let name = name.to_ascii_lowercase();
    let name = name.as_str();
    if LINES.contains(&name) {
        return Some(Some(Part::Line));
    }
    if CELLS.contains(&name) {
        return Some(Some(Part::Space));
    }
    if !OTHERS.contains(&name) {
        return None;
    }
    Some(match (name, ends) {
        ("a", true) => Some(Part::LinkEnd),
        ("a", false) => attribute(attributes, "href").map(Part::Link),
        ("img", false) => image(attributes),
        _ => None,
    })
}

/// `None` where there is nothing to read of it.
fn image(attributes: &str) -> Option<Part<'_>> {
    let of = |name| attribute(attributes, name).unwrap_or_default();
    let (alt, address) = (of("alt"), of("src"));
    // the image itself, as its bytes
    let address = if address.starts_with("data:") { Cow::Borrowed("") } else { address };
    (!alt.is_empty() || !address.is_empty()).then_some(Part::Image { alt, address })
}

/// Its first value, without what stands around it; none where it has nothing in it.
fn attribute<'a>(attributes: &'a str, wanted: &str) -> Option<Cow<'a, str>> {
    let is_gap = |char: char| char.is_ascii_whitespace() || char == '/';
    let mut rest = attributes.trim_end_matches('>');
    loop {
        rest = rest.trim_start_matches(is_gap);
        let length = rest.find(|char: char| char.is_ascii_whitespace() || char == '=').unwrap_or(rest.len());
        if rest.is_empty() {
            return None;
        }
        let (name, after) = rest.split_at(length);
        let Some(after) = after.trim_start().strip_prefix('=').map(str::trim_start) else {
            rest = after;
            continue;
        };
        let quote = after.chars().next().filter(|char| matches!(char, '"' | '\''));
        let (value, after) = match quote {
            Some(quote) => after[1..].split_once(quote).unwrap_or((&after[1..], "")),
            None => after.split_at(after.find(|char: char| char.is_ascii_whitespace()).unwrap_or(after.len())),
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(decoded(value.trim())).filter(|value| !value.is_empty());
        }
        rest = after;
    }
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
