//! Promise: whatever is written, read, split, merged and re-scaled in whatever order, the table answers as a plain map
//! would, each item is in exactly one place, and every unit charged is accounted for.
//!
//! The reference object is the test kit's: a map and a ledger of charges. Open queries and scans are followed page by page while
//! everything else goes on around them.

use hotplate::budget::{Fill, Rate};
use hotplate::cluster::{BatchWrite, Direction, Page, ScanPart, Transaction, TransactionRefusal};
use hotplate::key::{EpkVersion, Placement};
use hotplate::profile::{Service, Sharing, Throughput};
use hotplate::ring::{RingPoint, Token, TokenRange};
use hotplate::testkit::{Model, invariant};
use hotplate::units::Bytes;
use hotplate::{
    Change, Consistency, Document, Instant, ItemKey, PartitionKey, Profile, Query, Refusal, Scan, SortKey,
    Table,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::time::Duration;

/// Over the item limit of both services.
const OVERSIZE: u64 = 3 << 20;
/// Where the logical partitions of [`Kind::Full`] are full.
const LOGICAL_MAX: u64 = 2_000;
/// Splits by hand stop here, so that a run stays quick.
const PARTITIONS_MAX: usize = 24;
/// Rounds after which a reader that never finishes counts as stuck.
const PAGES_MAX: usize = 10_000;

#[derive(Clone, Debug, PartialEq)]
struct Item {
    value: u64,
    size: u64,
}

impl Document for Item {
    fn size(&self) -> Bytes {
        Bytes(self.size)
    }
}

/// The tables under test.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Splits anywhere; nothing is throttled.
    DynamoDb,
    /// Partitions of 2 KB, which split by themselves.
    Outgrowing,
    /// A logical partition is never cut.
    Cosmos,
    /// Version 1 hashes only the beginning of a text, so that different keys share a token.
    Colliding,
    /// Logical partitions have a small limit.
    Full,
    /// Five units a second: most of what is asked is throttled.
    Tight,
    /// The same without a pool.
    TightShares,
}

impl Kind {
    fn profile(self) -> Profile {
        let dynamodb = || Profile::dynamodb_provisioned(3_000, 2_000).unwrap().with_partitions(3).unwrap();
        let tight = || Profile::dynamodb_provisioned(5, 5).unwrap().with_partitions(3).unwrap();
        let cosmos = || Profile::cosmos_manual(24_000).unwrap();
        match self {
            Self::DynamoDb => dynamodb(),
            Self::Outgrowing => dynamodb().with_partition_max(Bytes(2_048)).unwrap(),
            Self::Cosmos => cosmos(),
            Self::Colliding => cosmos().with_placement(Placement::Cosmos { version: EpkVersion::V1 }),
            Self::Full => cosmos().with_logical_max(Bytes(LOGICAL_MAX)).unwrap(),
            Self::Tight => tight().with_fill(Fill::Base),
            Self::TightShares => tight().with_fill(Fill::Base).with_sharing(Sharing::Even),
        }
    }

    fn throttles(self) -> bool {
        matches!(self, Self::Tight | Self::TightShares)
    }

