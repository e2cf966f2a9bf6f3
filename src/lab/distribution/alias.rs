//! Draws positions of a list in proportion to given whole weights: the alias method (Walker 1977, set up as Vose 1991).
//!
//! Set-up is linear in the list, a draw is two random words and one look. All in integers: shares are those of the list
//! to 2⁻⁶⁴, with nothing rounded on the way.

use crate::rng::Rng;

/// One column: below `own_until` of the total it stands for itself, above for `other`.
#[derive(Clone, Copy, Debug)]
struct Column {
    own_until: u64,
    other: u64,
}

/// Weights, ready to draw from.
#[derive(Clone, Debug)]
pub(super) struct Alias {
    total: u64,
    columns: Vec<Column>,
}

impl Alias {
    /// `total` has to be the sum of `weights` and not zero.
    pub(super) fn new(weights: &[u64], total: u64) -> Self {
        let full = u128::from(total);
        // In these units the mean weight is `total`: a column is full with it.
        let mut rest: Vec<u128> = weights.iter().map(|&w| u128::from(w) * weights.len() as u128).collect();
        let mut columns: Vec<Column> =
            (0..weights.len() as u64).map(|own| Column { own_until: total, other: own }).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|&i| rest[i] < full);
        while let (Some(below), Some(&above)) = (small.pop(), large.last()) {
            // Less than `total`, so it fits.
            columns[below] = Column { own_until: rest[below] as u64, other: above as u64 };
            rest[above] -= full - rest[below];
            if rest[above] < full {
                large.pop();
                small.push(above);
            }
        }
        Self { total, columns }
    }

    /// The next position.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        let own = rng.below(self.columns.len() as u64);
        let column = self.columns[own as usize];
        if rng.below(self.total) < column.own_until { own } else { column.other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Seed;

    /// What all columns give a position is its weight exactly.
    #[test]
    fn columns_add_up_to_the_weights() {
        let lists: [&[u64]; 6] = [
            &[1],
            &[0, 5],
            &[1, 2, 3, 4],
            &[7; 9],
            &[0, 0, 1_000_000, 1],
            &[u64::MAX / 4, 1, u64::MAX / 4, 9],
        ];
        for weights in lists {
            let total = weights.iter().sum();
            let alias = Alias::new(weights, total);
            let mut given = vec![0_u128; weights.len()];
            for (own, column) in alias.columns.iter().enumerate() {
                given[own] += u128::from(column.own_until);
                given[column.other as usize] += u128::from(total - column.own_until);
            }
            let asked: Vec<u128> = weights.iter().map(|&w| u128::from(w) * weights.len() as u128).collect();
            assert_eq!(given, asked, "{weights:?}");
        }
    }

    #[test]
    fn weightless_positions_are_never_drawn() {
        let alias = Alias::new(&[0, 3, 0, 1], 4);
        let mut rng = Seed(2).rng();
        let mut counts = [0_u32; 4];
        for _ in 0..100_000 {
            counts[alias.draw(&mut rng) as usize] += 1;
        }
        assert_eq!((counts[0], counts[2]), (0, 0));
        assert!((74_500..75_500).contains(&counts[1]), "{counts:?}");
    }
}
