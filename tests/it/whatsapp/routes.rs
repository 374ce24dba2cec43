//! Deliveries and pairings are their tenant's.

use serde_json::json;

use super::{World, ana, bo};
use crate::harness::hook::{MAIN, SECOND};
use crate::harness::{Caller, list, poll, text};

#[tokio::test]
async fn deliveries_and_pairings_are_their_tenants() {
    let boss = Caller::new("boss", "acme", "admin");
    let clerk = Caller::new("ann", "acme", "sessions:read sessions:write approve");
    let stranger = Caller::new("boss", "globex", "admin");
    let tables = Caller::tables(&[&boss, &clerk, &stranger]);
    let accounts = [(MAIN, "tenant = \"acme\""), (SECOND, "tenant = \"acme\"\naccess = \"pairing\"")];
    let world = World::accounts(&accounts, "", &tables).await;
    MAIN.one(&world.gateway, &ana(), ana().says("wamid.1", "hello")).await;
    SECOND.one(&world.gateway, &bo(), bo().says("wamid.2", "let me in")).await;
    let sent = poll("the delivery", || async {
        let page = boss.get(&world.gateway, "/v1/deliveries?state=sent").await.expect(200);
        list(&page, "/data").first().cloned()
    })
    .await;
    let asks = poll("the pairing", || async {
        let page = boss.get(&world.gateway, "/v1/pairings").await.expect(200);
        list(&page, "/data").first().cloned()
    })
    .await;
    let retry = format!("/v1/deliveries/{}/retry", text(&sent, "/delivery_id"));
    let pairing = format!("/v1/pairings/{}", text(&asks, "/code"));
    for other in [&clerk, &stranger] {
        assert!(list(&other.get(&world.gateway, "/v1/deliveries").await.expect(200), "/data").is_empty());
        let session = format!("/v1/deliveries?session={}", text(&sent, "/session_id"));
        assert!(list(&other.get(&world.gateway, &session).await.expect(200), "/data").is_empty());
        other.post(&world.gateway, &retry, &json!({})).await.problem(404, "not_found");
    }
    assert!(list(&stranger.get(&world.gateway, "/v1/pairings").await.expect(200), "/data").is_empty());
    stranger.post(&world.gateway, &pairing, &json!({})).await.problem(404, "not_found");
    stranger.send(&world.gateway, "DELETE", &pairing, None).await.problem(404, "not_found");
    clerk.get(&world.gateway, "/v1/pairings").await.problem(403, "forbidden");
    clerk.post(&world.gateway, &pairing, &json!({})).await.problem(403, "forbidden");
    clerk.send(&world.gateway, "DELETE", &pairing, None).await.problem(403, "forbidden");
    for path in ["/v1/deliveries", "/v1/pairings"] {
        world.gateway.get(path).await.problem(401, "unauthorized");
    }
    boss.post(&world.gateway, &retry, &json!({})).await.problem(409, "conflict");
    boss.get(&world.gateway, "/v1/deliveries?state=lost").await.problem(422, "invalid_request");
    boss.get(&world.gateway, "/v1/pairings?status=lost").await.problem(422, "invalid_request");
    assert_eq!(boss.post(&world.gateway, &pairing, &json!({})).await.expect(200)["status"], "admitted");
    assert_eq!(boss.send(&world.gateway, "DELETE", &pairing, None).await.status, 204);
}
