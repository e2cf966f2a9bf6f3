//! The physics of a service as plain data: every limit a number with its source.
//!
//! A [`Profile`] says how a table begins, what its partitions can serve, how throughput is shared among them and when
//! they split. It holds no state and makes no decision; `partition` and `cluster` act on it, and so does the lab.

use crate::budget::{Allowance, Budget, Fill, Meter, PartitionBudget, PartitionId, Rate};
use crate::charge::{CosmosTariff, Indexing, Tariff};
use crate::clock::Instant;
use crate::error::{Error, ErrorKind, Result};
use crate::key::{EpkVersion, Placement};
use crate::physics::HeatSplit;
use crate::units::{Bytes, KB, MILLI};
use std::fmt;
use std::sync::Arc;

/// DynamoDB: what one partition serves ("Designing partition keys": "3000 RCU and 1000 WCU").
pub const DYNAMODB_PARTITION_READ: u64 = 3_000;
/// DynamoDB: what one partition serves ("Designing partition keys": "3000 RCU and 1000 WCU").
pub const DYNAMODB_PARTITION_WRITE: u64 = 1_000;
/// DynamoDB: unused throughput is kept this long ("Burst and adaptive capacity": "five minutes (300 seconds)").
pub const DYNAMODB_BURST_SECONDS: u32 = 300;
/// DynamoDB: a new on-demand table serves 12,000 reads and 4,000 writes a second ("On-demand capacity mode"), ...
pub const DYNAMODB_ON_DEMAND_READ: u64 = 12_000;
/// ... 4,000 writes among them, ...
pub const DYNAMODB_ON_DEMAND_WRITE: u64 = 4_000;
/// ... which is what four partitions give (AWS Database Blog, "Scaling DynamoDB", part 1).
pub const DYNAMODB_ON_DEMAND_PARTITIONS: u32 = 4;
/// DynamoDB: the largest item ("Quotas": 400 KB).
pub const DYNAMODB_ITEM_MAX: Bytes = Bytes::from_kb(400);
/// DynamoDB: a page of a query or scan ("Querying tables": "up to 1 MB").
pub const DYNAMODB_PAGE_MAX: Bytes = Bytes::from_kb(KB);
/// DynamoDB: a partition splits near this size ("Partitions and data distribution": 10 GB).
pub const DYNAMODB_PARTITION_BYTES: Bytes = Bytes(10 * KB * KB * KB);

/// Cosmos DB: what one physical partition serves ("Partitioning": "up to 10,000 RU/s").
pub const COSMOS_PARTITION_RU: u64 = 10_000;
/// Cosmos DB: a container with manual throughput begins with one partition for each 6,000 RU/s
/// ("Best practices for scaling provisioned throughput").
pub const COSMOS_CREATION_RU: u64 = 6_000;
/// Cosmos DB: the least manual throughput ("Service quotas": 400 RU/s).
pub const COSMOS_MIN_RU: u64 = 400;
/// Cosmos DB: the least autoscale maximum ("Provision autoscale throughput": 1,000 RU/s).
pub const COSMOS_AUTOSCALE_MIN_RU: u64 = 1_000;
/// Cosmos DB: what a serverless container of up to five partitions serves ("Serverless performance").
pub const COSMOS_SERVERLESS_RU: u64 = 5_000;
/// Cosmos DB: what each partition of a larger serverless container adds (the same page).
pub const COSMOS_SERVERLESS_PARTITION_RU: u64 = 1_000;
/// Cosmos DB: the largest item ("Service quotas": 2 MB).
pub const COSMOS_ITEM_MAX: Bytes = Bytes::from_kb(2 * KB);
/// Cosmos DB: a page of a query ("Service quotas": 4 MB).
pub const COSMOS_PAGE_MAX: Bytes = Bytes::from_kb(4 * KB);
/// Cosmos DB: a physical partition splits at this size ("Partitioning": 50 GB).
pub const COSMOS_PARTITION_BYTES: Bytes = Bytes(50 * KB * KB * KB);
/// Cosmos DB: a logical partition holds no more ("Partitioning": 20 GB).
pub const COSMOS_LOGICAL_BYTES: Bytes = Bytes(20 * KB * KB * KB);

/// The most physical partitions a table may have here: a bound of ours, far above either service's defaults.
pub const PARTITIONS_MAX: u32 = 10_000;

/// Which service's rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// Amazon DynamoDB.
    DynamoDb,
    /// Azure Cosmos DB.
    Cosmos,
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DynamoDb => "DynamoDB",
            Self::Cosmos => "Cosmos DB",
        })
    }
}

