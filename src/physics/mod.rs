//! What the services decide over time: when a partition splits for heat and where, what an on-demand table serves at once,
//! what a Cosmos DB partition has banked.
//!
//! Each file is one decision as a small state machine: it is told what was consumed when, and says what follows. It moves
//! no item and refuses no request; whoever owns the partitions does. Where sources conflict or a service changed over the
//! years, there is a switch in [`Switches`], with the date or the source of each setting.
//!
//! It does not know tables, stores or clients.

mod auto_scaling;
mod bank;
mod heat_split;
mod on_demand;
mod reason;
mod switches;

pub use auto_scaling::{AutoScaler, AutoScaling, DecreaseQuota};
pub use bank::{BankedWindow, CosmosBurst};
pub use heat_split::{Declined, HeatSplit, HeatWatch, Located, Place};
pub use on_demand::{ON_DEMAND_PEAK_MINUTES, OnDemandPeak};
pub use reason::Cause;
pub use switches::{Adaptive, EventualReads, Switches};