    fn throughput(self, step: u64) -> Throughput {
        let rate = |units| Rate::per_second(units).unwrap();
        match self {
            Self::DynamoDb | Self::Outgrowing => {
                Throughput::ReadWrite { read: rate(1_000 + step * 4_000), write: rate(1_000 + step * 1_000) }
            }
            Self::Cosmos | Self::Colliding | Self::Full => Throughput::Request(rate(20_000 + step * 15_000)),
            Self::Tight | Self::TightShares => {
                Throughput::ReadWrite { read: rate(2 + step), write: rate(2 + step) }
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Id(u8, u8);

impl Id {
    fn partition(self) -> PartitionKey {
        match self.0 {
            // Longer than what version 1 hashes, and alike so far.
            n @ 4.. => PartitionKey::text(&format!("{}{n}", "x".repeat(110))),
            n => PartitionKey::text(&format!("key-{n}")),
        }
    }

    fn sort(self) -> SortKey {
        match self.1 {
            0 => SortKey::none(),
            n => SortKey::number(u64::from(n)),
        }
    }

    fn key(self) -> ItemKey {
        ItemKey { partition: self.partition(), sort: self.sort() }
    }
}

#[derive(Clone, Debug)]
enum Action {
    Put(u64),
    Delete,
    Check { present: bool },
    Add { or_refuse: bool },
}

#[derive(Clone, Debug)]
enum Op {
    Get(Id, Consistency),
    Put(Id, u64),
    PutIf(Id, u64, bool),
    Update(Id, Action),
    Delete(Id),
    Batch(Vec<(Id, Option<u64>)>),
    Transact(Vec<(Id, Action)>),
    ReadTransaction(Vec<Id>),
    OpenQuery { partition: u8, from: Bound<u8>, to: Bound<u8>, direction: Direction, limit: Option<usize> },
    OpenScan { part: Part, limit: Option<usize> },
    NextPage(u8),
    Split(u8, At),
    Merge(u8),
    SetThroughput(u64),
    Wait(u64),
}

#[derive(Clone, Debug)]
enum Part {
    All,
    Segment(u32, u32),
    Range(Option<At>, Option<At>),
}

#[derive(Clone, Copy, Debug)]
enum At {
    Middle,
    Before(Id),
    Inside(Id),
}

impl At {
    fn point(self, table: &Table<Item>) -> Option<RingPoint> {
        match self {
            Self::Middle => None,
            Self::Before(id) => Some(RingPoint::before(table.token(&id.partition()))),
            Self::Inside(id) => Some(RingPoint::inside(table.token(&id.partition()), id.sort())),
        }
    }
}

fn id() -> impl Strategy<Value = Id> + Clone {
    (0..6_u8, 0..9_u8).prop_map(|(partition, sort)| Id(partition, sort))
}

fn size() -> impl Strategy<Value = u64> + Clone {
    prop_oneof![20 => 1..900_u64, 2 => Just(0), 1 => Just(OVERSIZE)]
}

fn action() -> impl Strategy<Value = Action> + Clone {
    prop_oneof![
        4 => size().prop_map(Action::Put),
        2 => Just(Action::Delete),
        1 => any::<bool>().prop_map(|present| Action::Check { present }),
        2 => any::<bool>().prop_map(|or_refuse| Action::Add { or_refuse }),
    ]
}

fn at() -> impl Strategy<Value = At> + Clone {
    prop_oneof![Just(At::Middle), id().prop_map(At::Before), id().prop_map(At::Inside)]
}

fn bound() -> impl Strategy<Value = Bound<u8>> {
    prop_oneof![
        Just(Bound::Unbounded),
        (0..9_u8).prop_map(Bound::Included),
        (0..9_u8).prop_map(Bound::Excluded)
    ]
}

fn limit() -> impl Strategy<Value = Option<usize>> {
    prop_oneof![3 => (0..5_usize).prop_map(Some), 1 => Just(None)]
}

fn op() -> impl Strategy<Value = Op> {
    let consistency = prop_oneof![Just(Consistency::Eventual), Just(Consistency::Strong)];
    let direction = prop_oneof![Just(Direction::Ascending), Just(Direction::Descending)];
    let part = prop_oneof![
        2 => Just(Part::All),
        1 => (0..4_u32, 1..4_u32).prop_map(|(index, of)| Part::Segment(index, of)),
        2 => (proptest::option::of(at()), proptest::option::of(at())).prop_map(|(a, b)| Part::Range(a, b)),
    ];
    // Half of all transactions stay within one logical partition, as Cosmos DB demands.
    let several =
        (any::<bool>(), proptest::collection::vec((id(), action()), 0..5)).prop_map(|(one, actions)| {
            let first = actions.first().map_or(0, |(id, _)| id.0);
            actions
                .into_iter()
                .map(|(id, action)| (Id(if one { first } else { id.0 }, id.1), action))
                .collect()
        });
    prop_oneof![
        3 => (id(), consistency).prop_map(|(id, consistency)| Op::Get(id, consistency)),
        12 => (id(), size()).prop_map(|(id, size)| Op::Put(id, size)),
        2 => (id(), size(), any::<bool>()).prop_map(|(id, size, holds)| Op::PutIf(id, size, holds)),
        3 => (id(), action()).prop_map(|(id, action)| Op::Update(id, action)),
        5 => id().prop_map(Op::Delete),
        3 => proptest::collection::vec((id(), proptest::option::of(size())), 0..30).prop_map(Op::Batch),
        5 => several.prop_map(Op::Transact),
        2 => proptest::collection::vec(id(), 0..4).prop_map(Op::ReadTransaction),
        3 => (0..6_u8, bound(), bound(), direction, limit()).prop_map(|(partition, from, to, direction, limit)| {
            Op::OpenQuery { partition, from, to, direction, limit }
        }),
        3 => (part, limit()).prop_map(|(part, limit)| Op::OpenScan { part, limit }),
        12 => any::<u8>().prop_map(Op::NextPage),
        8 => (any::<u8>(), at()).prop_map(|(partition, at)| Op::Split(partition, at)),
        4 => any::<u8>().prop_map(Op::Merge),
        1 => (0..4_u64).prop_map(Op::SetThroughput),
        4 => (1..3_000_u64).prop_map(Op::Wait),
    ]
}

/// Why the model refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    ConditionFailed,
    Full,
    Invalid,
}

impl Expected {
    fn of(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::ConditionFailed { .. } => Self::ConditionFailed,
            Refusal::LogicalPartitionFull { .. } => Self::Full,
            Refusal::Invalid(_) => Self::Invalid,
            other => panic!("alone on the table, and yet: {other}"),
        }
    }
}

/// An action as the table is told it. `value` is that of a new item.
fn change(old: Option<&Item>, action: &Action, value: u64) -> Change<Item> {
    match (action, old) {
        (Action::Put(size), _) => Change::Put(Item { value, size: *size }),
        (Action::Delete, _) => Change::Delete,
        (Action::Check { present }, old) if old.is_some() == *present => Change::Keep,
        (Action::Check { .. }, _) | (Action::Add { or_refuse: true }, None) => Change::Refuse,
        (Action::Add { .. }, Some(old)) => Change::Put(Item { value: old.value + 1, size: old.size + 1 }),
        (Action::Add { .. }, None) => Change::Put(Item { value: 1, size: 1 }),
    }
}

/// Where an item comes in a scan.
type Place = (Token, ItemKey);

#[derive(Clone)]
enum Question {
    Query(Query, Direction),
    Scan(Scan),
}

/// A query or scan under way.
struct Reader {
    question: Question,
    /// The items it covers, in its own order, are those of the model that this accepts.
    covers: Box<dyn Fn(&Place) -> bool>,
    last: Option<Place>,
    /// What was there when it began and is still to come, unless it is deleted first.
    due: BTreeSet<Place>,
    limit: Option<usize>,
}

struct World {
    kind: Kind,
    table: Table<Item>,
    now: Instant,
    model: Model<Item>,
    readers: Vec<Reader>,
    values: u64,
}

impl World {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            table: Table::new("t", kind.profile(), Instant::START).unwrap(),
            now: Instant::START,
            model: Model::new(),
            readers: Vec::new(),
            values: 0,
        }
    }

