//! The event loop: arrivals, retries and workers in the order of time, against simulated tables.
//!
//! ```text
//!   schedules ─┐
//!   heap ──────┼─ earliest ──► operation ──► requests ──► tables ──► done, or again later ──► heap
//!   events ────┘
//! ```
//!
//! An open load whose operation passes at once, or that does not retry, touches neither the heap nor the allocator. An answer
//! takes between half and one and a half service times, by the seed (*assumed*, as in `replay`).

use super::key_stream::KeyStream;
use super::plan::{Bond, Entry, Member, Plan};
use super::recorder::Recorder;
use super::{Change, Clients, Event, IndexSpec, KeySpec, LoadSpec, Scenario, TableSpec};
use crate::budget::Capacity;
use crate::charge::Footprint;
use crate::client::Retrier;
use crate::clock::Instant;
use crate::error::{Error, Result};
use crate::key::PartitionKey;
use crate::lab::Schedule;
use crate::physics::Cause;
use crate::profile::{Service, Throughput};
use crate::rng::{Rng, Seed, below};
use crate::sim::{Access, Second, Setup, SimTable};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

/// Requests that wait to be sent again at the most, about 300 bytes each: a load that outgrows its table without end must not
/// fill the memory.
const WAITING_MAX: usize = 2_000_000;

/// Partitions of all tables and indexes at the start: some kilobytes each, and forty once they are busy.
const PARTITIONS_MAX: usize = 20_000;

/// Keys of all loads and indexes that are counted one by one, 32 bytes each; those beyond are counted by their heaviest.
const KNOWN_MAX: u64 = 8_000_000;

/// DynamoDB: read or write units of one table at the most ("Quotas"), ...
const TABLE_UNITS: u64 = 40_000;

/// ... and of all provisioned tables and indexes of an account.
const ACCOUNT_UNITS: u64 = 80_000;

/// Virtual time at the most.
pub(super) const LASTS_MAX: Duration = Duration::from_secs(31 * 86_400);

/// Operations between two reports of progress.
const PROGRESS_EVERY: u64 = 1 << 18;

/// What a run tells while it goes on.
pub trait Observer {
    /// The run has come to this time.
    fn progress(&mut self, _now: Instant) {}

    /// Whether [`second`](Self::second) is to be called.
    fn wants_seconds(&self) -> bool {
        false
    }

    /// What one partition of a table did in a second. In the order of time, then of tables and ranges.
    ///
    /// # Errors
    /// Those of the observer; they end the run.
    fn second(&mut self, _table: &str, _second: &Second) -> Result<()> {
        Ok(())
    }
}

/// Wants to know nothing.
impl Observer for () {}

/// A load at work.
pub(super) struct Load<'s> {
    pub(super) spec: &'s LoadSpec,
    plans: Vec<(u32, Plan)>,
    weights: u32,
    pub(super) keys: KeyStream,
    /// Tables of the indexes that its writes go to, and the keys of their entries.
    pub(super) entries: Vec<(usize, KeyStream, u64)>,
    pub(super) recorder: Recorder,
    retrier: Retrier,
    source: Source,
    rng: Rng,
}

impl Load<'_> {
    /// What its operations draw on: reads (0), writes (1).
    fn capacity(plan: &Plan) -> usize {
        usize::from(plan.capacity == Capacity::Write)
    }

    /// Whether any of its operations draws on one of these: reads (0), writes (1).
    pub(super) fn draws_on(&self, capacities: &std::ops::Range<usize>) -> bool {
        self.plans.iter().any(|(_, plan)| capacities.contains(&Self::capacity(plan)))
    }

    /// What one request of its mix costs on average, as far as it draws on these, in units.
    pub(super) fn units_each(&self, capacities: &std::ops::Range<usize>) -> f64 {
        let (mut units, mut requests) = (0.0, 0.0);
        for (weight, plan) in &self.plans {
            let of = f64::from(*weight) * f64::from(plan.requests());
            requests += of;
            if capacities.contains(&Self::capacity(plan)) {
                units += of * plan.request_milli() as f64 / crate::units::MILLI as f64;
            }
        }
        units / requests
    }
}

