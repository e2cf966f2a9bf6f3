//! A TOML text as values that know where they stand, with parameters put in, and how tables of it are read.
//!
//! Values are read by hand and not by `serde`: a value may be a number, a text or a table, a parameter may stand for any of
//! them, and a reader wants to hear of everything that is wrong, each time with the accepted values.

use super::faults::{Faults, nearest, suggestion};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and the bytes that it takes in the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) at: Range<usize>,
    /// The parameter that it came from, and the file does not show.
    pub(crate) parameter: Option<String>,
}

/// What TOML knows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Whole(i64),
    Number(f64),
    Bool(bool),
    List(Vec<Node>),
    Table(Vec<Entry>),
    /// A date or a time: no key has one.
    Time(String),
    /// The parameter that it should be is not there, which is a fault already.
    Unknown,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) at: Range<usize>,
    pub(crate) node: Node,
}

/// Names with their values.
pub(crate) type Parameters = BTreeMap<String, Value>;

/// The table that `text` is; `None` when it is none, which is a fault.
pub(crate) fn parse(text: &str, faults: &Faults<'_>) -> Option<Node> {
    match DeTable::parse(text) {
        Ok(table) => Some(node_of_table(table.get_ref(), table.span(), faults)),
        Err(error) => {
            let why = error.message().replace('\n', ": ");
            faults.add(&error.span().unwrap_or(0..0), format!("this is not TOML: {why}"));
            None
        }
    }
}

/// One value as TOML writes it, or the text itself where it is none: what stands after `-p name=`.
pub(crate) fn parse_value(text: &str) -> Value {
    let line = format!("v = {text}");
    let faults = Faults::new("", &line);
    let value = parse(&line, &faults).and_then(|node| match node.value {
        Value::Table(entries) => match entries.as_slice() {
            [entry] if entry.name == "v" => Some(entry.node.value.clone()),
            _ => None,
        },
        _ => None,
    });
    match value {
        // A date that was not written in quotes is the text that it looks like.
        Some(Value::Time(_)) | None => Value::Text(text.to_owned()),
        Some(_) if faults.any() => Value::Text(text.to_owned()),
        Some(value) => value,
    }
}

fn node_of_table(table: &DeTable<'_>, at: Range<usize>, faults: &Faults<'_>) -> Node {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(name, value)| Entry {
            name: name.get_ref().to_string(),
            at: name.span(),
            node: node_of(value, faults),
        })
        .collect();
    // The order of the file, not of the alphabet.
    entries.sort_by_key(|entry| entry.at.start);
    Node { value: Value::Table(entries), at, parameter: None }
}

fn node_of(value: &Spanned<DeValue<'_>>, faults: &Faults<'_>) -> Node {
    let at = value.span();
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(digits) => match i64::from_str_radix(digits.as_str(), digits.radix()) {
            Ok(whole) => Value::Whole(whole),
            Err(_) => {
                faults.add(&at, "this number is too large");
                Value::Whole(1)
            }
        },
        DeValue::Float(digits) => Value::Number(digits.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(yes) => Value::Bool(*yes),
        DeValue::Datetime(time) => Value::Time(time.to_string()),
        DeValue::Array(list) => Value::List(list.iter().map(|value| node_of(value, faults)).collect()),
        DeValue::Table(table) => return node_of_table(table, at, faults),
    };
    Node { value, at, parameter: None }
}

impl Node {
    /// Puts the value of a parameter wherever a text is exactly `$name`; `$$` begins a text with a dollar sign.
    pub(crate) fn substitute(&mut self, parameters: &Parameters, faults: &Faults<'_>) {
        match &mut self.value {
            Value::Text(text) => {
                let Some(name) = text.strip_prefix('$') else { return };
                if name.starts_with('$') {
                    *text = name.to_owned();
                } else if let Some(value) = parameters.get(name) {
                    self.parameter = Some(name.to_owned());
                    self.value = value.clone();
                } else {
                    let known: Vec<&str> = parameters.keys().map(String::as_str).collect();
                    let there_are = match known.as_slice() {
                        [] => "the file has no [parameters]".to_owned(),
                        known => format!("[parameters] has {}", known.join(", ")),
                    };
                    let hint = suggestion(name, &known);
                    faults.add(&self.at, format!("${name} is no parameter{hint}: {there_are}"));
                    self.value = Value::Unknown;
                }
            }
            Value::List(list) => list.iter_mut().for_each(|node| node.substitute(parameters, faults)),
            Value::Table(entries) => {
                entries.iter_mut().for_each(|entry| entry.node.substitute(parameters, faults));
            }
            _ => {}
        }
    }

