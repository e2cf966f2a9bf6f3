//! What a simulated table is asked, and what it tells about a second and about its past.

use crate::budget::Capacity;
use crate::clock::Instant;
use crate::heat::Tally;
use crate::physics::Place;

/// A request, as far as throughput goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Where its item lies.
    pub place: Place,
    /// What it draws on.
    pub capacity: Capacity,
    /// What it costs, in thousandths of a unit.
    pub milli: u64,
    /// DynamoDB: an eventually consistent read, which any replica may answer.
    pub eventual: bool,
    /// Cosmos DB: of low priority.
    pub low_priority: bool,
    /// Cosmos DB: its throughput bucket, in hundredths of a partition's throughput.
    pub bucket_percent: Option<u32>,
}

impl Access {
    /// A write at `place` that costs so much.
    pub fn write(place: Place, milli: u64) -> Self {
        Self {
            place,
            capacity: Capacity::Write,
            milli,
            eventual: false,
            low_priority: false,
            bucket_percent: None,
        }
    }

    /// A read at `place` that costs so much.
    pub fn read(place: Place, milli: u64, eventual: bool) -> Self {
        Self { capacity: Capacity::Read, eventual, ..Self::write(place, milli) }
    }
}

/// What one partition did in one second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Second {
    /// Which second.
    pub second: u64,
    /// The partition's number.
    pub partition: u32,
    /// Its reads.
    pub reads: Tally,
    /// Its writes.
    pub writes: Tally,
}

/// Something that happened to a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// When.
    pub at: Instant,
    /// What, in a sentence without a full stop.
    pub what: String,
}
