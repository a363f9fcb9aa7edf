//! Buckets of Amazon's S3 and of what speaks as it does.

use anyhow::Result;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};
use object_store::client::ClientConfigKey;

use super::service::{BucketService, check_key};
use super::{Bucket, Patience, innermost, no_retries};
use crate::stop;

/// A bucket, as the environment says where it is and who asks.
///
/// # Errors
/// When the environment says what cannot be.
pub(in crate::baseline_path) fn from_env(bucket: &str, prefix: &str) -> Result<Bucket> {
    open(AmazonS3Builder::from_env().with_bucket_name(bucket), prefix, Patience::USUAL)
}

/// The bucket of these settings.
///
/// # Errors
/// When they cannot be.
pub(super) fn open(builder: AmazonS3Builder, prefix: &str, patience: Patience) -> Result<Bucket> {
    let endpoint = endpoint(&builder).map_err(stop::usage)?;
    let wait = |key| AmazonS3ConfigKey::Client(key);
    let mut builder = builder
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        // Some stores know no other.
        .with_disable_bulk_delete(true)
        .with_retry(no_retries())
        .with_config(wait(ClientConfigKey::ConnectTimeout), patience.silence_text())
        .with_config(wait(ClientConfigKey::ReadTimeout), patience.silence_text());
    // Whoever names such an endpoint means it. Keys sign requests and are never sent.
    if endpoint.is_some_and(|endpoint| endpoint.starts_with("http://")) {
        builder = builder.with_allow_http(true);
    }
    let store = builder.build().map_err(|error| {
        stop::usage(format!("the object store's settings cannot be: {}", innermost(&error)))
    })?;
    Bucket::on(Box::new(store), BucketService::S3, prefix, patience)
}

/// The endpoint that is set, if one is, where it and the keys can be.
fn endpoint(builder: &AmazonS3Builder) -> Result<Option<String>, String> {
    use AmazonS3ConfigKey::{AccessKeyId, Endpoint, Region, S3Endpoint, SecretAccessKey, Token};

    for key in [AccessKeyId, SecretAccessKey, Token, Region] {
        if let Some(text) = builder.get_config_value(&key) {
            check_key(&key.as_ref().to_uppercase(), &text)?;
        }
    }
    let endpoint = [S3Endpoint, Endpoint].iter().find_map(|key| builder.get_config_value(key));
    if let Some(endpoint) = &endpoint {
        BucketService::S3.check_address(endpoint)?;
    }
    Ok(endpoint)
}
