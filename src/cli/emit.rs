//! `hotplate emit`: the key as a function in another language.

use super::output;
use clap::Args;
use hotplate::error::Result;
use hotplate::key::{Language, Template, emit};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The key design, for instance '{date}.{hash(tailnum, 1..200)}'.
    #[arg(long, value_name = "TEMPLATE")]
    key: String,
    /// python, javascript, java, csharp or rust.
    #[arg(long, value_name = "LANGUAGE")]
    lang: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let template = Template::parse(&arguments.key)?;
    let language: Language = arguments.lang.parse()?;
    output::print(&emit(&template, language))
}
