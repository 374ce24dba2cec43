//! The static files: compressed for who takes that, kept by who has them, open to pages of other origins where they are modules.

use crate::harness::Gateway;

#[tokio::test]
async fn a_file_is_compressed_for_who_takes_that_and_not_sent_to_who_has_it() {
    let gateway = Gateway::bare().await;
    let plain = gateway.get("/widget.js").await;
    let packed = gateway.send("GET", "/widget.js", &[("Accept-Encoding", "gzip, deflate, br")], None).await;
    assert_eq!((plain.status, plain.header("content-encoding")), (200, None));
    assert_eq!((packed.status, packed.header("content-encoding")), (200, Some("gzip")));
    assert!(packed.body.len() * 2 < plain.body.len(), "{} of {}", packed.body.len(), plain.body.len());
    assert_eq!(unpacked(&packed.body), plain.body);

    let etag = plain.header("etag").unwrap();
    assert!(etag.starts_with("W/\""), "{etag}");
    assert_eq!(packed.header("etag"), Some(etag));
    for answer in [&plain, &packed] {
        assert_eq!(answer.header("vary"), Some("accept-encoding"));
        assert_eq!(answer.header("cache-control"), Some("no-cache"));
    }
    for known in [etag, etag.trim_start_matches("W/"), &format!("\"other\", {etag}"), "*"] {
        let answer = gateway.send("GET", "/widget.js", &[("If-None-Match", known), ("Accept-Encoding", "gzip")], None).await;
        assert_eq!((answer.status, answer.body.len()), (304, 0), "{known}");
        assert_eq!((answer.header("etag"), answer.header("vary")), (Some(etag), Some("accept-encoding")));
    }
    let stale = gateway.send("GET", "/widget.js", &[("If-None-Match", "W/\"0123456789abcdef\"")], None).await;
    assert_eq!(stale.status, 200);
}

#[tokio::test]
async fn modules_are_for_pages_of_any_origin_and_the_api_is_not() {
    let gateway = Gateway::bare().await;
    let elsewhere = [("Origin", "https://shop.example"), ("Sec-Fetch-Site", "cross-site")];
    for module in
        ["/widget.js", "/client.js", "/client/session.js", "/vendor/markdown-it.js", "/vendor/dompurify.js", "/widget/strings/zh.js"]
    {
        let answer = gateway.send("GET", module, &elsewhere, None).await;
        assert_eq!(answer.status, 200, "{module}");
        assert_eq!(answer.header("content-type"), Some("text/javascript; charset=utf-8"), "{module}");
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{module}");
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("cross-origin"), "{module}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{module}");
    }
    for path in ["/", "/page.css", "/vendor/LICENSES", "/v1/sessions", "/openapi.json"] {
        let answer = gateway.send("GET", path, &elsewhere, None).await;
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
        assert_eq!(answer.header("cross-origin-resource-policy"), None, "{path}");
    }
}

#[tokio::test]
async fn the_page_lets_in_nothing_but_its_own_files() {
    let gateway = Gateway::bare().await;
    let page = gateway.get("/").await;
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = page.header("content-security-policy").unwrap();
    for part in [
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types dompurify",
    ] {
        assert!(policy.split("; ").any(|other| other == part), "{part} in {policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
}

#[tokio::test]
async fn head_tells_of_a_file_what_get_would() {
    let gateway = Gateway::bare().await;
    for path in ["/", "/widget.js", "/client.d.ts", "/widget.d.ts"] {
        let (get, head) = (gateway.get(path).await, gateway.send("HEAD", path, &[], None).await);
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        assert_eq!(head.header("content-length"), Some(get.body.len().to_string().as_str()), "{path}");
        for name in ["etag", "content-type", "vary"] {
            assert_eq!(head.header(name), get.header(name), "{name} of {path}");
        }
    }
    gateway.send("POST", "/widget.js", &[], None).await.problem(405, "invalid_request");
    gateway.get("/widget/list.js").await.problem(404, "not_found");
}

fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(packed), &mut text).unwrap();
    text
}
