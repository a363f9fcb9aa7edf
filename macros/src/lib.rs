//! The attributes of weighbridge.
