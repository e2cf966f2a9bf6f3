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
}

pub(crate) fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments.command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(EXIT_FAILED),
        Err(error) => {
            // `eprintln` would panic where nobody reads stderr; the exit code still tells.
            let _ = writeln!(std::io::stderr(), "error: {}", table::clean_lines(&error.to_string()));
            ExitCode::from(EXIT_INPUT)
        }
    }
}

/// Whether everything that had to hold does.
fn run(command: &Command) -> Result<bool> {
    match command {
        Command::Compare(arguments) => compare::run(arguments)?,
        Command::Run(arguments) => return run::run(arguments),
        Command::Where(arguments) => place::run(arguments)?,
        Command::Emit(arguments) => emit::run(arguments)?,
    }
    Ok(true)
}