enum Source {
    Open { schedule: Box<Schedule>, next: Option<Instant> },
    Closed { left: u64, until: Instant, think: Duration },
    Loader { loops: Vec<Loop>, batch: usize, left: u64 },
}

/// One loop of the vendor's loader.
#[derive(Default)]
struct Loop {
    /// What came back unprocessed, with its intended start.
    backlog: VecDeque<(Member, Instant)>,
    /// Batches in a row of which nothing passed.
    refused: u32,
    waited: Duration,
}

/// An operation that is not over.
struct Flight {
    load: usize,
    bond: Bond,
    members: Vec<Member>,
    plan: usize,
    intended: Instant,
    attempts: u32,
    waited: Duration,
    by_worker: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Begin(usize),
    Retry(usize),
    Loop(usize, usize),
}

/// Ordered by time, then by the order in which events were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Instant,
    sequence: u64,
    what: What,
}

/// A refusal: which table lacked room, why, and when it will have room again.
struct Refusal {
    table: usize,
    cause: Cause,
    told: Duration,
}

pub(super) struct Engine<'s> {
    pub(super) scenario: &'s Scenario,
    /// Tables, each followed by its indexes.
    pub(super) tables: Vec<SimTable>,
    /// The table of an index; of a table itself.
    pub(super) base_of: Vec<usize>,
    /// The place of each of the scenario's tables.
    pub(super) place_of: Vec<usize>,
    pub(super) loads: Vec<Load<'s>>,
    /// What the service refused to do, beside what tables tell.
    pub(super) notes: Vec<(usize, Instant, String)>,
    heap: BinaryHeap<Reverse<Due>>,
    sequence: u64,
    flights: Vec<Option<Flight>>,
    /// Requests of operations in flight.
    waiting: usize,
    free: Vec<usize>,
    second: u64,
    jitter: Seed,
    draws: u64,
    pub(super) now: Instant,
}

fn setup(spec: &TableSpec, seed: Seed) -> Setup {
    Setup {
        name: spec.name.clone(),
        profile: spec.profile.clone(),
        switches: spec.switches,
        on_demand: spec.on_demand,
        auto_scaling: spec.auto_scaling,
        widths: spec.widths.clone(),
        split_takes: spec.split_takes,
        stored: spec.stored,
        seed: seed.stream("table").stream(&spec.name),
    }
}

fn index_setup(table: &TableSpec, index: &IndexSpec, seed: Seed) -> Setup {
    Setup {
        switches: crate::physics::Switches { local_index: false, ..table.switches },
        on_demand: index.on_demand,
        ..Setup::new(
            format!("{}/{}", table.name, index.name),
            index.profile.clone(),
            seed.stream("index").stream(&table.name).stream(&index.name),
        )
    }
}

/// The seed of a key stream: loads that name the same keys agree which of them are hot.
fn key_seed(keys: &KeySpec, seed: Seed) -> Seed {
    match keys {
        KeySpec::Drawn(drawn) => seed.stream("keys").stream(&drawn.name),
        KeySpec::Rows(_) => seed.stream("rows"),
    }
}

impl<'s> Engine<'s> {
    pub(super) fn new(scenario: &'s Scenario) -> Result<Self> {
        let seed = scenario.seed;
        let (mut tables, mut base_of, mut place_of) = (Vec::<SimTable>::new(), Vec::new(), Vec::new());
        for spec in &scenario.tables {
            let base = tables.len();
            place_of.push(base);
            base_of.push(base);
            tables.push(SimTable::new(setup(spec, seed), Instant::START)?);
            for index in &spec.indexes {
                base_of.push(base);
                tables.push(SimTable::new(index_setup(spec, index, seed), Instant::START)?);
            }
            let partitions: usize = tables.iter().map(|table| table.partitions().len()).sum();
            if partitions > PARTITIONS_MAX {
                return Err(Error::invalid(format!(
                    "with table {} there are {partitions} partitions, indexes included, and a run has memory for \
                     {PARTITIONS_MAX}: make fewer tables, or smaller ones",
                    spec.name
                )));
            }
        }
        let mut engine = Self {
            scenario,
            tables,
            base_of,
            place_of,
            loads: Vec::new(),
            notes: Vec::new(),
            heap: BinaryHeap::new(),
            sequence: 0,
            flights: Vec::new(),
            waiting: 0,
            free: Vec::new(),
            second: 0,
            jitter: seed.stream("service time"),
            draws: 0,
            now: Instant::START,
        };
        if scenario.loads.is_empty() {
            return Err(Error::invalid("a scenario needs at least one load"));
        }
        let mut room = KNOWN_MAX;
        for spec in &scenario.loads {
            let load = engine.load(spec, &mut room)?;
            engine.loads.push(load);
        }
        Ok(engine)
    }