    /// The value as an error shows it.
    pub(crate) fn shown(&self) -> String {
        let value = show(&self.value);
        match &self.parameter {
            Some(name) => format!("{value} (parameter {name})"),
            None => value,
        }
    }
}

/// A value as TOML writes it, long ones in a word.
pub(crate) fn show(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("{text:?}"),
        Value::Whole(whole) => whole.to_string(),
        Value::Number(number) => format!("{number:?}"),
        Value::Bool(yes) => yes.to_string(),
        Value::List(_) => "a list".into(),
        Value::Table(_) => "a table".into(),
        Value::Time(time) => format!("the time {time}"),
        Value::Unknown => "nothing".into(),
    }
}

/// A table of the file, read key by key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    pub(crate) faults: &'a Faults<'a>,
    entries: &'a [Entry],
    pub(crate) at: &'a Range<usize>,
    what: &'a str,
    names: &'static [&'static str],
}

/// What a value came to, or why it is wrong; see [`told`].
pub(crate) type Read<T> = Result<T, String>;

/// What is wrong lies inside of a value, and has been told with its own place.
pub(crate) fn told() -> String {
    String::new()
}

impl<'a> Fields<'a> {
    /// Opens `node`, which is `what` ("a table", "an event") and has the keys `names`; unknown keys are faults.
    pub(crate) fn open(
        node: &'a Node,
        what: &'a str,
        names: &'static [&'static str],
        faults: &'a Faults<'a>,
    ) -> Option<Self> {
        let Value::Table(entries) = &node.value else {
            faults.add(
                &node.at,
                format!("{} is not {what}: write it with the keys {}", node.shown(), names.join(", ")),
            );
            return None;
        };
        for entry in entries.iter().filter(|entry| !names.contains(&entry.name.as_str())) {
            faults.add(
                &entry.at,
                format!(
                    "{what} has no key {:?}{}: the keys are {}",
                    entry.name,
                    suggestion(&entry.name, names),
                    names.join(", ")
                ),
            );
        }
        Some(Self { faults, entries, at: &node.at, what, names })
    }

    /// The value of a key, where it is there.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Node> {
        debug_assert!(self.names.contains(&name), "{name} would be refused as unknown");
        self.entries.iter().find(|entry| entry.name == name).map(|entry| &entry.node)
    }

    /// Which of these keys are there.
    pub(crate) fn present<'n>(&self, names: &[&'n str]) -> Vec<&'n str> {
        names.iter().copied().filter(|name| self.get(name).is_some()).collect()
    }

    /// Whether an unknown key was most likely meant to be this one: that fault says enough.
    pub(crate) fn meant(&self, name: &str) -> bool {
        let unknown = self.entries.iter().filter(|entry| !self.names.contains(&entry.name.as_str()));
        unknown.into_iter().any(|entry| nearest(&entry.name, self.names) == Some(name))
    }

    /// A fault about a key that is there, or about the table as a whole.
    pub(crate) fn fault(&self, name: &str, why: impl std::fmt::Display) {
        match self.entries.iter().find(|entry| entry.name == name) {
            Some(entry) => self.faults.add(&entry.node.at, format!("{name}: {why}")),
            None => self.faults.add(self.at, format!("{}: {why}", self.what)),
        }
    }

    /// A fault about the table.
    pub(crate) fn fault_here(&self, why: impl std::fmt::Display) {
        self.faults.add(self.at, format!("{}: {why}", self.what));
    }

    /// The value of a key; `Some(None)` when it is absent, `None` when it is wrong.
    pub(crate) fn maybe<T>(&self, name: &str, read: impl FnOnce(&'a Node) -> Read<T>) -> Option<Option<T>> {
        let Some(node) = self.get(name) else { return Some(None) };
        if node.value == Value::Unknown {
            return None;
        }
        match read(node) {
            Ok(value) => Some(Some(value)),
            Err(why) => {
                if why != told() {
                    self.fault(name, why);
                }
                None
            }
        }
    }

    /// The value of a key, or `default` when it is absent.
    pub(crate) fn or<T>(&self, name: &str, default: T, read: impl FnOnce(&'a Node) -> Read<T>) -> Option<T> {
        self.maybe(name, read).map(|value| value.unwrap_or(default))
    }

    /// The value of a key that must be there.
    pub(crate) fn need<T>(&self, name: &str, read: impl FnOnce(&'a Node) -> Read<T>) -> Option<T> {
        let value = self.maybe(name, read)?;
        if value.is_none() && !self.meant(name) {
            self.fault_here(format!("{name} is missing"));
        }
        value
    }

    /// These keys mean nothing here, for the reason given.
    pub(crate) fn refuse(&self, names: &[&str], why: impl std::fmt::Display) {
        for name in names.iter().filter(|name| self.get(name).is_some()) {
            self.fault(name, &why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Vec<Entry> {
        let faults = Faults::new("f", text);
        let Some(Node { value: Value::Table(entries), .. }) = parse(text, &faults) else { panic!("{text}") };
        faults.finish().unwrap();
        entries
    }

    #[test]
    fn values_know_their_place_and_keep_the_order_of_the_file() {
        let read = entries("z = 1\na = [0x10, \"t\", 1.5, true]\n");
        assert_eq!(read.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["z", "a"]);
        assert_eq!(read[0].node.at, 4..5);
        let Value::List(list) = &read[1].node.value else { panic!() };
        let shown: Vec<_> = list.iter().map(Node::shown).collect();
        assert_eq!(shown, ["16", "\"t\"", "1.5", "true"]);
    }

    #[test]
    fn parameters_stand_where_the_text_is_exactly_theirs() {
        let text = "a = \"$n\"\nb = \"x $n\"\nc = \"$$n\"\nd = [\"$n\"]\n";
        let mut node = Node { value: Value::Table(entries(text)), at: 0..0, parameter: None };
        let faults = Faults::new("f", text);
        node.substitute(&Parameters::from([("n".into(), Value::Whole(7))]), &faults);
        faults.finish().unwrap();
        let Value::Table(read) = &node.value else { panic!() };
        assert_eq!(read[0].node.shown(), "7 (parameter n)");
        assert_eq!(read[1].node.shown(), "\"x $n\"");
        assert_eq!(read[2].node.shown(), "\"$n\"");
        let Value::List(list) = &read[3].node.value else { panic!() };
        assert_eq!(list[0].value, Value::Whole(7));
    }

    #[test]
    fn an_unknown_parameter_is_named_with_those_there_are() {
        let text = "a = \"$sufixes\"";
        let faults = Faults::new("f", text);
        let mut node = parse(text, &faults).unwrap();
        node.substitute(&Parameters::from([("suffixes".into(), Value::Whole(7))]), &faults);
        let told = faults.finish().unwrap_err().to_string();
        let expected =
            "f:1:5: $sufixes is no parameter (did you mean \"suffixes\"?): [parameters] has suffixes";
        assert_eq!(told, expected);
    }

    #[test]
    fn a_value_on_the_command_line_is_toml_or_a_text() {
        for (text, value) in [
            ("5", Value::Whole(5)),
            ("0.5", Value::Number(0.5)),
            ("true", Value::Bool(true)),
            ("\"5\"", Value::Text("5".into())),
            ("5/s", Value::Text("5/s".into())),
            ("10m", Value::Text("10m".into())),
            ("", Value::Text(String::new())),
            ("2013-01-01", Value::Text("2013-01-01".into())),
            ("1\nw = 2", Value::Text("1\nw = 2".into())),
        ] {
            assert_eq!(parse_value(text), value, "{text}");
        }
    }

    #[test]
    fn no_toml_is_a_fault_with_its_place() {
        let text = "a = 1\nb = \n";
        let faults = Faults::new("f.toml", text);
        assert_eq!(parse(text, &faults), None);
        let told = faults.finish().unwrap_err().to_string();
        assert!(told.starts_with("f.toml:2:5: this is not TOML: "), "{told}");
    }
}
