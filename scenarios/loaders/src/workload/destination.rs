//! Where a batch is to be when it is handed over.

use weighbridge_data::either;

/// The memory that a batch is to be in, complete, when it is handed over. It is part of what is asked:
/// whoever makes it elsewhere has a transfer more, and that is timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Destination {
    /// In the host's memory.
    #[default]
    Host,
    /// In the memory of the platform's device, ready for a kernel of the consumer.
    Device,
}

either!(Destination, Host = "host", Device = "device");
