//! Path segments and query parameters, refused as problems.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::error::ApiError;

/// The path's parameters. A segment that is no text can name nothing: 404.
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = axum::extract::Path::from_request_parts(parts, state).await;
        let axum::extract::Path(value) = path.map_err(|_| ApiError::not_found("there is nothing at this path"))?;
        Ok(Self(value))
    }
}

/// The query's parameters: 422 where one is not what it must be.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let query = axum::extract::Query::from_request_parts(parts, state).await;
        let axum::extract::Query(value) = query.map_err(|error| ApiError::invalid("query", error.body_text()))?;
        Ok(Self(value))
    }
}
