//! The gateway's routes, read from its router, so that a test which must know all of them cannot miss a new one.

/// Every method and path under `/v1`.
pub(crate) fn routes() -> Vec<(String, String)> {
    let router = include_str!("../../../src/http/router.rs");
    let mut routes = Vec::new();
    for line in router.lines().filter_map(|l| l.trim().strip_prefix(".route(\"/v1/")) {
        let (rest, handlers) = line.split_once('"').unwrap();
        for method in ["get", "post", "patch", "put", "delete"] {
            if handlers.contains(&format!("{method}(")) {
                routes.push((method.to_uppercase(), format!("/v1/{rest}")));
            }
        }
    }
    routes
}
