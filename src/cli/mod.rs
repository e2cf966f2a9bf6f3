//! The command line.
//!
//! What arrived (`clap` structs, in the file of each command) is one type, what it means (`lab::Experiment`) another.
//! Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 a threshold
//! does not hold, 2 the input is wrong. Nothing is written by
//! half: a file appears whole or not at all.

mod compare;
mod emit;
#[cfg(feature = "server")]
mod exec;
mod input;
mod output;
mod page;
mod place;
mod prose;
mod quantity;
mod run;
mod run_csv;
mod run_page;
mod run_text;
mod scenario;
#[cfg(feature = "server")]
mod serve;
mod side_by_side;
mod sweep_page;
mod table;
mod window;

use clap::{Parser, Subcommand};
use hotplate::error::Result;
use std::io::Write as _;
use std::process::ExitCode;

/// Exit code for thresholds and assertions that do not hold.
const EXIT_FAILED: u8 = 1;
/// Exit code for wrong input.
const EXIT_INPUT: u8 = 2;

/// Put your partition key on the hotplate before production does.
#[derive(Debug, Parser)]
#[command(name = "hotplate", version, about, max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Load a data file under several key designs and see which gets hot, where and why.
    Compare(Box<compare::Arguments>),
    /// Run a described workload in virtual time: tables, loads, events, thresholds.
    Run(run::Arguments),
    /// Show where keys live: token, range and physical partition.
    Where(place::Arguments),
    /// Print a function that computes a synthetic key in your language.
    Emit(emit::Arguments),
    /// Serve the DynamoDB API over physical partitions, for any AWS SDK.
    #[cfg(feature = "server")]
    Serve(serve::Arguments),
    /// Run a command with a DynamoDB endpoint of its own: `hotplate exec -- pytest`.
    #[cfg(feature = "server")]
    Exec(exec::Arguments),
}

pub(crate) fn main() -> ExitCode {
    let arguments = Arguments::parse();
    #[cfg(feature = "server")]
    if let Command::Exec(arguments) = &arguments.command {
        // The command's own exit code is passed on.
        return match exec::run(arguments, dynamodb(arguments.seed()), Default::default()) {
            Ok(code) => ExitCode::from(code),
            Err(error) => failed(&error),
        };
    }
    match run(&arguments.command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(EXIT_FAILED),
        Err(error) => failed(&error),
    }
}

fn failed(error: &hotplate::Error) -> ExitCode {
    // `eprintln` would panic where nobody reads stderr; the exit code still tells.
    let _ = writeln!(std::io::stderr(), "error: {}", table::clean_lines(&error.to_string()));
    ExitCode::from(EXIT_INPUT)
}

/// What answers behind an endpoint.
#[cfg(feature = "server")]
fn dynamodb(seed: hotplate::rng::Seed) -> std::sync::Arc<dyn hotplate::server::Api> {
    let beginning = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    std::sync::Arc::new(hotplate::server::DynamoDb::new(seed, beginning))
}

/// Whether everything that had to hold does.
fn run(command: &Command) -> Result<bool> {
    match command {
        Command::Compare(arguments) => compare::run(arguments)?,
        Command::Run(arguments) => return run::run(arguments),
        Command::Where(arguments) => place::run(arguments)?,
        Command::Emit(arguments) => emit::run(arguments)?,
        #[cfg(feature = "server")]
        Command::Serve(arguments) => {
            // A request that was cut off at the end is no failure of what had to hold.
            serve::run(arguments, dynamodb(arguments.seed()), Default::default())?;
        }
        #[cfg(feature = "server")]
        Command::Exec(_) => unreachable!("handled where its exit code is passed on"),
    }
    Ok(true)
}