    fn item(&mut self, size: u64) -> Item {
        self.values += 1;
        Item { value: self.values, size }
    }

    fn place(&self, key: &ItemKey) -> Place {
        (self.table.token(&key.partition), key.clone())
    }

    fn places(&self, covers: impl Fn(&Place) -> bool) -> BTreeSet<Place> {
        self.model.items().map(|(key, _)| self.place(key)).filter(covers).collect()
    }

    fn set(&mut self, key: &ItemKey, item: Option<Item>) {
        if item.is_none() {
            let place = self.place(key);
            self.readers.iter_mut().for_each(|reader| {
                reader.due.remove(&place);
            });
        }
        self.model.set(key, item);
    }

    /// What an action makes of an item: its next state, or that it refuses. `others` are the bytes beside it.
    fn decide(&mut self, old: Option<&Item>, action: &Action, others: u64) -> Result<Option<Item>, Expected> {
        let next = match action {
            Action::Put(size) => Some(self.item(*size)),
            Action::Delete => None,
            Action::Check { present } if old.is_some() == *present => return Ok(old.cloned()),
            Action::Check { .. } => return Err(Expected::ConditionFailed),
            Action::Add { .. } if old.is_some() => {
                old.map(|old| Item { value: old.value + 1, size: old.size + 1 })
            }
            Action::Add { or_refuse: true } => return Err(Expected::ConditionFailed),
            Action::Add { or_refuse: false } => Some(Item { value: 1, size: 1 }),
        };
        match &next {
            Some(item) if item.size >= OVERSIZE => Err(Expected::Invalid),
            Some(item) if self.table_is_full(others + item.size) => Err(Expected::Full),
            _ => Ok(next),
        }
    }

