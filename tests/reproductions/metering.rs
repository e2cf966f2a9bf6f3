//! Bar 1: DynamoDB's metering examples, as operations of a load. Each is the developer guide's own ("DynamoDB reads and
//! writes", "Provisioned capacity mode"); exact. The charges themselves have their tests beside the price list.

use super::*;
use hotplate::lab::run::Operation;
use hotplate::units::Bytes;
use hotplate::{Consistency, Profile};

/// What one operation on items of this size costs.
fn units(operation: Operation, bytes: u64) -> f64 {
    let profile = Profile::dynamodb_provisioned(10_000, 10_000).unwrap();
    let load = LoadSpec::new("one", uniform("k", 10), Clients::constant(1, secs(1))).operation(operation);
    let load = LoadSpec { item: Bytes(bytes), ..load };
    let report = ran(&one(TableSpec::new("t", profile), load, 1));
    let partitions = &report.tables[0].partitions;
    partitions.iter().map(|partition| partition.consumed_units).sum()
}

#[test]
fn bar_01_operations_cost_what_the_guide_says() {
    use Consistency::{Eventual, Strong};
    const KB: u64 = 1_024;
    let cases = [
        // A strongly consistent read of up to 4 KB is one unit, an eventual one half, a transactional one two.
        (Operation::Get(Strong), 4 * KB, 1.0),
        (Operation::Get(Eventual), 4 * KB, 0.5),
        (Operation::TransactGet(1), 4 * KB, 2.0),
        // 8 KB: two, one, four.
        (Operation::Get(Strong), 8 * KB, 2.0),
        (Operation::Get(Eventual), 8 * KB, 1.0),
        (Operation::TransactGet(1), 8 * KB, 4.0),
        // 20 KB: five.
        (Operation::Get(Strong), 20 * KB, 5.0),
        // Each item of a batch is rounded by itself: 10 × 6.5 KB are 10 × 8 KB.
        (Operation::BatchGet(10, Strong), 6_656, 20.0),
        // Items of a query are added up before rounding: 1,500 of 64 bytes are 96 KB.
        (Operation::Query { items: 1_500, consistency: Strong }, 64, 24.0),
        (Operation::Query { items: 10, consistency: Strong }, 4_178, 11.0),
        // Writes: one for each KB, twice that in a transaction.
        (Operation::Create, 512, 1.0),
        (Operation::Create, 3_584, 4.0),
        (Operation::Update, 1_025, 2.0),
        (Operation::Delete, 1, 1.0),
        (Operation::BatchWrite(5), 512, 5.0),
        (Operation::TransactWrite(3), 3 * KB, 18.0),
    ];
    for (operation, bytes, expected) in cases {
        assert_eq!(units(operation, bytes), expected, "{operation:?} of {bytes} bytes");
    }
}
