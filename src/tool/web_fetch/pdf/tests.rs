//! What is in a PDF, and what becomes of a process that reads one and does not do well.

use std::fmt::Write;

use super::reading::read;
use super::*;

/// A file of these objects, the first of which is its catalog, and what its trailer says beside it.
fn pdf(objects: &[String], trailer: &str) -> Vec<u8> {
    let mut file = "%PDF-1.4\n".to_owned();
    let mut places = Vec::new();
    for (i, object) in objects.iter().enumerate() {
        places.push(file.len());
        write!(file, "{} 0 obj\n{object}\nendobj\n", i + 1).unwrap();
    }
    let table = file.len();
    write!(file, "xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).unwrap();
    places.iter().for_each(|place| writeln!(file, "{place:010} 00000 n ").unwrap());
    write!(file, "trailer\n<< /Size {} /Root 1 0 R {trailer} >>\nstartxref\n{table}\n%%EOF\n", objects.len() + 1).unwrap();
    file.into_bytes()
}

/// A file with these pages, each drawn by these operators.
fn pages(drawn: &[&str], trailer: &str) -> Vec<u8> {
    let kids: String = (0..drawn.len()).map(|i| format!("{} 0 R ", 5 + 2 * i)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", drawn.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
        "<< /Title (The \\(boat\\) report) >>".to_owned(),
    ];
    for (i, operators) in drawn.iter().enumerate() {
        let contents = 6 + 2 * i;
        objects.push(format!("<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 3 0 R >> >> /Contents {contents} 0 R >>"));
        objects.push(format!("<< /Length {} >>\nstream\n{operators}\nendstream", operators.len()));
    }
    pdf(&objects, trailer)
}

fn words(text: &str) -> String {
    format!("BT /F1 12 Tf 72 720 Td ({text}) Tj ET")
}

#[test]
fn text_comes_by_pages_with_the_title_of_the_file() {
    let (one, two) = (words("Twelve coins."), words("caf\\351"));
    let outcome = read(&pages(&[&one, "0 0 10 10 re f", &two], "/Info 4 0 R"));
    let text = "[page 1]\nTwelve coins.\n\n[page 3]\ncafé".to_owned();
    assert_eq!(outcome, Outcome::Text(PdfText { title: Some("The (boat) report".into()), text, cut: false }));
}

#[test]
fn a_scan_and_a_locked_file_say_what_they_are() {
    assert_eq!(read(&pages(&["0 0 10 10 re f", ""], "")), Outcome::NoText { pages: 2 });
    let handler = "/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O (oooooooooooooooooooooooooooooooo) /U (uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu) >> \
                   /ID [(0123456789abcdef) (0123456789abcdef)]";
    assert_eq!(read(&pages(&[&words("secret")], handler)), Outcome::Encrypted);
}

#[test]
fn what_is_none_is_damaged_and_cut_files_end_somehow() {
    assert_eq!(read(b"%PDF-1.7 and nothing more"), Outcome::Damaged);
    assert_eq!(read(&pdf(&["<< /Type /Catalog >>".to_owned()], "")), Outcome::Damaged);
    // pages that are their own parents
    let loops =
        ["<< /Type /Catalog /Pages 2 0 R >>".to_owned(), "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 9 /Parent 2 0 R >>".to_owned()];
    assert_eq!(read(&pdf(&loops, "")), Outcome::Damaged);
    let whole = pages(&[&words("Twelve coins.")], "/Info 4 0 R");
    for cut in 0..whole.len() {
        read(&whole[..cut]);
    }
}

#[test]
fn a_long_text_is_cut_and_said_to_be() {
    let long = words(&"x".repeat(MAX_CHARS / 2));
    let Outcome::Text(PdfText { text, cut, .. }) = read(&pages(&[&long, &long, &long], "")) else { panic!() };
    assert!(cut && text.len() <= MAX_CHARS);
}

#[tokio::test]
async fn a_process_that_does_not_do_well_costs_its_page_only() {
    let read = async |program: &'static str| PdfReader::other(program).read(b"%PDF-1.4").await;
    assert!(matches!(read("/nonexistent/portico").await, Err(Lost::NotStarted(_))));
    assert_eq!(read("false").await, Err(Lost::Crashed));
    assert_eq!(read("true").await, Err(Lost::Crashed), "it said nothing");
}