    fn table_is_full(&self, bytes: u64) -> bool {
        matches!(self.kind, Kind::Full) && bytes > LOGICAL_MAX
    }

    fn others(&self, key: &ItemKey) -> u64 {
        self.model
            .items()
            .filter(|(k, _)| k.partition == key.partition && *k != key)
            .map(|(_, i)| i.size)
            .sum()
    }

    /// Compares the answer of a single write with what the model expects, and carries it over.
    fn wrote(
        &mut self,
        key: &ItemKey,
        expected: Result<Option<Item>, Expected>,
        answer: Result<hotplate::cluster::Written<Item>, Refusal>,
    ) {
        match answer {
            Ok(written) => {
                assert_eq!(written.before.as_ref(), self.model.get(key));
                assert!(!written.charge.is_zero());
                self.model.ledger.charge(written.charge);
                let next = expected.expect("the write should have been refused");
                self.set(key, next);
            }
            Err(refusal) => {
                self.model.ledger.charge(refusal.charge());
                self.refused(&refusal, expected.err());
            }
        }
    }

    fn refused(&mut self, refusal: &Refusal, expected: Option<Expected>) {
        match refusal {
            Refusal::Throttled(throttled) => {
                assert!(self.kind.throttles(), "{throttled}");
                assert!(throttled.retry_after > Duration::ZERO);
                self.model.ledger.throttle();
            }
            other => assert_eq!(Some(Expected::of(other)), expected),
        }
    }