/// Units a second for a table or a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throughput {
    /// DynamoDB: read and write units apart.
    ReadWrite {
        /// Read units a second.
        read: Rate,
        /// Write units a second.
        write: Rate,
    },
    /// Cosmos DB: request units.
    Request(Rate),
}

impl Throughput {
    /// The rate that limits writes.
    pub fn write_rate(&self) -> Rate {
        match *self {
            Self::ReadWrite { write, .. } => write,
            Self::Request(rate) => rate,
        }
    }

    /// The rate that limits reads.
    pub fn read_rate(&self) -> Rate {
        match *self {
            Self::ReadWrite { read, .. } => read,
            Self::Request(rate) => rate,
        }
    }

    /// Whole units a second of reads and of writes, which are the same where one budget serves both.
    pub fn units(&self) -> [u64; 2] {
        [self.read_rate(), self.write_rate()].map(|rate| rate.milli() / MILLI)
    }

    fn map(&self, f: impl Fn(Rate) -> Rate) -> Self {
        match *self {
            Self::ReadWrite { read, write } => Self::ReadWrite { read: f(read), write: f(write) },
            Self::Request(rate) => Self::Request(f(rate)),
        }
    }

    fn budget(&self, meter: impl Fn(Rate) -> Meter, now: Instant, fill: Fill) -> Budget {
        match *self {
            Self::ReadWrite { read, write } => Budget::read_write(meter(read), meter(write), now, fill),
            Self::Request(rate) => Budget::request(meter(rate), now, fill),
        }
    }
}

/// `500 RCU, 1000 WCU` or `6000 RU/s`; parts of a unit are left out.
impl fmt::Display for Throughput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [read, write] = self.units();
        match self {
            Self::ReadWrite { .. } => write!(f, "{read} RCU, {write} WCU"),
            Self::Request(_) => write!(f, "{write} RU/s"),
        }
    }
}

/// How partitions get at the table's throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// All draw on one pool: DynamoDB since adaptive capacity became instant ("Burst and adaptive capacity").
    Pooled,
    /// Each has an even share: Cosmos DB ("Partitioning"), and DynamoDB before adaptive capacity.
    Even,
}

/// How a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metering {
    /// Token buckets.
    Bucket,
    /// Fixed one-second windows.
    Window,
}

/// Which partitions split when throughput demands more of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Every partition splits, until there are enough (USENIX ATC 2022, "Amazon DynamoDB": raising 3,600 write units
    /// on four partitions to 6,000 gives eight).
    DoubleAll,
    /// Only as many as are missing ("Best practices for scaling provisioned throughput": three partitions at 30,000
    /// RU/s raised to 45,000 give five).
    AsNeeded,
}

/// How a Cosmos DB container is paid for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CosmosMode {
    /// Fixed request units a second.
    #[default]
    Manual,
    /// Up to a maximum at any time; billed by the highest of each hour ("Provision autoscale throughput").
    Autoscale,
    /// By the request; throughput follows the number of partitions ("Serverless performance": 5,000 RU/s up to five of them,
    /// 1,000 more for each beyond).
    Serverless,
}

/// How a table begins and behaves.
///
/// - Throughput is positive and below what can be metered.
/// - There is at least one partition, at most [`PARTITIONS_MAX`].
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    name: &'static str,
    service: Service,
    tariff: Tariff,
    cosmos_mode: CosmosMode,
    throughput: Throughput,
    partition_throughput: Throughput,
    sharing: Sharing,
    metering: Metering,
    growth: Growth,
    burst_seconds: u32,
    fill: Fill,
    partitions: u32,
    placement: Placement,
    item_max: Bytes,
    page_max: Bytes,
    partition_max: Bytes,
    logical_max: Option<Bytes>,
    splits_inside: bool,
    heat_splits: Option<HeatSplit>,
    local_index: bool,
    on_demand: bool,
}

impl Profile {
    /// DynamoDB with provisioned throughput, in units a second.
    ///
    /// # Errors
    /// When a rate is zero or absurd.
    pub fn dynamodb_provisioned(read: u64, write: u64) -> Result<Self> {
        let throughput =
            Throughput::ReadWrite { read: Rate::per_second(read)?, write: Rate::per_second(write)? };
        let mut profile = Self::dynamodb("dynamodb", throughput)?;
        profile.partitions = profile.partitions_for(&throughput);
        profile.checked()
    }

