//! `[net]`

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::Deserialize;

/// Where requests may go whose address a model or a caller names.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Net {
    /// Networks that may be reached although they are not public.
    pub allow_private: Vec<Network>,
}

/// A network, as `127.0.0.1/32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("format" = "network"))]
pub struct Network(#[schemars(with = "String")] pub IpNet);

impl TryFrom<String> for Network {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| format!("must be a network such as 127.0.0.1/32 or fd00::/8, not {text:?}"))
    }
}