    fn step(&mut self, op: &Op) {
        match op {
            Op::Get(id, consistency) => {
                let key = id.key();
                match self.table.get(&key, *consistency, self.now) {
                    Ok(read) => {
                        assert_eq!(read.item.as_ref(), self.model.get(&key));
                        assert_eq!(read.partition, self.table.partition_of(&key));
                        self.model.ledger.charge(read.charge);
                    }
                    Err(refusal) => self.refused(&refusal, None),
                }
            }
            Op::Put(id, size) => self.single(*id, &Action::Put(*size)),
            Op::PutIf(id, size, holds) => {
                let key = id.key();
                let item = self.item(*size);
                let others = self.others(&key);
                let expected = match *size {
                    OVERSIZE => Err(Expected::Invalid),
                    _ if !holds => Err(Expected::ConditionFailed),
                    size if self.table_is_full(others + size) => Err(Expected::Full),
                    _ => Ok(Some(item.clone())),
                };
                let model = self.model.get(&key);
                let answer = self.table.put_if(&key, item, self.now, |old| {
                    assert_eq!(old, model);
                    *holds
                });
                self.wrote(&key, expected, answer);
            }
            Op::Update(id, action) => self.single(*id, action),
            Op::Delete(id) => {
                let key = id.key();
                let answer = self.table.delete(&key, self.now);
                self.wrote(&key, Ok(None), answer);
            }
            Op::Batch(writes) => self.batch(writes),
            Op::Transact(actions) => self.transact(actions),
            Op::ReadTransaction(ids) => self.read_transaction(ids),
            Op::OpenQuery { partition, from, to, direction, limit } => {
                self.open_query(*partition, *from, *to, *direction, *limit);
            }
            Op::OpenScan { part, limit } => self.open_scan(part, *limit),
            Op::NextPage(reader) => {
                if !self.readers.is_empty() {
                    let reader = self.readers.swap_remove(usize::from(*reader) % self.readers.len());
                    self.next_page(reader);
                }
            }
            Op::Split(index, at) => self.split(*index, *at),
            Op::Merge(index) => {
                let partitions = self.table.report().partitions;
                let partition = &partitions[usize::from(*index) % partitions.len()];
                let is_last = partition.range.to().is_none();
                assert_eq!(self.table.merge(partition.id, self.now).is_err(), is_last);
            }
            Op::SetThroughput(step) => {
                let before = self.table.report().partitions.len();
                self.table.set_throughput(self.kind.throughput(*step), self.now).unwrap();
                assert!(self.table.report().partitions.len() >= before);
            }
            Op::Wait(millis) => self.now = self.now.after(Duration::from_millis(*millis)),
        }
        if !self.kind.throttles() {
            // A second is enough for every ceiling and window to be full again.
            self.now = self.now.after(Duration::from_secs(1));
        }
    }

    /// A put, delete or update of one item, as an update or as itself.
    fn single(&mut self, id: Id, action: &Action) {
        let key = id.key();
        let old = self.model.get(&key).cloned();
        let others = self.others(&key);
        let expected = self.decide(old.as_ref(), action, others);
        let answer = match (action, &expected) {
            (Action::Put(size), _) => {
                self.table.put(&key, Item { value: self.values, size: *size }, self.now)
            }
            (_, _) => self.table.update(&key, self.now, |seen| {
                assert_eq!(seen, old.as_ref());
                change(seen, action, 0)
            }),
        };
        self.wrote(&key, expected, answer);
    }

    fn batch(&mut self, writes: &[(Id, Option<u64>)]) {
        let most = match self.kind.profile().service() {
            Service::DynamoDb => 25,
            Service::Cosmos => 100,
        };
        let first = self.values + 1;
        let batch: Vec<_> = writes
            .iter()
            .zip(first..)
            .map(|((id, size), value)| match size {
                Some(size) => BatchWrite::Put(id.key(), Item { value, size: *size }),
                None => BatchWrite::Delete(id.key()),
            })
            .collect();
        self.values += writes.len() as u64;
        let distinct: BTreeSet<_> = writes.iter().map(|(id, _)| id).collect();
        let answers = self.table.write_batch(batch, self.now);
        if writes.is_empty() || writes.len() > most || distinct.len() < writes.len() {
            assert!(answers.is_err());
            return;
        }
        for (((id, size), value), answer) in writes.iter().zip(first..).zip(answers.unwrap()) {
            let key = id.key();
            let expected = match *size {
                None => Ok(None),
                Some(OVERSIZE) => Err(Expected::Invalid),
                Some(size) if self.table_is_full(self.others(&key) + size) => Err(Expected::Full),
                Some(size) => Ok(Some(Item { value, size })),
            };
            self.wrote(&key, expected, answer);
        }
    }

    fn is_wrong_transaction(&self, ids: &[Id]) -> bool {
        let distinct: BTreeSet<_> = ids.iter().collect();
        let partitions: BTreeSet<_> = ids.iter().map(|id| id.0).collect();
        let scattered = self.kind.profile().service() == Service::Cosmos && partitions.len() > 1;
        ids.is_empty() || distinct.len() < ids.len() || scattered
    }

