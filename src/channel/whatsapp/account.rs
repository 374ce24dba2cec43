//! One number of the operator's, as a [`Messenger`].

use axum::http::Method;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};

use super::graph::Graph;
use super::{errors, media, receive, render, request, webhook};
use crate::channel::messenger::{
    DeliveryError, ErrorClass, FetchFailure, HttpReply, Messenger, Pace, Quotes, Receipt, Received, Refusal, Say, VerifiedRequest,
    WebhookRequest,
};
use crate::domain::delivery::Part;
use crate::domain::digest::sha256;
use crate::domain::{Address, Attachment, DigestId};

/// What the operator sets for a number.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its name in the configuration.
    pub account: String,
    /// Meta's id of the number.
    pub phone_number_id: String,
    /// Signs what Meta posts.
    pub app_secret: SecretString,
    /// What Meta repeats when the webhook is set up.
    pub verify_token: SecretString,
    /// Pays for every call to Meta.
    pub access_token: SecretString,
    /// As `https://graph.facebook.com/v26.0`.
    pub graph_url: String,
}

/// See the module.
#[derive(Debug)]
pub struct WhatsApp {
    settings: Settings,
    app: DigestId,
    graph: Graph,
}

impl WhatsApp {
    /// `client` as [`client`](super::client) makes it: one that follows no redirect.
    pub fn new(settings: Settings, client: reqwest::Client) -> Self {
        let app = DigestId::from(sha256(format!("whatsapp app\0{}", settings.app_secret.expose_secret())));
        let graph = Graph::new(client, &settings.graph_url, &settings.phone_number_id, settings.access_token.clone());
        Self { settings, app, graph }
    }
}

impl Messenger for WhatsApp {
    fn channel(&self) -> &'static str {
        super::PROFILE.label
    }

    fn account(&self) -> &str {
        &self.settings.account
    }

    fn line(&self) -> &str {
        &self.settings.phone_number_id
    }

    fn app(&self) -> &DigestId {
        &self.app
    }

    fn verify(&self, request: WebhookRequest) -> Result<VerifiedRequest, Refusal> {
        webhook::check(&request, &self.settings.app_secret, &self.settings.verify_token)?;
        Ok(VerifiedRequest::vouched(request))
    }

    fn why(&self, method: &Method, refusal: Refusal) -> &'static str {
        webhook::why(method, refusal)
    }

    fn receive(&self, request: &VerifiedRequest) -> Received {
        match webhook::challenge(request.request()) {
            Some(challenge) => Received { items: Vec::new(), reply: HttpReply::Text(challenge) },
            None => {
                let items = receive::items(&request.request().body);
                Received { items, reply: HttpReply::Empty }
            }
        }
    }

    fn pace(&self) -> Pace {
        request::PACE
    }

    fn render(&self, say: Say<'_>, to: &Address) -> Vec<Part> {
        render::parts(say, to)
    }

    fn deliver(&self, to: &Address, part: &Part, token: &str, quotes: Quotes) -> BoxFuture<'static, Result<Receipt, DeliveryError>> {
        let graph = self.graph.clone();
        let body = request::message(to, part, token, quotes);
        Box::pin(async move { graph.send(&body).await })
    }

    fn remedy(&self, code: &str) -> &'static str {
        errors::remedy(code)
    }

    fn class_of(&self, code: &str) -> ErrorClass {
        errors::of_status_code(code)
    }

    fn typing(&self, to: &Address) -> BoxFuture<'static, Result<(), DeliveryError>> {
        let graph = self.graph.clone();
        let body = request::typing(to);
        Box::pin(async move {
            match body {
                Some(body) => graph.tell(&body).await,
                None => Ok(()),
            }
        })
    }

    fn fetch(&self, attachment: &Attachment) -> BoxFuture<'static, Result<Bytes, FetchFailure>> {
        Box::pin(media::fetch(self.graph.clone(), attachment.clone()))
    }
}
