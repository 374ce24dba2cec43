use super::*;

fn route(table: &Table, model: &str) -> (String, String) {
    let (row, name) = table.resolve(model).unwrap();
    (row.id.to_string(), name.to_owned())
}

#[test]
fn a_models_name_leads_to_its_row() {
    let table = Table::new();
    for (model, id, name) in [
        ("gpt-5.6-sol", "openai", "gpt-5.6-sol"),
        ("grok-4", "xai", "grok-4"),
        ("kimi-k2-5", "moonshot", "kimi-k2-5"),
        ("deepseek-v4-pro", "deepseek", "deepseek-v4-pro"),
        ("openrouter:openai/gpt-4o-mini", "openrouter", "openai/gpt-4o-mini"),
        ("ollama:qwen3", "ollama", "qwen3"),
        ("ollama-cloud:qwen3", "ollama-cloud", "qwen3"),
        ("demo", "demo", "demo"),
        ("demolition-7b", "openai", "demolition-7b"),
        ("openai/gpt-oss", "openai", "openai/gpt-oss"),
        ("claude-sonnet-5-5", "anthropic", "claude-sonnet-5-5"),
        ("ollama:", "openai", "ollama:"),
    ] {
        assert_eq!(route(&table, model), (id.into(), name.into()), "{model}");
    }
}

#[test]
fn every_row_is_whole_and_its_own_models_lead_back_to_it() {
    let table = Table::new();
    for row in table.rows() {
        assert!(row.window > 0, "{}", row.id);
        assert_eq!(row.base_url.is_empty(), row.wire == Wire::Demo, "{}", row.id);
        for model in row.default_model.iter().chain(&row.fast_model) {
            assert_eq!(route(&table, model).0, row.id, "{model}");
        }
    }
}

#[test]
fn the_configuration_moves_a_row_and_adds_one_in_front() {
    let mut table = Table::new();
    table.configure("openai", Setting { base_url: Some("http://127.0.0.1:9/v1/".into()), ..Setting::default() }).unwrap();
    assert_eq!(table.get("openai").unwrap().base_url, "http://127.0.0.1:9/v1");
    assert_eq!(table.get("openai").unwrap().quirks.max_tokens_field, "max_completion_tokens");

    let local = |prefix: &str| Setting {
        base_url: Some("http://127.0.0.1:8000/v1".into()),
        model_prefix: Some(prefix.into()),
        window: Some(32_000),
        wire: None,
        takes: None,
    };
    table.configure("local", local("local/")).unwrap();
    table.configure("ours", local("deepseek-ours")).unwrap();
    let messages = Setting { wire: Some(Wire::Anthropic), base_url: Some("http://127.0.0.1:8000/".into()), ..local("mini-") };
    table.configure("minimax", messages).unwrap();
    assert_eq!((table.get("minimax").unwrap().wire, table.get("local").unwrap().wire), (Wire::Anthropic, Wire::OpenAiChat));
    assert_eq!(table.get("local").unwrap().window, 32_000);
    assert_eq!(table.get("local").unwrap().takes, Takes::NOTHING, "nobody has said that it sees");
    table.configure("local", Setting { takes: Some(Takes::IMAGES), ..Setting::default() }).unwrap();
    assert_eq!(table.get("local").unwrap().takes, Takes::IMAGES);
    assert_eq!(table.get("openai").unwrap().takes, Takes::BOTH, "a base URL says nothing of it");
    assert_eq!(route(&table, "local/qwen"), ("local".into(), "qwen".into()));
    assert_eq!(route(&table, "deepseek-ours-1"), ("ours".into(), "deepseek-ours-1".into()));
    assert_eq!(route(&table, "deepseek-v4-pro").0, "deepseek");
    assert_eq!(route(&table, "mini-2"), ("minimax".into(), "mini-2".into()));
}

#[test]
fn settings_that_make_no_row_are_refused() {
    let mut table = Table::new();
    let before = table.clone();
    let mut refused = |id: &str, setting: Setting| table.configure(id, setting).unwrap_err().to_string();
    assert!(refused("x", Setting { model_prefix: Some("x-".into()), ..Setting::default() }).contains("base_url"));
    assert!(refused("x", Setting { base_url: Some("http://h/v1".into()), ..Setting::default() }).contains("model_prefix"));
    let not_built = refused("gemini", Setting::default());
    assert!(not_built.contains("not built in") && !not_built.contains("gemini"), "whoever shows it names the key: {not_built}");
    let versioned = Setting { base_url: Some("http://h/v1/".into()), ..Setting::default() };
    assert!(refused("anthropic", versioned.clone()).contains("/v1"));
    assert!(refused("x", Setting { wire: Some(Wire::Anthropic), model_prefix: Some("x-".into()), ..versioned }).contains("/v1"));
    assert!(refused("demo", Setting { base_url: Some("http://h".into()), ..Setting::default() }).contains("demo"));
    assert_eq!(table, before);
}

#[test]
fn auto_takes_the_first_row_with_a_key_and_else_the_demo() {
    let table = Table::new();
    assert_eq!(table.auto(|_| false), "demo");
    assert_eq!(table.auto(|row| row.id == "deepseek" || row.id == "openrouter"), "deepseek-v4-pro");
    assert_eq!(table.auto(|row| row.id == "deepseek" || row.id == "anthropic"), "claude-sonnet-5-5");
    assert_eq!(table.auto(|row| row.id == "ollama-cloud"), "demo", "a row without a default model is no answer");
}

/// The table of names in `config.toml` is this one.
#[test]
fn the_configuration_tells_how_models_are_named() {
    let text = include_str!("../../../config.toml");
    let lines = text.lines().skip_while(|line| !line.starts_with("#   provider ")).skip(1).take_while(|line| line.starts_with("#   "));
    let told: Vec<Vec<&str>> = lines.map(|line| line[4..].split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()).collect();
    let table = Table::new();
    let or_none = |text: &Option<Text>| text.as_deref().unwrap_or("-").to_owned();
    let rows = table.rows().iter().map(|row| {
        let begins = match &row.models {
            Models::Name(text) | Models::Prefix(text) | Models::Stripped(text) => text.to_string(),
            Models::Rest => "anything else".to_owned(),
        };
        vec![row.id.to_string(), begins, or_none(&row.key_var), or_none(&row.default_model)]
    });
    assert_eq!(told, rows.collect::<Vec<_>>());
}