    fn transact(&mut self, actions: &[(Id, Action)]) {
        let ids: Vec<Id> = actions.iter().map(|(id, _)| *id).collect();
        let first = self.values;
        // The model carries the actions out one after the other on a copy.
        let before = self.model.clone();
        let mut next = Vec::new();
        let mut expected: Result<(), (Option<usize>, Expected)> = Ok(());
        for (i, (id, action)) in actions.iter().enumerate() {
            let (old, others) = (before.get(&id.key()), self.others(&id.key()));
            match self.decide(old, action, others) {
                Ok(item) => {
                    self.model.set(&id.key(), item.clone());
                    next.push((id.key(), item));
                }
                Err(refuse) => {
                    expected = Err((Some(i), refuse));
                    break;
                }
            }
        }
        self.model = before;
        if self.is_wrong_transaction(&ids) {
            expected = Err((None, Expected::Invalid));
        }
        let mut transaction = Transaction::new();
        let mut value = first;
        for (id, action) in actions {
            let old = self.model.get(&id.key());
            if matches!(action, Action::Put(_)) {
                value += 1;
            }
            let value = value;
            transaction = transaction.update(id.key(), move |seen| {
                assert_eq!(seen, old);
                change(seen, action, value)
            });
        }
        let answer = self.table.transact(transaction, self.now);
        match answer {
            Ok(written) => {
                assert_eq!(expected, Ok(()));
                assert_eq!(written.len(), next.len());
                for ((key, item), written) in next.into_iter().zip(written) {
                    assert_eq!(written.before.as_ref(), self.model.get(&key));
                    self.model.ledger.charge(written.charge);
                    self.set(&key, item);
                }
            }
            Err(refusal) => self.transaction_refused(&refusal, expected.err()),
        }
    }

    fn transaction_refused(
        &mut self,
        refusal: &TransactionRefusal,
        expected: Option<(Option<usize>, Expected)>,
    ) {
        self.model.ledger.charge(refusal.charge);
        match &refusal.refusal {
            Refusal::Throttled(_) => self.refused(&refusal.refusal, None),
            other => assert_eq!(Some((refusal.action, Expected::of(other))), expected),
        }
    }

    fn read_transaction(&mut self, ids: &[Id]) {
        let keys: Vec<_> = ids.iter().map(|id| id.key()).collect();
        match self.table.read_transaction(&keys, self.now) {
            Ok(reads) => {
                assert!(!self.is_wrong_transaction(ids));
                assert_eq!(reads.len(), keys.len());
                for (read, key) in reads.into_iter().zip(&keys) {
                    assert_eq!(read.item.as_ref(), self.model.get(key));
                    self.model.ledger.charge(read.charge);
                }
            }
            Err(refusal) => {
                let wrong = self.is_wrong_transaction(ids).then_some((None, Expected::Invalid));
                self.transaction_refused(&refusal, wrong);
            }
        }
    }

    fn open_query(
        &mut self,
        partition: u8,
        from: Bound<u8>,
        to: Bound<u8>,
        direction: Direction,
        limit: Option<usize>,
    ) {
        let partition = Id(partition, 0).partition();
        let sort = |bound: Bound<u8>| bound.map(|n| Id(0, n).sort());
        let mut query = Query::of(partition.clone()).between(sort(from), sort(to)).direction(direction);
        if let Some(limit) = limit {
            query = query.limit(limit);
        }
        let (from, to) = (sort(from), sort(to));
        let covers = move |(_, key): &Place| {
            key.partition == partition
                && std::ops::RangeBounds::contains(&(from.clone(), to.clone()), &key.sort)
        };
        self.open(Question::Query(query, direction), covers, limit);
    }

