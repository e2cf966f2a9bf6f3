//! The scenarios that come with the binary.

/// A scenario by name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuiltIn {
    /// What `hotplate run NAME` calls it; its file is `scenarios/NAME.toml`.
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

/// Puts the files in.
macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$(BuiltIn { name: $name, text: include_str!(concat!("../../../scenarios/", $name, ".toml")) }),*]
    };
}

/// All of them, in the order of `--list`.
pub(crate) const BUILT_IN: &[BuiltIn] = built_in![
    "single-key-backend",
];

/// The one of this name.
pub(crate) fn built_in(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|scenario| scenario.name == name)
}