    /// A new DynamoDB table in on-demand mode: four partitions.
    pub fn dynamodb_on_demand() -> Self {
        let throughput = Throughput::ReadWrite {
            read: constant_rate(DYNAMODB_ON_DEMAND_READ),
            write: constant_rate(DYNAMODB_ON_DEMAND_WRITE),
        };
        match Self::dynamodb("dynamodb-on-demand", throughput) {
            Ok(profile) => Self {
                partitions: DYNAMODB_ON_DEMAND_PARTITIONS,
                // Nothing is saved up where nothing is provisioned (*assumed*).
                burst_seconds: 0,
                on_demand: true,
                ..profile
            },
            Err(_) => unreachable!("the constants are positive and small"),
        }
    }

    /// Cosmos DB with manual throughput, in request units a second.
    ///
    /// # Errors
    /// When the throughput is under the service's 400 RU/s, or absurd.
    pub fn cosmos_manual(request_units: u64) -> Result<Self> {
        check_cosmos_minimum(request_units)?;
        Self::cosmos("cosmos", CosmosMode::Manual, request_units, COSMOS_CREATION_RU)
    }

    /// Cosmos DB with autoscale up to so many request units a second: one partition for each 10,000
    /// ("Best practices for scaling provisioned throughput").
    ///
    /// # Errors
    /// When the maximum is under the service's 1,000 RU/s, or absurd.
    pub fn cosmos_autoscale(max: u64) -> Result<Self> {
        if max < COSMOS_AUTOSCALE_MIN_RU {
            return Err(Error::invalid(format!(
                "Cosmos DB has no autoscale maximum under {COSMOS_AUTOSCALE_MIN_RU} RU/s, and this is {max}"
            )));
        }
        Self::cosmos("cosmos-autoscale", CosmosMode::Autoscale, max, COSMOS_PARTITION_RU)
    }

    /// A serverless Cosmos DB container: one partition, 5,000 RU/s.
    pub fn cosmos_serverless() -> Self {
        match Self::cosmos(
            "cosmos-serverless",
            CosmosMode::Serverless,
            COSMOS_SERVERLESS_RU,
            COSMOS_PARTITION_RU,
        ) {
            Ok(profile) => profile,
            Err(_) => unreachable!("the constants are positive and small"),
        }
    }

    fn cosmos(name: &'static str, cosmos_mode: CosmosMode, request_units: u64, divisor: u64) -> Result<Self> {
        let partitions = u32::try_from(request_units.div_ceil(divisor)).unwrap_or(u32::MAX);
        Self {
            name,
            service: Service::Cosmos,
            cosmos_mode,
            tariff: Tariff::Cosmos(CosmosTariff::default()),
            throughput: Throughput::Request(Rate::per_second(request_units)?),
            partition_throughput: Throughput::Request(constant_rate(COSMOS_PARTITION_RU)),
            sharing: Sharing::Even,
            metering: Metering::Window,
            growth: Growth::AsNeeded,
            burst_seconds: 0,
            fill: Fill::Full,
            partitions,
            placement: Placement::Cosmos { version: EpkVersion::V2 },
            item_max: COSMOS_ITEM_MAX,
            page_max: COSMOS_PAGE_MAX,
            partition_max: COSMOS_PARTITION_BYTES,
            logical_max: Some(COSMOS_LOGICAL_BYTES),
            splits_inside: false,
            heat_splits: None,
            local_index: false,
            on_demand: false,
        }
        .checked()
    }

    fn dynamodb(name: &'static str, throughput: Throughput) -> Result<Self> {
        Self {
            name,
            service: Service::DynamoDb,
            cosmos_mode: CosmosMode::Manual,
            tariff: Tariff::DynamoDb,
            throughput,
            partition_throughput: Throughput::ReadWrite {
                read: constant_rate(DYNAMODB_PARTITION_READ),
                write: constant_rate(DYNAMODB_PARTITION_WRITE),
            },
            sharing: Sharing::Pooled,
            metering: Metering::Bucket,
            growth: Growth::DoubleAll,
            burst_seconds: DYNAMODB_BURST_SECONDS,
            fill: Fill::Full,
            partitions: 1,
            placement: Placement::Seeded { layout: 0 },
            item_max: DYNAMODB_ITEM_MAX,
            page_max: DYNAMODB_PAGE_MAX,
            partition_max: DYNAMODB_PARTITION_BYTES,
            logical_max: None,
            splits_inside: true,
            heat_splits: Some(HeatSplit::default()),
            local_index: false,
            on_demand: false,
        }
        .checked()
    }

