//! The page as text. `{{name}}` of the template becomes an operation, or one of the tables.

use serde_json::Value;

/// Answers that every call may get: the page tells of them once.
const EVERYWHERE: [&str; 3] = ["401", "500", "503"];

pub(super) fn page(template: &str, api: &Value) -> String {
    let mut out = String::from("<!-- Made from openapi.json and API.in.md: cargo test --test it renew_api_md -- --ignored -->\n\n");
    let mut parts = template.split("{{");
    out.push_str(parts.next().unwrap());
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap();
        let made = match name {
            "codes" => codes(api),
            "events" => events(api),
            "records" => records(api),
            "shapes" => shapes(api),
            operation => self::operation(api, operation),
        };
        out.push_str(made.trim_end());
        out.push_str(rest);
    }
    out
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn words(value: &Value) -> String {
    value.as_str().unwrap_or_default().replace('\n', " ")
}

/// A cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn operation(api: &Value, id: &str) -> String {
    let all = object(&api["paths"]).flat_map(|(path, item)| object(item).map(move |(method, operation)| (path, method, operation)));
    let mut found = all.filter(|(_, _, operation)| operation["operationId"] == id);
    let (path, method, operation) = found.next().unwrap_or_else(|| panic!("no operation {id}"));
    let mut out = format!("### {}\n\n`{} {path}`", words(&operation["summary"]), method.to_uppercase());
    let description = words(&operation["description"]);
    if !description.is_empty() {
        out.push_str(&format!("\n\n{description}"));
    }
    out.push_str(&parameters(operation));
    out.push_str(&body(api, operation));
    out.push_str(&format!("\n\n```sh\n{}\n```\n\n", words(&operation["x-codeSamples"][0]["source"])));
    out.push_str(&answers(operation));
    out
}