    fn open_scan(&mut self, part: &Part, limit: Option<usize>) {
        let range = match part {
            Part::All => Some((ScanPart::All, TokenRange::ALL)),
            Part::Segment(index, of) if index >= of => {
                let scan = Scan::of(ScanPart::Segment { index: *index, of: *of });
                assert!(matches!(self.table.scan(&scan, self.now), Err(Refusal::Invalid(_))));
                None
            }
            Part::Segment(index, of) => {
                let bounds = self.kind.profile().placement().even_bounds(*of);
                let bound = |i: u32| bounds.get(i as usize).cloned().map(RingPoint::before);
                let from = index.checked_sub(1).and_then(bound).unwrap_or(RingPoint::START);
                let range = TokenRange::new(from, bound(*index)).unwrap();
                Some((ScanPart::Segment { index: *index, of: *of }, range))
            }
            Part::Range(from, to) => {
                let from = from.and_then(|at| at.point(&self.table)).unwrap_or(RingPoint::START);
                let to = to.and_then(|at| at.point(&self.table));
                TokenRange::new(from, to).ok().map(|range| (ScanPart::Range(range.clone()), range))
            }
        };
        let Some((part, range)) = range else { return };
        let mut scan = Scan::of(part);
        if let Some(limit) = limit {
            scan = scan.limit(limit);
        }
        self.open(Question::Scan(scan), move |(token, key)| range.contains(token, &key.sort), limit);
    }

    fn open(&mut self, question: Question, covers: impl Fn(&Place) -> bool + 'static, limit: Option<usize>) {
        let due = self.places(&covers);
        let reader = Reader { question, covers: Box::new(covers), last: None, due, limit };
        self.next_page(reader);
    }

    /// Reads one page and puts the reader back unless it is done.
    fn next_page(&mut self, mut reader: Reader) {
        let descending = matches!(reader.question, Question::Query(_, Direction::Descending));
        let ahead = |place: &Place, last: &Option<Place>| {
            last.as_ref().is_none_or(|last| if descending { place < last } else { place > last })
        };
        let exact = matches!(reader.question, Question::Query(..));
        if exact {
            // What came meanwhile is due too. A scan may have passed the end of a partition after its last item, so that
            // what came there since lies behind it.
            reader.due = self.places(|place| (reader.covers)(place) && ahead(place, &reader.last));
        }
        let answer = match &reader.question {
            Question::Query(query, _) => self.table.query(query, self.now),
            Question::Scan(scan) => self.table.scan(scan, self.now),
        };
        let page: Page<Item> = match answer {
            Ok(page) => page,
            Err(Refusal::Throttled(throttled)) => {
                assert!(self.kind.throttles());
                match reader.question {
                    Question::Query(..) => self.model.ledger.throttle(),
                    Question::Scan(_) => {}
                }
                self.now = self.now.after(throttled.retry_after);
                self.readers.push(reader);
                return;
            }
            Err(other) => panic!("{other}"),
        };
        match reader.question {
            Question::Query(..) => self.model.ledger.charge(page.charge),
            Question::Scan(_) => self.model.ledger.charge_scan(page.charge),
        }
        assert!(reader.limit.is_none_or(|limit| page.items.len() <= limit.max(1)));

        // In order, from where the last page ended, nothing skipped that was there, nothing twice, nothing stale.
        let mut places = Vec::new();
        for (key, item) in &page.items {
            assert_eq!(self.model.get(key), Some(item));
            let place = self.place(key);
            assert!((reader.covers)(&place) && ahead(&place, &reader.last), "{place:?} out of turn");
            reader.due.remove(&place);
            reader.last = Some(place.clone());
            places.push(place);
        }
        let skipped: Vec<_> = reader.due.iter().filter(|place| !ahead(place, &reader.last)).collect();
        assert!(skipped.is_empty(), "skipped {skipped:?}");
        let rest = self.places(|place| (reader.covers)(place) && ahead(place, &reader.last));
        match page.continuation {
            None => {
                assert_eq!(reader.due, BTreeSet::new());
                assert!(!exact || rest.is_empty(), "the last page must bring everything");
            }
            Some(continuation) => {
                // Through text and back, as a client would carry it.
                let continuation: hotplate::cluster::Continuation = continuation.to_string().parse().unwrap();
                reader.question = match reader.question {
                    Question::Query(query, direction) => {
                        assert!(!page.items.is_empty(), "a query makes progress");
                        Question::Query(query.after(continuation), direction)
                    }
                    Question::Scan(scan) => Question::Scan(scan.after(continuation)),
                };
                self.readers.push(reader);
            }
        }
    }