    /// With this many physical partitions at creation.
    ///
    /// # Errors
    /// When there are none or more than [`PARTITIONS_MAX`]; for Cosmos DB also when a partition's even share would
    /// exceed the 10,000 RU/s it can serve.
    pub fn with_partitions(self, partitions: u32) -> Result<Self> {
        let throughput = match self.cosmos_mode {
            CosmosMode::Serverless => {
                Throughput::Request(Rate::per_second(serverless_units(u64::from(partitions)))?)
            }
            CosmosMode::Manual | CosmosMode::Autoscale => self.throughput,
        };
        Self { partitions, throughput, ..self }.checked()
    }

    /// With keys placed by another hash or layout.
    pub fn with_placement(self, placement: Placement) -> Self {
        Self { placement, ..self }
    }

    /// With budgets that begin this full. Tables begin with all burst credit, load experiments with none.
    pub fn with_fill(self, fill: Fill) -> Self {
        Self { fill, ..self }
    }

    /// With throughput shared out in another way.
    pub fn with_sharing(self, sharing: Sharing) -> Self {
        Self { sharing, ..self }
    }

    /// With partitions that split at another size: a small one makes size splits testable.
    ///
    /// # Errors
    /// When the size is zero.
    pub fn with_partition_max(self, partition_max: Bytes) -> Result<Self> {
        if partition_max == Bytes::ZERO {
            return Err(Error::invalid("a partition must be able to hold something"));
        }
        Ok(Self { partition_max, ..self })
    }

    /// With partitions that serve something else than the service's do: a physics of one's own.
    ///
    /// # Errors
    /// When the kind does not fit the service.
    pub fn with_partition_throughput(self, partition_throughput: Throughput) -> Result<Self> {
        if std::mem::discriminant(&partition_throughput) != std::mem::discriminant(&self.throughput) {
            return Err(Error::invalid("a partition counts the units that its table counts"));
        }
        Ok(Self { partition_throughput, ..self })
    }

    /// With another rule for splits for heat, or with none. DynamoDB alone splits for heat.
    pub fn with_heat_splits(self, heat_splits: Option<HeatSplit>) -> Self {
        Self { heat_splits: heat_splits.filter(|_| self.service == Service::DynamoDb), ..self }
    }

    /// With a local secondary index, which keeps the items of a key on one partition ("Burst and adaptive capacity").
    pub fn with_local_index(self) -> Self {
        Self { local_index: true, ..self }
    }

    /// With another index policy, which is a matter of prices of Cosmos DB; DynamoDB prices its indexes by themselves.
    pub fn with_indexing(self, indexing: Indexing) -> Self {
        let tariff = match self.tariff {
            Tariff::Cosmos(_) => Tariff::Cosmos(CosmosTariff { indexing }),
            Tariff::DynamoDb => self.tariff,
        };
        Self { tariff, ..self }
    }

    /// With logical partitions that are full at another size: a small one makes full ones testable.
    ///
    /// # Errors
    /// When the size is zero.
    pub fn with_logical_max(self, logical_max: Bytes) -> Result<Self> {
        if logical_max == Bytes::ZERO {
            return Err(Error::invalid("a logical partition must be able to hold something"));
        }
        Ok(Self { logical_max: Some(logical_max), ..self })
    }

    /// With other throughput for the table.
    ///
    /// # Errors
    /// When the kind does not fit the service, or Cosmos DB has no throughput as low.
    pub fn with_throughput(self, throughput: Throughput) -> Result<Self> {
        if std::mem::discriminant(&throughput) != std::mem::discriminant(&self.throughput) {
            return Err(Error::invalid(match self.service {
                Service::DynamoDb => "a DynamoDB table has read and write units, not request units",
                Service::Cosmos => "a Cosmos DB container has request units, not read and write units",
            }));
        }
        match throughput {
            Throughput::Request(rate) => check_cosmos_minimum(rate.milli() / MILLI)?,
            Throughput::ReadWrite { .. } => {}
        }
        Ok(Self { throughput, ..self })
    }

    fn checked(self) -> Result<Self> {
        if self.partitions == 0 || self.partitions > PARTITIONS_MAX {
            return Err(Error::invalid(format!(
                "a table has 1 to {PARTITIONS_MAX} physical partitions, not {}",
                self.partitions
            )));
        }
        if self.service == Service::Cosmos {
            let (total, one) = (self.throughput.write_rate(), self.partition_throughput.write_rate());
            if total.share(self.partitions) > one {
                return Err(Error::invalid(format!(
                    "{} RU/s over {} physical partitions is more than the {} RU/s that one can serve: at least {} are \
                     needed",
                    total.units(),
                    self.partitions,
                    one.units(),
                    total.milli().div_ceil(one.milli())
                )));
            }
        }
        Ok(self)
    }

