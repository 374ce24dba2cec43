//! How this program is called again: by the name and with the settings that it was started with.

/// `portico serve`, under the name that this process was started by.
pub(super) fn serve() -> String {
    format!("{} serve", again(std::env::args(), &["--config"]).join(" "))
}

/// `portico chat` and `rest`, with the options of this process that say which gateway.
pub(super) fn chat(rest: &str) -> String {
    let mut words = again(std::env::args(), &["--config", "--url"]);
    words.insert(1, "chat".into());
    format!("{} {rest}", words.join(" "))
}

/// The program's name, and those of its options that are named. Never the key.
fn again(mut args: impl Iterator<Item = String>, options: &[&str]) -> Vec<String> {
    let mut words = vec![args.next().filter(|name| !name.is_empty()).map_or_else(|| "portico".to_owned(), |name| quoted(&name))];
    while let Some(arg) = args.next() {
        let (name, value) = arg.split_once('=').map_or((arg.as_str(), None), |(name, value)| (name, Some(value.to_owned())));
        if !options.contains(&name) {
            continue;
        }
        if let Some(value) = value.or_else(|| args.next()) {
            words.extend([name.to_owned(), quoted(&value)]);
        }
    }
    words
}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:~@%+,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::again;

    #[test]
    fn the_name_and_the_options_named_are_kept_and_nothing_else() {
        let args = ["target/debug/portico", "chat", "--key", "secret", "--url=http://127.0.0.1:1", "--config", "my file"];
        let words = again(args.iter().map(ToString::to_string), &["--config", "--url"]);
        assert_eq!(words.join(" "), "target/debug/portico --url http://127.0.0.1:1 --config 'my file'");
        assert_eq!(again(std::iter::empty(), &[]), ["portico"]);
    }
}
