//! A Markdown table with its columns in line. Pure.

use super::page::width;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// The rows of a table in the pipe form of GitHub's Markdown, padded; the first is its head. `None` for what is no such table, or is wider
/// than `columns`: it stays as it was written.
pub(super) fn aligned(text: &str, columns: usize) -> Option<Vec<String>> {
    let rows: Vec<Vec<&str>> = text.lines().map(cells).collect();
    let sides: Vec<Side> = rows.get(1)?.iter().map(|cell| side(cell)).collect::<Option<_>>()?;
    if sides.is_empty() || rows.iter().any(|row| row.len() != sides.len()) {
        return None;
    }
    // the row of dashes is as wide as the others
    let texts = || rows.iter().enumerate().filter(|(i, _)| *i != 1).map(|(_, row)| row);
    let widest = |at: usize| texts().filter_map(|row| row.get(at)).map(|cell| width(cell)).max().unwrap_or(0).max(1);
    let widths: Vec<usize> = (0..sides.len()).map(widest).collect();
    if widths.iter().map(|wide| wide + 3).sum::<usize>() + 1 > columns {
        return None;
    }
    let shown = rows.iter().enumerate().map(|(i, row)| {
        let cells = row.iter().zip(&widths).zip(&sides).map(|((cell, wide), side)| match (i, side) {
            (1, Side::Left) => format!("-{}-", "-".repeat(*wide)),
            (1, Side::Right) => format!("-{}:", "-".repeat(*wide)),
            (_, Side::Left) => format!(" {cell}{} ", " ".repeat(wide.saturating_sub(width(cell)))),
            (_, Side::Right) => format!(" {}{cell} ", " ".repeat(wide.saturating_sub(width(cell)))),
        });
        format!("|{}|", cells.collect::<Vec<_>>().join("|"))
    });
    Some(shown.collect())
}

/// A bar with a backslash before it is text.
fn cells(row: &str) -> Vec<&str> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let mut cells = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (at, c) in row.char_indices() {
        if c == '|' && !escaped {
            cells.push(row[start..at].trim());
            start = at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    if start < row.len() {
        cells.push(row[start..].trim());
    }
    cells
}

/// Of a cell in the row of dashes.
fn side(cell: &str) -> Option<Side> {
    let is_right = cell.len() > 1 && cell.ends_with(':') && !cell.starts_with(':');
    let dashes = cell.trim_matches(':');
    let is_rule = !dashes.is_empty() && dashes.bytes().all(|b| b == b'-');
    is_rule.then_some(if is_right { Side::Right } else { Side::Left })
}

#[cfg(test)]
mod tests {
    use super::aligned;

    #[test]
    fn columns_are_in_line_whatever_their_characters_width() {
        let table = "| Name | n |\n|---|--:|\n| 日本 | 1 |\n| a\\|b c | 12 |\n";
        let expected = ["| Name   |  n |", "|--------|---:|", "| 日本   |  1 |", "| a\\|b c | 12 |"];
        assert_eq!(aligned(table, 80).unwrap(), expected);
        assert_eq!(aligned(table, 15).unwrap(), expected);
        assert_eq!(aligned(table, 14), None);
    }

    #[test]
    fn what_is_no_table_is_left_alone() {
        for text in [
            "| a | b |\n",
            "| a | b |\n| c | d |\n",
            "| a | b |\n|---|\n",
            "| a |\n|---|\n| b | c |\n",
            "|\n|\n",
            "| a\n| --- |\n| b | c | d |",
        ] {
            assert_eq!(aligned(text, 80), None, "{text:?}");
        }
    }
}
