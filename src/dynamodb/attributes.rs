//! Named values: an item's attributes, and what a map attribute holds.
//!
//! A sorted vector, because most items have a handful of attributes, are looked into often and changed rarely: it takes
//! less memory than any tree or hash table, and is ordered the same way on every run. (The service promises no order.)
//! Building one from many names at once sorts them once; names that come twice keep the last value, as in JSON.

use super::value::AttributeValue;

/// Values by name, in the order of the names' bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attributes(Vec<(Box<str>, AttributeValue)>);

impl Attributes {
    /// No attributes.
    pub fn new() -> Self {
        Self::default()
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(own, _)| (**own).cmp(name))
    }

    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&AttributeValue> {
        self.position(name).ok().map(|at| &self.0[at].1)
    }

    /// The value of this name, to be changed in place.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut AttributeValue> {
        self.position(name).ok().map(|at| &mut self.0[at].1)
    }

    /// Whether the name is there.
    pub fn contains(&self, name: &str) -> bool {
        self.position(name).is_ok()
    }

    /// Sets the value of a name; answers the former one.
    pub fn insert(&mut self, name: impl Into<Box<str>>, value: AttributeValue) -> Option<AttributeValue> {
        let name = name.into();
        match self.position(&name) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (name, value));
                None
            }
        }
    }

    /// Takes a name away; answers its value.
    pub fn remove(&mut self, name: &str) -> Option<AttributeValue> {
        self.position(name).ok().map(|at| self.0.remove(at).1)
    }

    /// Keeps only the names of which this is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.0.retain(|(name, _)| keep(name));
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &AttributeValue)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// The bytes of names and values, without what a map takes for itself.
    pub fn size(&self) -> u64 {
        self.iter().map(|(name, value)| name.len() as u64 + value.size()).sum()
    }
}

impl<N: Into<Box<str>>> FromIterator<(N, AttributeValue)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (N, AttributeValue)>>(pairs: I) -> Self {
        let mut own = Self::new();
        own.extend(pairs);
        own
    }
}

impl<N: Into<Box<str>>> Extend<(N, AttributeValue)> for Attributes {
    fn extend<I: IntoIterator<Item = (N, AttributeValue)>>(&mut self, pairs: I) {
        let before = self.0.len();
        self.0.extend(pairs.into_iter().map(|(name, value)| (name.into(), value)));
        if self.0.len() == before || self.0.windows(2).all(|pair| pair[0].0 < pair[1].0) {
            return;
        }
        // Stable, so that of equal names the last given comes last; `dedup` keeps the first, hence the reversals.
        self.0.sort_by(|a, b| a.0.cmp(&b.0));
        self.0.reverse();
        self.0.dedup_by(|a, b| a.0 == b.0);
        self.0.reverse();
    }
}

impl IntoIterator for Attributes {
    type Item = (Box<str>, AttributeValue);
    type IntoIter = std::vec::IntoIter<Self::Item>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(n: u64) -> AttributeValue {
        AttributeValue::N(n.into())
    }

    #[test]
    fn the_last_value_of_a_name_counts() {
        let mut own: Attributes =
            [("b", number(1)), ("a", number(2)), ("b", number(3))].into_iter().collect();
        assert_eq!(own.len(), 2);
        assert_eq!(own.get("b"), Some(&number(3)));
        own.extend([("c", number(4)), ("a", number(5))]);
        assert_eq!(own.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(own.get("a"), Some(&number(5)));
        assert_eq!(own.insert("a", number(6)), Some(number(5)));
        assert_eq!(own.insert("aa", number(7)), None);
        assert_eq!(own.remove("b"), Some(number(3)));
        assert_eq!(own.remove("b"), None);
        assert!(own.contains("aa") && !own.contains("b"));
        *own.get_mut("c").unwrap() = AttributeValue::Null;
        let names: Vec<_> = own.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a".into(), "aa".into(), "c".into()] as [Box<str>; 3]);
    }
}