fn parameters(operation: &Value) -> String {
    let rows: Vec<String> = operation["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|p| p["in"] != "path")
        .map(|p| {
            let name = if p["in"] == "query" {
                format!("`?{}`", p["name"].as_str().unwrap())
            } else {
                format!("`{}:`", p["name"].as_str().unwrap())
            };
            let more = words(&p["schema"]["description"]);
            format!("| {name} | {} | {} |", cell(&kind(&p["schema"])), cell(format!("{} {more}", words(&p["description"])).trim()))
        })
        .collect();
    if rows.is_empty() { String::new() } else { format!("\n\n| parameter | is | |\n|---|---|---|\n{}", rows.join("\n")) }
}

fn body(api: &Value, operation: &Value) -> String {
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    let Some(schema) = resolved(api, schema) else { return String::new() };
    let optional = if operation["requestBody"]["required"] == true { "" } else { " The body may be left out." };
    let said = words(&schema["description"]);
    let rows = match schema["oneOf"].as_array() {
        Some(all) => all.iter().map(required_fields).collect::<Vec<_>>().join("\n"),
        None => fields(schema),
    };
    format!("\n\n{said}{optional}\n\n| field | is | |\n|---|---|---|\n{rows}")
}

/// Of one body among several: what makes it that one.
fn required_fields(schema: &Value) -> String {
    let mut only = schema.clone();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    only["properties"].as_object_mut().unwrap().retain(|name, _| required.iter().any(|r| r == name));
    fields(&only).replace("` |", "?` |")
}

/// The schema itself, behind references and `null`.
fn resolved<'a>(api: &'a Value, schema: &'a Value) -> Option<&'a Value> {
    if let Some(link) = schema["$ref"].as_str() {
        return api.pointer(link.trim_start_matches('#'));
    }
    let choices = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
    match choices {
        Some(all) => all.iter().find_map(|choice| resolved(api, choice)),
        None => schema["properties"].is_object().then_some(schema),
    }
}

fn fields(schema: &Value) -> String {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let rows = object(&schema["properties"]).map(|(name, field)| {
        let mark = if required.iter().any(|r| r == name) { "" } else { "?" };
        format!("| `{name}{mark}` | {} | {} |", cell(&kind(field)), cell(&words(&field["description"])))
    });
    rows.collect::<Vec<_>>().join("\n")
}

/// A schema in a few words.
fn kind(schema: &Value) -> String {
    if let Some(link) = schema["$ref"].as_str() {
        let name = link.rsplit('/').next().unwrap();
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if !schema["const"].is_null() {
        return format!("`{}`", schema["const"].to_string().replace('"', ""));
    }
    if let Some(all) = schema["enum"].as_array() {
        return all.iter().filter_map(Value::as_str).map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    if let Some(all) = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array()) {
        return all.iter().filter(|one| one["type"] != "null").map(kind).collect::<Vec<_>>().join(", ");
    }
    let named = schema["type"].as_array().map_or_else(|| vec![&schema["type"]], |all| all.iter().collect());
    let named: Vec<&str> = named.into_iter().filter_map(Value::as_str).filter(|name| *name != "null").collect();
    let base = if named.is_empty() { "any JSON".to_owned() } else { named.join(" or ") };
    let base = match base.as_str() {
        "string" if schema["format"] == "date-time" => "time".to_owned(),
        "array" => format!("list of {}", kind(&schema["items"])),
        _ => base,
    };
    base + &limits(schema)
}

fn limits(schema: &Value) -> String {
    let mut all = Vec::new();
    for (keyword, words) in [
        ("minimum", "from"),
        ("maximum", "to"),
        ("minLength", "from length"),
        ("maxLength", "to length"),
        ("maxItems", "at most"),
        ("default", "default"),
    ] {
        let value = &schema[keyword];
        let says_something =
            !value.is_null() && *value != 0 && *value != Value::Array(Vec::new()) || keyword == "maxItems" && !value.is_null();
        if says_something {
            all.push(format!("{words} {}", value.to_string().replace('"', "`")));
        }
    }
    if all.is_empty() { String::new() } else { format!(", {}", all.join(" ")) }
}

fn answers(operation: &Value) -> String {
    let mut lines = Vec::new();
    for (status, response) in object(&operation["responses"]) {
        let refusal = &response["content"]["application/problem+json"];
        if refusal.is_null() {
            let shapes: Vec<String> = object(&response["content"])
                .map(|(kind_of, content)| match content["schema"]["$ref"].is_string() {
                    true => kind(&content["schema"]),
                    false => format!("`{kind_of}`"),
                })
                .collect();
            let shape = if shapes.is_empty() { String::new() } else { format!(" {}", shapes.join(" or ")) };
            lines.push(format!("**{status}**{shape}: {}", words(&response["description"])));
        }
    }
    let refusals: Vec<String> = object(&operation["responses"])
        .filter(|(status, response)| !EVERYWHERE.contains(&status.as_str()) && !response["content"]["application/problem+json"].is_null())
        .map(|(status, response)| {
            let codes = response["content"]["application/problem+json"]["schema"]["properties"]["code"]["enum"].as_array().unwrap();
            let codes: Vec<String> = codes.iter().map(|code| format!("`{}`", code.as_str().unwrap())).collect();
            format!("{status} {}", codes.join(", "))
        })
        .collect();
    if !refusals.is_empty() {
        lines.push(format!("Refused with {}.", refusals.join("; ")));
    }
    lines.join("  \n")
}

fn codes(api: &Value) -> String {
    let table = &api["components"]["schemas"]["Problem"]["properties"]["code"];
    let rows = table["enum"].as_array().unwrap().iter().filter_map(Value::as_str).map(|code| {
        let about = &table["x-codes"][code];
        format!("| {} | `{code}` | {} | {} |", about["status"], cell(&words(&about["means"])), cell(&words(&about["act"])))
    });
    format!("| status | code | means | what to do |\n|---|---|---|---|\n{}", rows.collect::<Vec<_>>().join("\n"))
}

fn events(api: &Value) -> String {
    let all = api["components"]["schemas"]["StreamEvent"]["oneOf"].as_array().unwrap();
    let others = all.iter().filter(|event| !event["properties"]["data"]["$ref"].as_str().is_some_and(|link| link.ends_with("Record")));
    let rows = others.map(|event| {
        let data = &event["properties"]["data"];
        let (data, shape) = match resolved(api, data) {
            Some(named) if !is_data(data["$ref"].as_str().unwrap_or_default()) => (named, kind(data)),
            Some(named) => (named, names(named, &[])),
            None => panic!("an event's data has a schema of its own: {event}"),
        };
        let id = if event["properties"]["id"].is_null() { "no" } else { "yes" };
        format!(
            "| `{}` | {id} | {} | {} |",
            words(&event["properties"]["event"]["const"]),
            cell(&shape),
            cell(&words(&data["description"]))
        )
    });
    format!("Besides the [records](#the-records):\n\n| event | id | data | |\n|---|---|---|---|\n{}", rows.collect::<Vec<_>>().join("\n"))
}

/// Whether this schema is what an event has and nothing else: its fields stand in the table of events.
fn is_data(name: &str) -> bool {
    name.ends_with("Data")
}

/// The names of the fields, those in parentheses that may be absent; not the ones that `leaving_out` names.
fn names(schema: &Value, leaving_out: &[&str]) -> String {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let all = object(&schema["properties"]).filter(|(name, _)| !leaving_out.contains(&name.as_str()));
    let all = all.map(|(name, _)| if required.iter().any(|r| r == name) { format!("`{name}`") } else { format!("(`{name}`)") });
    all.collect::<Vec<_>>().join(", ")
}

fn records(api: &Value) -> String {
    let rows = object(&api["components"]["schemas"]["Record"]["discriminator"]["mapping"]).map(|(kind, link)| {
        let record = api.pointer(link.as_str().unwrap().trim_start_matches('#')).unwrap();
        let views: Vec<&str> = record["x-views"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let views = if views.len() == 3 { "all".to_owned() } else { views.join(", ") };
        format!(
            "| `{kind}` | {} | {views} | {} |",
            names(record, &["seq", "at", "turn", "step", "type"]),
            cell(&words(&record["description"]))
        )
    });
    format!("| type | fields | views | |\n|---|---|---|---|\n{}", rows.collect::<Vec<_>>().join("\n"))
}

/// What the answers are made of. Records have their own table, requests stand with their calls.
fn shapes(api: &Value) -> String {
    let mut out = String::new();
    let requests: Vec<&str> = object(&api["paths"])
        .flat_map(|(_, item)| object(item))
        .flat_map(|(_, operation)| object(&operation["requestBody"]["content"]))
        .filter_map(|(_, content)| resolved_name(&content["schema"]))
        .collect();
    for (name, schema) in object(&api["components"]["schemas"]) {
        let skipped = name.ends_with("Record")
            || is_data(name)
            || ["Problem", "StreamEvent"].contains(&name.as_str())
            || requests.contains(&name.as_str());
        if skipped {
            continue;
        }
        let said = words(&schema["description"]);
        out.push_str(&format!("### {name}\n\n{}", if said.is_empty() { String::new() } else { format!("{said}\n\n") }));
        if schema["properties"].is_object() {
            out.push_str(&format!("| field | is | |\n|---|---|---|\n{}\n\n", fields(schema)));
        } else if let Some(choices) = schema["oneOf"].as_array() {
            for choice in choices {
                out.push_str(&match choice["properties"].is_object() {
                    true => format!("- `{}`: {}\n", words(&choice["properties"]["type"]["const"]), names(choice, &["type"])),
                    false => format!(
                        "- {}{}\n",
                        kind(choice),
                        Some(words(&choice["description"])).filter(|w| !w.is_empty()).map_or(String::new(), |w| format!(": {w}"))
                    ),
                });
            }
            out.push('\n');
        } else {
            out.push_str(&format!("{}\n\n", kind(schema)));
        }
    }
    out
}

fn resolved_name(schema: &Value) -> Option<&str> {
    let choices = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
    let link = choices.map_or(schema["$ref"].as_str(), |all| all.iter().find_map(|one| one["$ref"].as_str()));
    link.and_then(|link| link.rsplit('/').next())
}
