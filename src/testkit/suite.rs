//! Suites: many random histories of one key design, and the shortest one that shows what is wrong.
//!
//! ```text
//!   seed ─► case ─► history on the repository ──┐
//!            │      history on the model ───────┴─► differ? ─► shrink ─► message + replay line
//!            └─ operations and faults
//! ```

use super::history::History;
use super::{Case, Fault, Faulty, Repository, Schema, Violation};
use crate::client::KeyDesign;
use crate::clock::Clock;
use crate::cluster::Table;
use crate::profile::Profile;
use crate::rng::Seed;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The environment variable that makes [`Suite::check`] run one case only.
pub const REPLAY: &str = "HOTPLATE_REPLAY";

/// Histories of a suite, unless it says otherwise.
const CASES: u32 = 256;
/// Operations of a history at the most, unless the suite says otherwise.
const OPERATIONS: usize = 30;
/// Faults of a history at the most, unless the suite says otherwise.
const FAULTS: usize = 3;
/// Runs spent on making a failing case smaller, by proptest and once more after it.
const SHRINKS_MAX: u32 = 4_000;
/// Requests that one operation is thought to be good for when a case is made smaller.
const REQUESTS_MAX: u32 = 16;

/// A test of a data layer with one key design on one profile.
///
/// ```
/// use hotplate::client::KeyDesign;
/// use hotplate::profile::Service;
/// use hotplate::testkit::{KeyedRepository, Suite};
/// use hotplate::{Profile, Template};
///
/// let design = KeyDesign::new(Template::parse("{date}.{hash(vin, 1..400)}")?, "id", Service::Cosmos);
/// Suite::new(Profile::cosmos_manual(4_000)?, design)
///     .cases(16)
///     .check(|table, design, clock| Box::new(KeyedRepository::new(table, design, clock)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Suite {
    profile: Profile,
    design: KeyDesign,
    schema: Schema,
    cases: u32,
    operations: usize,
    faults: usize,
    seed: Seed,
    may_store_more: bool,
}

/// A case as a replay line carries it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Replay {
    /// Whose case it is: a line is for one suite and no other.
    suite: String,
    seed: u64,
    case: Case,
}

/// A suite that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    suite: String,
    test: Option<String>,
    /// The seed that the case was found with.
    pub seed: Seed,
    /// The smallest case that fails.
    pub case: Case,
    /// What is wrong.
    pub violation: Violation,
}

impl Failure {
    /// The value of [`REPLAY`] that runs this case again.
    pub fn replay(&self) -> String {
        let replay = Replay { suite: self.suite.clone(), seed: self.seed.0, case: self.case.clone() };
        // Maps have text keys and numbers are finite: nothing in a case has no JSON.
        serde_json::to_string(&replay).unwrap_or_default()
    }

    /// The command that runs this case again.
    pub fn replay_line(&self) -> String {
        let quoted = self.replay().replace('\'', r"'\''");
        let test = self.test.as_deref().map(|test| format!(" {test} -- --exact")).unwrap_or_default();
        format!("{REPLAY}='{quoted}' cargo test{test}")
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.violation)?;
        writeln!(f, "{}:", self.suite)?;
        write!(f, "{}", self.case)?;
        writeln!(f, "found with seed {}; this runs the case again:", self.seed.0)?;
        f.write_str(&self.replay_line())
    }
}

impl std::error::Error for Failure {}

impl Suite {
    /// Histories of items that `design` keys, on tables of `profile`.
    pub fn new(profile: Profile, design: KeyDesign) -> Self {
        Self {
            schema: Schema::of(&design),
            profile,
            design,
            cases: CASES,
            operations: OPERATIONS,
            faults: FAULTS,
            seed: Seed(0),
            may_store_more: false,
        }
    }

    /// With items of another schema.
    #[must_use]
    pub fn schema(self, schema: Schema) -> Self {
        Self { schema, ..self }
    }

    /// With so many histories.
    #[must_use]
    pub fn cases(self, cases: u32) -> Self {
        Self { cases: cases.max(1), ..self }
    }

    /// With histories of up to so many operations.
    #[must_use]
    pub fn operations(self, operations: usize) -> Self {
        Self { operations, ..self }
    }

    /// With up to so many faults in each history; none turns them off.
    #[must_use]
    pub fn faults(self, faults: usize) -> Self {
        Self { faults, ..self }
    }

    /// With other random histories.
    #[must_use]
    pub fn seed(self, seed: Seed) -> Self {
        Self { seed, ..self }
    }

    /// With a repository that stores more than the items, such as markers or copies: what nobody reads is no finding.
    #[must_use]
    pub fn may_store_more(self) -> Self {
        Self { may_store_more: true, ..self }
    }

    /// What the suite is about, as messages name it.
    fn name(&self) -> String {
        format!("items keyed by {} on {}", self.design, self.profile.name())
    }

