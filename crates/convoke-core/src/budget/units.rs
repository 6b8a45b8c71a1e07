//! Amounts by counter.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use serde::{Deserialize, Serialize};

/// How many of what: amounts by the name of their counter, each name once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(Cow<'static, str>, u64)>", into = "Vec<(Cow<'static, str>, u64)>")]
pub struct Units(Vec<(Cow<'static, str>, u64)>);

impl Units {
    /// Nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// So many calls of a model or a tool.
    pub fn calls(amount: u64) -> Self {
        Self::none().with("calls", amount)
    }

    /// So many tokens.
    pub fn tokens(amount: u64) -> Self {
        Self::none().with("tokens", amount)
    }

    /// So many steps.
    pub fn steps(amount: u64) -> Self {
        Self::none().with("steps", amount)
    }

    /// So much money, in millionths of the host's currency.
    pub fn cost(micros: u64) -> Self {
        Self::none().with("cost", micros)
    }

    /// Adds an amount; a second one of the same name adds up.
    #[must_use]
    pub fn with(mut self, counter: impl Into<Cow<'static, str>>, amount: u64) -> Self {
        let counter = counter.into();
        match self.0.iter_mut().find(|(name, _)| *name == counter) {
            Some((_, sum)) => *sum = sum.saturating_add(amount),
            None => self.0.push((counter, amount)),
        }
        self
    }

    /// The amount of a counter; 0 where it is not named.
    pub fn get(&self, counter: &str) -> u64 {
        self.iter().find(|(name, _)| *name == counter).map_or(0, |(_, amount)| amount)
    }

    /// The names and amounts, in the order of naming.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, amount)| (&**name, *amount))
    }

    /// These amounts, and those of `others` whose counters are not named here.
    pub(super) fn or(&self, others: &Self) -> Self {
        let named: HashSet<&str> = self.iter().map(|(name, _)| name).collect();
        let unnamed = others.0.iter().filter(|(name, _)| !named.contains(&**name));
        Self(self.0.iter().chain(unnamed).cloned().collect())
    }
}

/// Amounts of the same name add up, so that each name is there once whatever was written.
impl From<Vec<(Cow<'static, str>, u64)>> for Units {
    fn from(amounts: Vec<(Cow<'static, str>, u64)>) -> Self {
        // Whoever wrote them chose how many there are, so no name is looked for among all those before it.
        let mut sums: HashMap<_, (usize, u64)> = HashMap::with_capacity(amounts.len());
        for (counter, amount) in amounts {
            let place = sums.len();
            let (_, sum) = sums.entry(counter).or_insert((place, 0));
            *sum = sum.saturating_add(amount);
        }
        let mut units: Vec<_> = sums.into_iter().collect();
        units.sort_unstable_by_key(|(_, (place, _))| *place);
        Self(units.into_iter().map(|(counter, (_, sum))| (counter, sum)).collect())
    }
}

impl From<Units> for Vec<(Cow<'static, str>, u64)> {
    fn from(units: Units) -> Self {
        units.0
    }
}
