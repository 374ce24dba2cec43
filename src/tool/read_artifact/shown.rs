//! What the tool shows: a line that says where it stands and what is next, and the text below it. Where there is room for less of the text,
//! the line says so: who goes on from where it says misses nothing.

/// What a place that was found begins with; its offset follows.
pub(super) const PLACE: &str = "- offset ";

/// Characters from `offset` on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page<'a> {
    pub(super) id: &'a str,
    pub(super) offset: usize,
    pub(super) whole: usize,
}

/// Places from `offset` on, a line each; `more` is where to search on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'a> {
    pub(super) id: &'a str,
    pub(super) whole: usize,
    pub(super) offset: usize,
    pub(super) more: Option<usize>,
}

/// What was shown, in so many characters.
pub(super) fn within(content: &str, room: usize) -> String {
    let (line, body) = content.split_once('\n').unwrap_or((content, ""));
    match (Page::parse(line), Places::parse(line)) {
        (Some(page), _) => page.within(body, room),
        (None, Some(places)) => places.within(body, room),
        (None, None) => first(content, room).to_owned(),
    }
}

impl<'a> Page<'a> {
    pub(super) fn over(self, body: &str) -> String {
        format!("{}\n{body}", self.line(length(body)))
    }

    fn line(self, shown: usize) -> String {
        let Self { id, offset, whole } = self;
        let end = offset + shown;
        let next = if end < whole { format!("next: offset {end}") } else { "this is its end".to_owned() };
        format!("[{id}: characters {offset} to {end} of {whole}; {next}]")
    }

    fn parse(line: &'a str) -> Option<Self> {
        let (id, place) = line.strip_prefix('[')?.split_once(": characters ")?;
        let (offset, rest) = place.split_once(" to ")?;
        let (_, whole) = rest.split_once(';')?.0.split_once(" of ")?;
        Some(Self { id, offset: offset.parse().ok()?, whole: whole.parse().ok()? })
    }

    fn within(self, body: &str, room: usize) -> String {
        // of a page that is longer and not the last, so that no line which can stand there is longer
        let line = self.line(length(body).saturating_sub(1));
        self.over(first(body, room.saturating_sub(length(&line) + 1)))
    }
}

impl<'a> Places<'a> {
    pub(super) fn over(self, body: &str) -> String {
        format!("{}\n{body}", self.line(body))
    }

    fn line(self, body: &str) -> String {
        let Self { id, whole, offset, more } = self;
        let places = body.lines().filter(|line| place(line).is_some()).count();
        let more = more.map(|next| format!("; there are more, search on from offset {next}")).unwrap_or_default();
        format!("[{id}, {whole} characters; places from offset {offset} on: {places}{more}]")
    }

    fn parse(line: &'a str) -> Option<Self> {
        let (id, rest) = line.strip_prefix('[')?.split_once(", ")?;
        let (whole, rest) = rest.split_once(" characters; places from offset ")?;
        let (offset, _) = rest.split_once(" on: ")?;
        Some(Self { id, whole: whole.parse().ok()?, offset: offset.parse().ok()?, more: None })
    }

    /// As many whole lines as there is room for, and the beginning of the first at least: it names its place.
    fn within(self, body: &str, room: usize) -> String {
        // with the longest numbers that can stand there
        let longest = Self { more: Some(self.whole), ..self }.line(body);
        let left = room.saturating_sub(length(&longest) + 1);
        let (mut end, mut last) = (0, "");
        for line in body.lines() {
            let with = if last.is_empty() { line.len() } else { end + 1 + line.len() };
            if length(&body[..with]) > left {
                break;
            }
            (end, last) = (with, line);
        }
        let (shown, last) = match body.lines().next() {
            Some(line) if last.is_empty() => (first(line, left), line),
            _ => (&body[..end], last),
        };
        Self { more: place(last).map(|at| at + 1), ..self }.over(shown)
    }
}

/// Where the place of that line stands.
fn place(line: &str) -> Option<usize> {
    line.strip_prefix(PLACE)?.split_once(':')?.0.parse().ok()
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Its first characters, at most so many.
fn first(text: &str, length: usize) -> &str {
    text.char_indices().nth(length).map_or(text, |(end, _)| &text[..end])
}