    /// Runs the histories on repositories that `open` makes, one for each history on a table of its own.
    ///
    /// With [`REPLAY`] in the environment, as a failure prints it, only that case runs, if it is this suite's.
    ///
    /// # Panics
    /// When a history shows something wrong: with what, the smallest such history, and a line that runs it again.
    #[track_caller]
    pub fn check<F>(&self, open: F)
    where
        F: for<'t> Fn(&'t Faulty<Value>, KeyDesign, Clock) -> Box<dyn Repository + 't>,
    {
        let outcome = match std::env::var(REPLAY) {
            Ok(text) => match serde_json::from_str::<Replay>(&text) {
                Ok(replay) if replay.suite == self.name() => self
                    .run_case(&replay.case, &open)
                    .map_err(|violation| self.failure(Seed(replay.seed), replay.case.clone(), violation)),
                Ok(_) => self.run(open),
                Err(error) => {
                    panic!("{REPLAY} holds no case: {error}. Copy the whole line that a failure printed")
                }
            },
            Err(_) => self.run(open),
        };
        if let Err(failure) = outcome {
            panic!("{failure}");
        }
    }

    /// Runs the histories and gives back the smallest that fails.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn run<F>(&self, open: F) -> Result<(), Box<Failure>>
    where
        F: for<'t> Fn(&'t Faulty<Value>, KeyDesign, Clock) -> Box<dyn Repository + 't>,
    {
        let config = Config {
            cases: self.cases,
            failure_persistence: None,
            max_shrink_iters: SHRINKS_MAX,
            source_file: None,
            ..Config::default()
        };
        let mut bytes = [0; 32];
        for (i, chunk) in bytes.chunks_mut(8).enumerate() {
            chunk.copy_from_slice(&self.seed.stream("testkit").at(i as u64).to_le_bytes());
        }
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let cases = Case::any(&self.schema, self.operations, self.faults);
        let outcome = TestRunner::new_with_rng(config, rng).run(&cases, |case| {
            self.run_case(&case, &open).map_err(|violation| TestCaseError::fail(violation.to_string()))
        });
        match outcome {
            Ok(()) => Ok(()),
            Err(TestError::Fail(_, case)) => {
                let case = smallest(case, |case| self.run_case(case, &open).is_err());
                // Once more, for the message of the smallest case.
                let violation = self.run_case(&case, &open).err().unwrap_or_else(|| {
                    Violation::new("it failed, and not when it ran again: it is not deterministic")
                });
                Err(self.failure(self.seed, case, violation))
            }
            Err(TestError::Abort(reason)) => {
                let violation = Violation::new(format!("no histories could be made: {reason}"));
                Err(self.failure(self.seed, Case::default(), violation))
            }
        }
    }

    /// Runs one history.
    ///
    /// # Errors
    /// [`Violation`] saying what is wrong. A panic of the repository is one.
    pub fn run_case<F>(&self, case: &Case, open: F) -> Result<(), Violation>
    where
        F: for<'t> Fn(&'t Faulty<Value>, KeyDesign, Clock) -> Box<dyn Repository + 't>,
    {
        let clock = Clock::manual();
        let table = Table::new("items", self.profile.clone(), clock.now())
            .map_err(|error| Violation::new(format!("the table cannot be made: {error}")))?;
        let table = Faulty::new(table, case.faults.clone());
        let run = AssertUnwindSafe(|| {
            let repository = open(&table, self.design.clone(), clock.clone());
            History::new(&self.schema, &table, &clock, repository, self.may_store_more).run(case)
        });
        catch_unwind(run).unwrap_or_else(|panic| {
            let message = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("without a message");
            Err(Violation::new(format!("the repository panicked: {message}")))
        })
    }

    fn failure(&self, seed: Seed, case: Case, violation: Violation) -> Box<Failure> {
        Box::new(Failure {
            suite: self.name(),
            test: std::thread::current().name().filter(|name| *name != "main").map(str::to_owned),
            seed,
            case,
            violation,
        })
    }
}

/// Takes away from a failing case whatever it fails without. Proptest has tried each operation once, before it made what
/// remained simpler; by then other operations may have lost their use.
fn smallest(mut case: Case, fails: impl Fn(&Case) -> bool) -> Case {
    let mut runs = 0;
    loop {
        let left = (SHRINKS_MAX - runs) as usize;
        let found = smaller(&case).take(left).inspect(|_| runs += 1).find(&fails);
        match found {
            Some(found) => case = found,
            None => return case,
        }
    }
}

/// The case without one thing: a fault, an operation, a request that a fault lets through or strikes, or an operation and
/// the requests that it was good for.
fn smaller(case: &Case) -> impl Iterator<Item = Case> {
    let (operations, faults) = (case.operations.len(), case.faults.len());
    let without_fault = (0..faults).map(|fault| {
        let mut smaller = case.clone();
        smaller.faults.remove(fault);
        smaller
    });
    let without_operation = |at: usize| {
        let mut smaller = case.clone();
        smaller.operations.remove(at);
        smaller
    };
    let fewer = move |smaller: Case| {
        (0..faults).flat_map(move |at| {
            let Fault { skip, times, .. } = smaller.faults[at];
            let with = {
                let smaller = smaller.clone();
                move |skip, times| {
                    let mut smaller = smaller.clone();
                    smaller.faults[at] = Fault { skip, times, ..smaller.faults[at].clone() };
                    smaller
                }
            };
            let skips = (skip.saturating_sub(REQUESTS_MAX)..skip).map(move |skip| (skip, times));
            let strikes = (times.saturating_sub(REQUESTS_MAX).max(1)..times).map(move |times| (skip, times));
            skips.chain(strikes).map(move |(skip, times)| with(skip, times))
        })
    };
    let last_first = (0..operations).rev();
    without_fault
        .chain(last_first.clone().map(without_operation))
        .chain(fewer(case.clone()))
        .chain(last_first.flat_map(move |at| fewer(without_operation(at))))
}