    fn load(&self, spec: &'s LoadSpec, room: &mut u64) -> Result<Load<'s>> {
        let seed = self.scenario.seed.stream("load").stream(&spec.name);
        let table_spec = self.scenario.tables.get(spec.table).ok_or_else(|| {
            Error::invalid(format!("load {} is on table {}, which there is not", spec.name, spec.table))
        })?;
        let table = self.place_of[spec.table];
        let profile = self.tables[table].profile();
        profile.check_item(spec.item)?;
        let plans: Vec<(u32, Plan)> = spec
            .mix
            .iter()
            .map(|(weight, operation)| (*weight, Plan::new(*operation, spec, profile)))
            .collect();
        let weights = plans.iter().try_fold(0_u32, |sum, (weight, _)| sum.checked_add(*weight));
        let weights = weights.filter(|sum| *sum > 0).ok_or_else(|| {
            Error::invalid(format!("load {} needs operations with weights from 1 to 2^32 in all", spec.name))
        })?;
        let mut entries = Vec::new();
        for (i, index) in table_spec.indexes.iter().enumerate() {
            let footprint = Footprint::Write { before: None, after: Some(index.entry) };
            let milli = super::plan::milli(index.profile.tariff().charge(&footprint));
            let keys = KeyStream::new(
                &index.keys,
                index.profile.placement(),
                key_seed(&index.keys, self.scenario.seed.stream(&index.name)),
                room,
            )?;
            entries.push((table + 1 + i, keys, milli));
        }
        let source = match &spec.clients {
            Clients::Open(phases) => {
                let schedule = Schedule::new(phases, seed.stream("arrivals"))
                    .map_err(|error| Error::invalid(format!("load {}: {error}", spec.name)))?;
                Source::Open { schedule: Box::new(schedule), next: None }
            }
            Clients::Closed { workers, operations, lasts, think } => {
                if *workers == 0 || *workers > 1_000_000 {
                    return Err(Error::invalid(format!("load {} needs 1 to 1,000,000 workers", spec.name)));
                }
                if operations.is_none() && lasts.is_none() {
                    return Err(Error::invalid(format!(
                        "load {} never ends: give it a number of operations or a time",
                        spec.name
                    )));
                }
                let until = lasts.map_or(Instant::START.after(LASTS_MAX), |lasts| {
                    Instant::START.after(spec.begins).after(lasts)
                });
                Source::Closed {
                    left: operations.unwrap_or(u64::MAX),
                    until,
                    // A worker that never waits must still take time, or the run stands still.
                    think: *think,
                }
            }
            Clients::Loader { loops, batch, items } => {
                if *loops == 0 || *batch == 0 || *loops > 100_000 || *batch > 10_000 {
                    return Err(Error::invalid(format!(
                        "load {} needs 1 to 100,000 loops with batches of 1 to 10,000",
                        spec.name
                    )));
                }
                Source::Loader {
                    loops: (0..*loops).map(|_| Loop::default()).collect(),
                    batch: *batch as usize,
                    left: *items,
                }
            }
        };
        if spec.service_time.iter().any(|time| time.is_zero()) {
            return Err(Error::invalid(format!("load {}: an answer takes some time", spec.name)));
        }
        Ok(Load {
            spec,
            plans,
            weights,
            keys: KeyStream::new(
                &spec.keys,
                profile.placement(),
                key_seed(&spec.keys, self.scenario.seed),
                room,
            )?,
            entries,
            recorder: Recorder::new(self.tables.len()),
            retrier: Retrier::new(spec.retry, seed),
            source,
            rng: seed.stream("operations").rng(),
        })
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Time

    pub(super) fn run(&mut self, observer: &mut impl Observer) -> Result<()> {
        if observer.wants_seconds() {
            self.tables.iter_mut().for_each(SimTable::keep_seconds);
        }
        let mut events: Vec<&Event> = self.scenario.events.iter().collect();
        // Stable: events at one time happen in the order in which they are written.
        events.sort_by_key(|event| event.at);
        let mut events: VecDeque<&Event> = events.into();
        let ends = Instant::START.after(self.scenario.ends.unwrap_or(LASTS_MAX).min(LASTS_MAX));
        self.start();
        let mut turns = 0_u64;
        loop {
            let arrival = self.next_arrival();
            let due = self.heap.peek().map(|Reverse(due)| due.at);
            let next = match (arrival, due) {
                (Some((at, _)), Some(due)) => at.min(due),
                (Some((at, _)), None) => at,
                (None, Some(due)) => due,
                (None, None) => break,
            };
            if let Some(event) = events.front()
                && Instant::START.after(event.at) <= next
            {
                let event = *event;
                events.pop_front();
                self.go_to(Instant::START.after(event.at), observer)?;
                self.happen(event)?;
                continue;
            }
            if next >= ends {
                break;
            }
            self.go_to(next, observer)?;
            turns += 1;
            if turns.is_multiple_of(PROGRESS_EVERY) {
                observer.progress(next);
            }
            match arrival {
                // What was there first goes first: retries before a new arrival of the same instant.
                Some((at, load)) if due.is_none_or(|due| at < due) => {
                    let this = &mut self.loads[load];
                    if let Source::Open { schedule, next } = &mut this.source {
                        *next = schedule.next().map(|at| at.after(this.spec.begins));
                    }
                    self.begin(load, at, false)?;
                }
                _ => {
                    if let Some(Reverse(due)) = self.heap.pop() {
                        self.carry_on(due)?;
                    }
                }
            }
        }
        // What was asked for in the last second belongs to the report.
        let last = self.loads.iter().map(|load| load.recorder.last).max().unwrap_or(self.now);
        let last = last.max(self.now);
        self.go_to(Instant::from_secs(last.second() + 1), observer)?;
        self.now = last.min(ends.max(self.now));
        Ok(())
    }

    fn start(&mut self) {
        for load in 0..self.loads.len() {
            let this = &mut self.loads[load];
            let begins = Instant::START.after(this.spec.begins);
            let workers = match &this.spec.clients {
                Clients::Closed { workers, .. } => *workers,
                Clients::Loader { loops, .. } => *loops,
                Clients::Open(_) => 0,
            };
            let closed = match &mut this.source {
                Source::Open { schedule, next } => {
                    *next = schedule.next().map(|at| at.after(this.spec.begins));
                    continue;
                }
                Source::Closed { .. } => true,
                Source::Loader { .. } => false,
            };
            for i in 0..workers as usize {
                self.push(begins, if closed { What::Begin(load) } else { What::Loop(load, i) });
            }
        }
    }

    fn push(&mut self, at: Instant, what: What) {
        self.heap.push(Reverse(Due { at, sequence: self.sequence, what }));
        self.sequence += 1;
    }

    /// The next start of an open load: when, and which load.
    #[inline]
    fn next_arrival(&self) -> Option<(Instant, usize)> {
        let mut first: Option<(Instant, usize)> = None;
        for (i, load) in self.loads.iter().enumerate() {
            if let Source::Open { next: Some(at), .. } = load.source
                && first.is_none_or(|(first, _)| at < first)
            {
                first = Some((at, i));
            }
        }
        first
    }

    #[inline]
    fn go_to(&mut self, now: Instant, observer: &mut impl Observer) -> Result<()> {
        self.now = now;
        if now.second() > self.second {
            self.second = now.second();
            for table in &mut self.tables {
                table.advance(now);
                for second in table.take_seconds() {
                    observer.second(table.name(), &second)?;
                }
            }
        }
        Ok(())
    }

    fn carry_on(&mut self, due: Due) -> Result<()> {
        match due.what {
            What::Begin(load) => self.begin(load, due.at, true),
            What::Retry(flight) => {
                if let Some(mut flight_now) = self.flights[flight].take() {
                    self.free.push(flight);
                    self.waiting -= flight_now.members.len();
                    // Partitions may have split since.
                    flight_now.members.iter_mut().for_each(|member| self.locate(flight_now.load, member));
                    self.send(flight_now, due.at)?;
                }
                Ok(())
            }
            What::Loop(load, i) => {
                self.load_batch(load, i, due.at);
                Ok(())
            }
        }
    }

    /// When the last of so many requests that were sent together is answered.
    fn all_answered(&mut self, load: usize, capacity: Capacity, requests: usize, now: Instant) -> Instant {
        (0..requests).map(|_| self.answered(load, capacity, now)).max().unwrap_or(now)
    }

    fn answered(&mut self, load: usize, capacity: Capacity, now: Instant) -> Instant {
        let time = self.loads[load].spec.service_time[usize::from(capacity == Capacity::Write)];
        self.draws += 1;
        let spread = below(self.jitter.at(self.draws), time.as_nanos() as u64);
        now.after(time / 2 + Duration::from_nanos(spread))
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Operations

    /// Begins an operation.
    fn begin(&mut self, load: usize, now: Instant, by_worker: bool) -> Result<()> {
        let this = &mut self.loads[load];
        if let Source::Closed { left, until, .. } = &mut this.source {
            if *left == 0 || now >= *until {
                return Ok(());
            }
            *left -= 1;
        }
        this.recorder.begin(now);
        let mut plan = 0;
        if this.plans.len() > 1 {
            let mut ticket = this.rng.below(u64::from(this.weights)) as u32;
            while ticket >= this.plans[plan].0 {
                ticket -= this.plans[plan].0;
                plan += 1;
            }
        }
        let chosen = this.plans[plan].1;
        if chosen.is_single(&this.keys) {
            let mut member = chosen.single(&mut this.keys, now);
            add_entries(&mut member, &mut this.entries, now);
            self.offer(load, &mut member);
            match self.attempt(load, &member, chosen.bytes, now) {
                None => {
                    let answered = self.answered(load, chosen.capacity, now);
                    self.loads[load].retrier.succeeded(1);
                    self.loads[load].recorder.served(now, answered);
                    self.free_worker(load, by_worker, answered);
                }
                Some(refusal) => {
                    self.loads[load].recorder.throttled_requests += 1;
                    let flight = Flight {
                        load,
                        bond: Bond::One,
                        members: vec![member],
                        plan,
                        intended: now,
                        attempts: 1,
                        waited: Duration::ZERO,
                        by_worker,
                    };
                    self.again(flight, refusal.told, now)?;
                }
            }
            return Ok(());
        }
        let (bond, mut members) = chosen.members(&mut this.keys, now);
        for member in &mut members {
            add_entries(member, &mut self.loads[load].entries, now);
            self.offer(load, member);
        }
        let flight = Flight {
            load,
            bond,
            members,
            plan,
            intended: now,
            attempts: 0,
            waited: Duration::ZERO,
            by_worker,
        };
        self.send(flight, now)
    }

    /// Sends what is left of an operation.
    fn send(&mut self, mut flight: Flight, now: Instant) -> Result<()> {
        let Flight { load, bond, plan, .. } = flight;
        flight.attempts += 1;
        let bytes = self.loads[load].plans[plan].1.bytes;
        let sent = flight.members.len();
        let mut told = Duration::ZERO;
        match bond {
            Bond::One | Bond::Each => {
                let mut refused = Vec::new();
                for member in std::mem::take(&mut flight.members) {
                    if let Some(refusal) = self.attempt(load, &member, bytes, now) {
                        told = told.max(refusal.told);
                        refused.push(member);
                    }
                }
                flight.members = refused;
            }
            Bond::All => {
                let mut members = flight.members.iter().enumerate();
                match members.find_map(|(i, member)| Some((i, self.would_refuse(load, member, now)?))) {
                    Some((culprit, refusal)) => {
                        told = refusal.told;
                        // All of them fail, one is why.
                        for (i, member) in flight.members.iter().enumerate() {
                            self.count_refusal(load, member, &refusal, i == culprit, now);
                        }
                    }
                    None => {
                        for member in std::mem::take(&mut flight.members) {
                            self.consume(load, &member, bytes, now);
                        }
                    }
                }
            }
        }
        let recorder = &mut self.loads[load].recorder;
        recorder.throttled_requests += u64::from(flight.members.len() == sent);
        if flight.attempts > 1 {
            recorder.throttled_retries += flight.members.len() as u64;
        }
        if flight.members.is_empty() {
            let chosen = self.loads[load].plans[plan].1;
            // A fan-out is over with its slowest request; a batch is one request.
            let requests = if chosen.is_fan_out() { sent } else { 1 };
            let answered = self.all_answered(load, chosen.capacity, requests, now);
            self.loads[load].retrier.succeeded(flight.attempts);
            self.loads[load].recorder.served(flight.intended, answered);
            self.free_worker(load, flight.by_worker, answered);
            return Ok(());
        }
        self.again(flight, told, now)
    }

    /// Sends an operation again later, as its policy says, or gives it up.
    fn again(&mut self, mut flight: Flight, told: Duration, now: Instant) -> Result<()> {
        let load = flight.load;
        let capacity = self.loads[load].plans[flight.plan].1.capacity;
        let answered = self.answered(load, capacity, now);
        match self.loads[load].retrier.wait(flight.attempts, flight.waited, told) {
            Some(wait) => {
                flight.waited += wait;
                let back = answered.after(wait);
                self.waiting += flight.members.len();
                if self.waiting > WAITING_MAX {
                    return Err(Error::invalid(format!(
                        "load {} is one too many: {WAITING_MAX} requests wait to be sent again, and so the load outgrows \
                         its table without end; lower its rate or end it earlier",
                        self.loads[load].spec.name
                    )));
                }
                let slot = match self.free.pop() {
                    Some(slot) => {
                        self.flights[slot] = Some(flight);
                        slot
                    }
                    None => {
                        self.flights.push(Some(flight));
                        self.flights.len() - 1
                    }
                };
                self.push(back, What::Retry(slot));
            }
            None => {
                self.loads[load].recorder.gave_up(answered);
                self.free_worker(load, flight.by_worker, answered);
            }
        }
        Ok(())
    }

    fn free_worker(&mut self, load: usize, by_worker: bool, at: Instant) {
        if by_worker
            && let Source::Closed { left, think, .. } = &self.loads[load].source
            && *left > 0
        {
            let at = at.after(*think);
            self.push(at, What::Begin(load));
        }
    }

    /// One round of a loader's loop.
    fn load_batch(&mut self, load: usize, i: usize, now: Instant) {
        let this = &mut self.loads[load];
        let Source::Loader { loops, batch, left } = &mut this.source else { return };
        let size = *batch;
        let mut sending: Vec<(Member, Instant)> = Vec::with_capacity(size);
        while sending.len() < size
            && let Some(member) = loops[i].backlog.pop_front()
        {
            sending.push(member);
        }
        let back_again = sending.len();
        let fresh = (size - sending.len()).min(usize::try_from(*left).unwrap_or(usize::MAX));
        *left -= fresh as u64;
        let plan = this.plans[0].1;
        for _ in 0..fresh {
            let this = &mut self.loads[load];
            let mut member = plan.single(&mut this.keys, now);
            add_entries(&mut member, &mut this.entries, now);
            this.recorder.begin(now);
            self.offer(load, &mut member);
            sending.push((member, now));
        }
        if sending.is_empty() {
            return;
        }
        sending[..back_again].iter_mut().for_each(|(member, _)| self.locate(load, member));
        let answered = self.answered(load, plan.capacity, now);
        let sent = sending.len();
        let mut told = Duration::ZERO;
        let mut back = Vec::new();
        for (member, intended) in sending {
            match self.attempt(load, &member, plan.bytes, now) {
                None => self.loads[load].recorder.served(intended, answered),
                Some(refusal) => {
                    told = told.max(refusal.told);
                    back.push((member, intended));
                }
            }
        }
        let this = &mut self.loads[load];
        let Source::Loader { loops, .. } = &mut this.source else { return };
        let one = &mut loops[i];
        let mut next = answered;
        if back.len() == sent {
            // A batch of which nothing passes is an exception, and the SDK's policy waits. When it gives up, the loader
            // begins anew.
            this.recorder.throttled_requests += 1;
            one.refused += 1;
            match this.retrier.wait(one.refused, one.waited, told) {
                Some(wait) => {
                    one.waited += wait;
                    next = answered.after(wait);
                }
                None => (one.refused, one.waited) = (0, Duration::ZERO),
            }
        } else {
            this.retrier.succeeded(one.refused + 1);
            (one.refused, one.waited) = (0, Duration::ZERO);
        }
        one.backlog.extend(back);
        self.push(next, What::Loop(load, i));
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Requests

    /// Finds the partitions that a request goes to, at this instant.
    #[inline]
    fn locate(&self, load: usize, member: &mut Member) {
        let this = &self.loads[load];
        member.partition = self.tables[self.place_of[this.spec.table]].route(member.access.place);
        for entry in &mut member.entries {
            entry.partition = self.tables[this.entries[entry.index].0].route(entry.access.place);
        }
    }

    /// Counts a request that is made for the first time, and finds where it goes.
    #[inline]
    fn offer(&mut self, load: usize, member: &mut Member) {
        self.locate(load, member);
        let this = &mut self.loads[load];
        self.tables[self.place_of[this.spec.table]].offer(member.partition, &member.access);
        this.keys.offer(member.key);
        for entry in &member.entries {
            let (table, keys, _) = &mut this.entries[entry.index];
            self.tables[*table].offer(entry.partition, &entry.access);
            keys.offer(entry.key);
        }
    }

    /// Attempts one request; `None` when it passed.
    #[inline]
    fn attempt(&mut self, load: usize, member: &Member, bytes: u64, now: Instant) -> Option<Refusal> {
        match self.would_refuse(load, member, now) {
            None => {
                self.consume(load, member, bytes, now);
                None
            }
            Some(refusal) => {
                self.count_refusal(load, member, &refusal, true, now);
                Some(refusal)
            }
        }
    }

    #[inline]
    fn would_refuse(&mut self, load: usize, member: &Member, now: Instant) -> Option<Refusal> {
        let base = self.place_of[self.loads[load].spec.table];
        if let Some(refusal) = self.asked(base, member.partition, &member.access, now) {
            return Some(refusal);
        }
        // "Back-pressure": a write is rejected when any index lacks room.
        for entry in &member.entries {
            let table = self.loads[load].entries[entry.index].0;
            if let Some(refusal) = self.asked(table, entry.partition, &entry.access, now) {
                return Some(refusal);
            }
        }
        None
    }

    #[inline]
    fn asked(&mut self, table: usize, partition: usize, access: &Access, now: Instant) -> Option<Refusal> {
        let this = &mut self.tables[table];
        let cause = this.refuses(partition, access, now)?;
        let told = this.retry_after(partition, access, now);
        Some(Refusal { table, cause, told })
    }

    #[inline]
    fn consume(&mut self, load: usize, member: &Member, bytes: u64, now: Instant) {
        let this = &mut self.loads[load];
        let base = &mut self.tables[self.place_of[this.spec.table]];
        base.settle(member.partition, &member.access, now);
        if bytes > 0 {
            base.store(member.partition, bytes);
        }
        for entry in &member.entries {
            let table = this.entries[entry.index].0;
            self.tables[table].settle(entry.partition, &entry.access, now);
        }
        this.recorder.passed(now, member.access.milli);
    }

    /// Counts a request that failed: by itself, or (not the `culprit`) with the transaction that it belongs to.
    fn count_refusal(
        &mut self,
        load: usize,
        member: &Member,
        refusal: &Refusal,
        culprit: bool,
        now: Instant,
    ) {
        let this = &mut self.loads[load];
        let base = self.place_of[this.spec.table];
        if culprit {
            this.keys.throttle(member.key);
        }
        let (partition, access) = if refusal.table == base {
            (member.partition, &member.access)
        } else {
            let Some(entry) =
                member.entries.iter().find(|entry| this.entries[entry.index].0 == refusal.table)
            else {
                return;
            };
            if culprit {
                this.entries[entry.index].1.throttle(entry.key);
            }
            (entry.partition, &entry.access)
        };
        let table = &mut self.tables[refusal.table];
        if culprit {
            table.refused(partition, access, refusal.cause);
        } else {
            table.called_off(partition, access);
        }
        this.recorder.throttled(now, refusal.table, refusal.cause, access.capacity);
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Events

    /// Whether an account may change a DynamoDB table to this throughput ("Quotas": 40,000 read and write units for a table,
    /// 80,000 for all provisioned tables and indexes). Tables that a scenario begins with may be larger: quotas are raised on
    /// request, and a change within what a table had already is none that needs it.
    fn check_quota(&self, place: usize, throughput: &Throughput) -> Result<()> {
        if self.tables[place].profile().service() != Service::DynamoDb {
            return Ok(());
        }
        let wanted = throughput.units();
        let provisioned = |table: &SimTable| match table.is_on_demand() {
            true => [0; 2],
            false => table.table_limit().map(|units| units as u64),
        };
        let had = provisioned(&self.tables[place]);
        for (i, name) in ["read", "write"].into_iter().enumerate() {
            if wanted[i] <= had[i] {
                continue;
            }
            let others = self
                .tables
                .iter()
                .enumerate()
                .filter(|(at, table)| *at != place && table.profile().service() == Service::DynamoDb);
            let total = wanted[i] + others.map(|(_, table)| provisioned(table)[i]).sum::<u64>();
            if wanted[i] > TABLE_UNITS || total > ACCOUNT_UNITS {
                return Err(Error::invalid(format!(
                    "{} {name} units for table {} and {total} for all of the account are more than the quotas of \
                     {TABLE_UNITS} and {ACCOUNT_UNITS}",
                    wanted[i],
                    self.tables[place].name()
                )));
            }
        }
        Ok(())
    }

    fn happen(&mut self, event: &Event) -> Result<()> {
        let Some(&place) = self.place_of.get(event.table) else {
            return Err(Error::invalid(format!("an event is on table {}, which there is not", event.table)));
        };
        let now = self.now;
        if let Change::Throughput(throughput) | Change::Provisioned(throughput) = &event.change
            && let Err(error) = self.check_quota(place, throughput)
        {
            self.notes.push((place, now, format!("refused: {error}")));
            return Ok(());
        }
        let table = &mut self.tables[place];
        let done = match &event.change {
            Change::Throughput(throughput) => table.set_throughput(*throughput, now),
            Change::OnDemand => table.switch_mode(None, now),
            Change::Provisioned(throughput) => table.switch_mode(Some(*throughput), now),
            Change::Warm(units) => table.warm(*units, now),
            Change::SplitHottest => table.split_hottest(now),
            Change::SplitKey(key) => {
                let token = table.profile().placement().token(&PartitionKey::text(key)).leading_u128();
                table.split_key(token, now)
            }
            Change::SplitAll => table.split_every(now),
            Change::Merge => table.merge(now),
            Change::Redistribute(units) => table.redistribute(*units, now),
        };
        // The service refuses and the load goes on; the report says so.
        if let Err(error) = done {
            self.notes.push((place, now, format!("refused: {error}")));
        }
        Ok(())
    }
}

/// What a write makes in each index.
#[inline]
fn add_entries(member: &mut Member, indexes: &mut [(usize, KeyStream, u64)], now: Instant) {
    if indexes.is_empty() || member.access.capacity != Capacity::Write {
        return;
    }
    member.entries = indexes
        .iter_mut()
        .enumerate()
        .map(|(index, (_, keys, milli))| {
            let draw = keys.draw(now, true);
            let access = Access::write(keys.place(draw), *milli);
            Entry { index, access, partition: 0, key: keys.physical(draw) }
        })
        .collect();
}
