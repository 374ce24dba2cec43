//! Which tables are tables, and which only place things on a page.

use dom_query::NodeRef;

/// What no cell of a Markdown table can hold.
const BLOCKS: [&str; 15] = ["table", "ul", "ol", "dl", "pre", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "figure", "form"];

/// Whether it can be written as a table: some row has two cells, and all cells have a line's text.
pub(super) fn is_grid(table: &NodeRef<'_>) -> bool {
    let holds_lines = table.descendants_it().all(|node| node.node_name().is_none_or(|name| !BLOCKS.contains(&name.as_ref())));
    holds_lines && rows(table).iter().any(|row| row.len() > 1)
}

/// Its cells, row by row.
pub(super) fn rows<'a>(table: &NodeRef<'a>) -> Vec<Vec<NodeRef<'a>>> {
    let mut rows = Vec::new();
    for child in table.children_it(false) {
        if child.has_name("tr") {
            rows.push(cells(&child));
        } else if child.has_name("thead") || child.has_name("tbody") || child.has_name("tfoot") {
            rows.extend(child.children_it(false).filter(|row| row.has_name("tr")).map(|row| cells(&row)));
        }
    }
    rows.retain(|row| !row.is_empty());
    rows
}

fn cells<'a>(row: &NodeRef<'a>) -> Vec<NodeRef<'a>> {
    row.children_it(false).filter(|cell| cell.has_name("td") || cell.has_name("th")).collect()
}
