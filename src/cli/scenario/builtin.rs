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
    "l1-one-key",
    "l2-sorted-load",
    "l3-shuffled-load",
    "l4-provisioned-load",
    "q1-one-partition-reads",
    "a2-split-under-reads",
    "a3-split-persists",
    "more-ru-less-throughput",
    "gsi-topic-hot",
    "low-util-throttle",
    "single-key-backend",
    "status-gsi",
    "limiter-key",
    "poll-one-item",
    "celebrity-read",
    "read-replica-keys",
    "hour-bucket",
    "append-log",
    "scale-up-down",
    "cold-table-bulk-load",
    "batch-loader-skew",
    "import-then-shrink",
    "fan-out-bill",
    "burst-spent",
    "retry-storm",
    "shard-sweep",
    "time-series",
    "time-series-one-table",
];

/// The one of this name.
pub(crate) fn built_in(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|scenario| scenario.name == name)
}
