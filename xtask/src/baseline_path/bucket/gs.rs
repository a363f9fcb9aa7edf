//! Buckets of Google Cloud Storage.
//!
//! By Google's own interface and not by the one that speaks like S3: there a write is conditional on the
//! generation of what it replaces.

use anyhow::Result;
use object_store::client::ClientConfigKey;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};

use super::service::{BucketService, check_key};
use super::{Bucket, Patience, no_retries};
use crate::stop;

/// A bucket, as the environment says who asks.
///
/// # Errors
/// When the environment says what cannot be.
pub(in crate::baseline_path) fn from_env(bucket: &str, prefix: &str) -> Result<Bucket> {
    open(GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket), prefix, Patience::USUAL)
}

/// The bucket of these settings.
///
/// # Errors
/// When they cannot be.
pub(super) fn open(builder: GoogleCloudStorageBuilder, prefix: &str, patience: Patience) -> Result<Bucket> {
    check(&builder).map_err(stop::usage)?;
    let wait = |key| GoogleConfigKey::Client(key);
    let builder = builder
        .with_retry(no_retries())
        .with_config(wait(ClientConfigKey::ConnectTimeout), patience.silence_text())
        .with_config(wait(ClientConfigKey::ReadTimeout), patience.silence_text());
    // Of a file or a text that is none of Google's the crate may repeat a part.
    let store = builder.build().map_err(|_| {
        stop::usage(format!(
            "the settings of Google's buckets cannot be: {} is not as `gcloud` writes it, or names a file \
             that cannot be read",
            BucketService::Gs.credentials()
        ))
    })?;
    Bucket::on(Box::new(store), BucketService::Gs, prefix, patience)
}

/// Holds the address and the token that are set, if any, against their form.
fn check(builder: &GoogleCloudStorageBuilder) -> Result<(), String> {
    if let Some(token) = builder.get_config_value(&GoogleConfigKey::BearerToken) {
        check_key("GOOGLE_BEARER_TOKEN", &token)?;
    }
    let address = builder.get_config_value(&GoogleConfigKey::BaseUrl);
    address.map_or(Ok(()), |address| BucketService::Gs.check_address(&address))
}