    /// The partitions that `throughput` needs at the least.
    ///
    /// DynamoDB: ⌈read ÷ 3,000 + write ÷ 1,000⌉, the rule of AWS's older documentation. Cosmos DB: ⌈RU ÷ 10,000⌉.
    pub fn partitions_for(&self, throughput: &Throughput) -> u32 {
        let needed = match (throughput, &self.partition_throughput) {
            (
                Throughput::ReadWrite { read, write },
                Throughput::ReadWrite { read: one_read, write: one_write },
            ) => {
                let (r, w) = (u128::from(one_read.milli()), u128::from(one_write.milli()));
                (u128::from(read.milli()) * w + u128::from(write.milli()) * r).div_ceil(r * w)
            }
            (table, one) => {
                u128::from(table.write_rate().milli()).div_ceil(u128::from(one.write_rate().milli()))
            }
        };
        u32::try_from(needed).unwrap_or(u32::MAX).max(1)
    }

    /// The budget all partitions draw on, where they share one.
    pub fn pool(&self, now: Instant) -> Option<Arc<Budget>> {
        let meter = |rate| self.allowance_meter(rate);
        (self.sharing == Sharing::Pooled).then(|| Arc::new(self.throughput.budget(meter, now, self.fill)))
    }

    /// The budget of one of `partitions` partitions.
    pub fn partition_budget(
        &self,
        partition: PartitionId,
        partitions: u32,
        pool: Option<&Arc<Budget>>,
        now: Instant,
    ) -> PartitionBudget {
        let allowance = match pool {
            Some(pool) => Allowance::Pooled(Arc::clone(pool)),
            None => {
                let share = self.share(partitions);
                Allowance::Share(Arc::new(share.budget(|rate| self.allowance_meter(rate), now, self.fill)))
            }
        };
        let ceiling = (self.metering == Metering::Bucket)
            .then(|| self.partition_throughput.budget(Meter::ceiling, now, Fill::Full));
        PartitionBudget::new(partition, ceiling, allowance)
    }

    /// The meter of the table's throughput, or of a share of it.
    pub fn allowance_meter(&self, rate: Rate) -> Meter {
        match self.metering {
            Metering::Bucket => Meter::allowance(rate, self.burst_seconds),
            Metering::Window => Meter::window(rate),
        }
    }

    /// What one of `partitions` partitions is given of the table's throughput, at most what it can serve.
    pub fn share(&self, partitions: u32) -> Throughput {
        let (read, write) = (self.partition_throughput.read_rate(), self.partition_throughput.write_rate());
        match self.throughput.map(|rate| rate.share(partitions)) {
            Throughput::ReadWrite { read: r, write: w } => {
                Throughput::ReadWrite { read: r.min(read), write: w.min(write) }
            }
            Throughput::Request(rate) => Throughput::Request(rate.min(write)),
        }
    }

    /// What one partition can do for writes: its ceiling, or its share where shares are even.
    pub fn partition_write_limit(&self, partitions: u32) -> Rate {
        match self.sharing {
            Sharing::Pooled => self.partition_throughput.write_rate(),
            Sharing::Even => self.share(partitions).write_rate(),
        }
    }