    fn split(&mut self, index: u8, at: At) {
        let before = self.table.report().partitions;
        if before.len() >= PARTITIONS_MAX {
            return;
        }
        let partition = &before[usize::from(index) % before.len()];
        let point = at.point(&self.table);
        let answer = self.table.split(partition.id, point.clone(), self.now);
        let after = self.table.report().partitions;
        match answer {
            Ok((low, high)) => {
                assert_eq!(after.len(), before.len() + 1);
                let ranges: Vec<_> =
                    [low, high].iter().map(|id| &after.iter().find(|p| p.id == *id).unwrap().range).collect();
                assert_eq!(ranges[0].from(), partition.range.from());
                assert_eq!(ranges[0].to(), Some(ranges[1].from()));
                assert_eq!(ranges[1].to(), partition.range.to());
                assert!(point.is_none_or(|point| point == *ranges[1].from()));
                let cut = ranges[1].from().sort.is_some();
                assert!(!cut || self.kind.profile().splits_inside());
                let weighty = self.model.items().all(|(_, item)| item.size > 0);
                if matches!(at, At::Middle) && partition.bytes > Bytes::ZERO && weighty {
                    // A split by size divides what is stored.
                    assert!(
                        after
                            .iter()
                            .filter(|p| [low, high].contains(&p.id))
                            .all(|p| p.bytes < partition.bytes)
                    );
                }
            }
            Err(_) => {
                let ids = |partitions: &[hotplate::cluster::PartitionReport]| -> Vec<_> {
                    partitions.iter().map(|p| p.id).collect()
                };
                assert_eq!(ids(&after), ids(&before), "a refused split changes nothing");
            }
        }
    }

    /// What must hold after every step, seen from the report.
    fn check_report(&self) {
        invariant::items_are_in_place(&self.table, &self.model).unwrap();
        invariant::charges_are_conserved(&self.table, &self.model.ledger).unwrap();
    }

    /// What must hold whenever the table is looked at as a whole.
    fn check_contents(&mut self) {
        invariant::table_holds(&self.table, &mut self.model, &mut self.now).unwrap();
    }

    fn finish_readers(&mut self) {
        for _ in 0..PAGES_MAX {
            match self.readers.pop() {
                Some(reader) => {
                    self.next_page(reader);
                    if !self.kind.throttles() {
                        self.now = self.now.after(Duration::from_secs(1));
                    }
                }
                None => return,
            }
        }
        panic!("a reader does not end");
    }
}

fn run(kind: Kind, ops: &[Op]) {
    let mut world = World::new(kind);
    for (i, op) in ops.iter().enumerate() {
        world.step(op);
        world.check_report();
        if i % 16 == 0 && !kind.throttles() {
            world.check_contents();
            world.check_report();
        }
    }
    world.finish_readers();
    world.check_contents();
    world.check_report();
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    proptest::collection::vec(op(), 1..100)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn on_a_table_that_splits_anywhere(ops in ops()) {
        run(Kind::DynamoDb, &ops);
    }

    #[test]
    fn on_a_table_that_outgrows_its_partitions(ops in ops()) {
        run(Kind::Outgrowing, &ops);
    }

    #[test]
    fn on_a_container_that_keeps_logical_partitions_whole(ops in ops()) {
        run(Kind::Cosmos, &ops);
    }

    #[test]
    fn with_keys_that_share_a_token(ops in ops()) {
        run(Kind::Colliding, &ops);
    }

    #[test]
    fn with_logical_partitions_that_get_full(ops in ops()) {
        run(Kind::Full, &ops);
    }

    #[test]
    fn under_a_tight_budget(ops in ops()) {
        run(Kind::Tight, &ops);
    }

    #[test]
    fn under_tight_shares(ops in ops()) {
        run(Kind::TightShares, &ops);
    }
}