    /// Whether an item of this size can be stored at all.
    ///
    /// # Errors
    /// `TooLarge` when it is over the service's limit.
    pub fn check_item(&self, size: Bytes) -> Result<()> {
        if size > self.item_max {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!("an item of {size} is over the {} that {} allows", self.item_max, self.service),
            ));
        }
        Ok(())
    }

    /// The profile's name on the command line.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whose rules apply.
    pub fn service(&self) -> Service {
        self.service
    }

    /// How a Cosmos DB container is paid for.
    pub fn cosmos_mode(&self) -> CosmosMode {
        self.cosmos_mode
    }

    /// The price list.
    pub fn tariff(&self) -> &Tariff {
        &self.tariff
    }

    /// The table's throughput.
    pub fn throughput(&self) -> &Throughput {
        &self.throughput
    }

    /// What one partition can serve.
    pub fn partition_throughput(&self) -> &Throughput {
        &self.partition_throughput
    }

    /// How throughput is shared.
    pub fn sharing(&self) -> Sharing {
        self.sharing
    }

    /// How limits count.
    pub fn metering(&self) -> Metering {
        self.metering
    }

    /// How partitions multiply.
    pub fn growth(&self) -> Growth {
        self.growth
    }

    /// How full budgets begin.
    pub fn fill(&self) -> Fill {
        self.fill
    }

    /// Physical partitions at creation.
    pub fn partitions(&self) -> u32 {
        self.partitions
    }

    /// How keys are hashed onto the ring.
    pub fn placement(&self) -> Placement {
        self.placement
    }

    /// The largest item.
    pub fn item_max(&self) -> Bytes {
        self.item_max
    }

    /// The largest page of a query or scan.
    pub fn page_max(&self) -> Bytes {
        self.page_max
    }

    /// The size at which a physical partition splits.
    pub fn partition_max(&self) -> Bytes {
        self.partition_max
    }

    /// The most a logical partition may hold, where there is such a limit.
    pub fn logical_max(&self) -> Option<Bytes> {
        self.logical_max
    }

    /// The rule for splits for heat; `None`: there are none.
    pub fn heat_splits(&self) -> Option<HeatSplit> {
        self.heat_splits
    }

    /// Whether a local secondary index keeps the items of a key together.
    pub fn has_local_index(&self) -> bool {
        self.local_index
    }

    /// Whether it is a DynamoDB table in on-demand mode.
    pub fn is_on_demand(&self) -> bool {
        self.on_demand
    }

    /// Whether a split may go through the middle of a logical partition.
    pub fn splits_inside(&self) -> bool {
        self.splits_inside && !self.local_index
    }
}

/// What a serverless container of so many partitions serves, in request units a second ("Serverless performance").
pub fn serverless_units(partitions: u64) -> u64 {
    COSMOS_SERVERLESS_RU.max(partitions.saturating_mul(COSMOS_SERVERLESS_PARTITION_RU))
}

fn check_cosmos_minimum(request_units: u64) -> Result<()> {
    if request_units < COSMOS_MIN_RU {
        return Err(Error::invalid(format!(
            "Cosmos DB has no manual throughput under {COSMOS_MIN_RU} RU/s, and this is {request_units}"
        )));
    }
    Ok(())
}

/// A rate from a constant of this file, all of which are positive and far below the highest.
fn constant_rate(units: u64) -> Rate {
    match Rate::per_second(units) {
        Ok(rate) => rate,
        Err(_) => unreachable!("the constants of this file are valid rates"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partition_counts_follow_the_published_examples() {
        // AWS's older documentation: 5,500 ÷ 3,000 + 1,500 ÷ 1,000 = 3.33, so four.
        assert_eq!(Profile::dynamodb_provisioned(5_500, 1_500).unwrap().partitions(), 4);
        // AWS Database Blog, part 1: a fresh table of 10,000 WCU has at least ten partitions.
        assert!(Profile::dynamodb_provisioned(1, 10_000).unwrap().partitions() >= 10);
        assert_eq!(Profile::dynamodb_on_demand().partitions(), 4);
        // "Best practices for scaling provisioned throughput": 150,000 RU/s manual begin with 25 partitions.
        assert_eq!(Profile::cosmos_manual(150_000).unwrap().partitions(), 25);
        // azure-cosmos test suite: 12,000 gives two, 30,000 gives five.
        assert_eq!(Profile::cosmos_manual(12_000).unwrap().partitions(), 2);
        assert_eq!(Profile::cosmos_manual(30_000).unwrap().partitions(), 5);
    }

    #[test]
    fn cosmos_divides_evenly() {
        // "Partitioning": 18,000 RU/s over three partitions are 6,000 each.
        let profile = Profile::cosmos_manual(18_000).unwrap();
        assert_eq!(profile.share(3).write_rate().units(), 6_000.0);
        assert!(profile.with_partitions(1).is_err());
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Profile::cosmos_manual(399).is_err());
        assert!(Profile::dynamodb_provisioned(0, 1).is_err());
        assert!(Profile::dynamodb_provisioned(1, u64::MAX).is_err());
        let table = Profile::dynamodb_on_demand();
        assert!(table.clone().with_partitions(0).is_err());
        assert!(table.clone().with_partitions(PARTITIONS_MAX + 1).is_err());
        assert!(table.clone().check_item(Bytes::from_kb(401)).is_err());
        assert!(table.with_throughput(Throughput::Request(Rate::per_second(400).unwrap())).is_err());
    }
}
